"""Makes models with hostile names: hostile.py FOLDER"""
import pathlib
import sys

import onnx
from onnx import TensorProto, helper

NAMES = {"comment": "*/ #error end", "open": "/* begin", "line": "y\nerror: made up",
         "escape": "\x1b[31mred", "turned": "a\u202eb", "bold": "größe\\"}
for name, text in NAMES.items():
    value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in ("x", text)]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], [text], name=text)], text,
                              value[:1], value[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    onnx.save(model, pathlib.Path(sys.argv[1]) / f"{name}.onnx")
# An invalid node: its name appears in the message.
bad = helper.make_node("Softmax", ["x"], ["y"], name=NAMES["escape"] + NAMES["line"], axis=7)
value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in ("x", "y")]
model = helper.make_model(helper.make_graph([bad], "g", value[:1], value[1:]),
                          opset_imports=[helper.make_opsetid("", 18)])
onnx.save(model, pathlib.Path(sys.argv[1]) / "bad.onnx")
