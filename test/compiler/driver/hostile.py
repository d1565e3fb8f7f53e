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
# Bytes that are no UTF-8, which Python does not write, an open size, and a name
# that is longer than a zip file's.
RAW = {"bytes": ("xyz", b"\xff\xfe\xc3"), "sizes": (NAMES["escape"], None),
       "long": ("n" * 70000, None)}
for name, (text, raw) in RAW.items():
    size = text if name != "long" else 2
    value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [size, 2])
             for n in ("x", text)]
    weight = helper.make_tensor(text + "_w", TensorProto.FLOAT, [2], [1, 2])
    graph = helper.make_graph([helper.make_node("Add", ["x", text + "_w"], [text])], "g",
                              value[:1], value[1:], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    wire = model.SerializeToString()
    (pathlib.Path(sys.argv[1]) / f"{name}.onnx").write_bytes(
        wire.replace(text.encode(), raw) if raw else wire)

(pathlib.Path(sys.argv[1]) / "flags").write_text(f"-fshape={NAMES['escape']}=1..4")

# An invalid node: its name appears in the message.
bad = helper.make_node("Softmax", ["x"], ["y"], name=NAMES["escape"] + NAMES["line"], axis=7)
value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in ("x", "y")]
model = helper.make_model(helper.make_graph([bad], "g", value[:1], value[1:]),
                          opset_imports=[helper.make_opsetid("", 18)])
onnx.save(model, pathlib.Path(sys.argv[1]) / "bad.onnx")

# Two nodes of one kernel, of which a remark speaks.
pair = [helper.make_node("Relu", ["x"], ["h"], name=NAMES["line"]),
        helper.make_node("Neg", ["h"], ["y"], name=NAMES["line"] + "!")]
model = helper.make_model(helper.make_graph(pair, "g", value[:1], value[1:]),
                          opset_imports=[helper.make_opsetid("", 18)])
onnx.save(model, pathlib.Path(sys.argv[1]) / "pair.onnx")
