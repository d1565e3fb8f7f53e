"""Writes a model of large integers, and outputs that differ by little.

    integers.py FOLDER
"""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

folder = Path(sys.argv[1])
kinds = {"signed": TensorProto.INT64, "unsigned": TensorProto.UINT64}
values = {"signed": np.array([2**60, -(2**60 + 77)]),
          "unsigned": np.array([2**64 - 1, 2**63], np.uint64)}
graph = helper.make_graph(
    [helper.make_node("Identity", [f"{name}_in"], [name]) for name in kinds],
    "integers",
    [helper.make_tensor_value_info(f"{name}_in", kind, [2]) for name, kind in kinds.items()],
    [helper.make_tensor_value_info(name, kind, [2]) for name, kind in kinds.items()])
onnx.save(helper.make_model(
    graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
    folder / "integers.onnx")
np.savez(folder / "in.npz", **{f"{name}_in": value for name, value in values.items()})
np.savez(folder / "same.npz", **values)
np.savez(folder / "near.npz", signed=np.array([2**60, -(2**60)]),
         unsigned=np.array([2**64 - 2, 2**63], np.uint64))
