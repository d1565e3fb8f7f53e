"""Writes models with valid and invalid external data."""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(sys.argv[1])
DATA = np.arange(1024, dtype=np.float32)


def save(name, weights, outputs=None):
    """A model that adds its weights to its input."""
    nodes, last = [], "x"
    for i, weight in enumerate(weights):
        nodes.append(helper.make_node("Add", [last, weight.name], [f"y{i}"]))
        last = f"y{i}"
    graph = helper.make_graph(
        nodes,
        "main",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1024])],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, None)],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    onnx.save(model, FOLDER / f"{name}.onnx")


def external(name, **entries):
    tensor = TensorProto(
        name=name, data_type=TensorProto.FLOAT, dims=[1024], data_location=1
    )
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


FOLDER.mkdir(parents=True, exist_ok=True)
(FOLDER / "lfs.bin").write_text("version https://git-lfs.github.com/spec/v1\n")
(FOLDER / "w.bin").write_bytes(b"xxx" + DATA.tobytes() + DATA.tobytes())
np.savez(FOLDER / "in.npz", x=DATA)
np.savez(FOLDER / "out.npz", y1=3 * DATA)
# The first one is misaligned.
save(
    "good",
    [
        external("w", location="w.bin", offset=3, length=4096),
        external("v", location="w.bin", offset=4099),
    ],
)
save(
    "bad",
    [
        external("missing", location="no.bin"),
        external("short", location="w.bin", offset=8000),
        external("escapes", location="../w.bin"),
        external("nul", location="w.bin\0x"),
        external("absolute", location="/etc/passwd"),
        external("nowhere", offset=0),
        external("pointer", location="lfs.bin"),
        external("odd", location="w.bin", offset="one"),
        external("length", location="w.bin", length=4),
        external("folder", location="."),
    ],
)
save("random", [external("w", location="no.bin"), external("v", location="no.bin")])

endless = external("endless", location="no.bin")
endless.dims[:] = [1 << 20, 1 << 20]
save("endless", [endless])

cut = numpy_helper.from_array(DATA, "cut")
cut.raw_data = cut.raw_data[:-1]
huge = TensorProto(name="huge", data_type=TensorProto.FLOAT, dims=[1 << 40, 1 << 40])
negative = TensorProto(name="negative", data_type=TensorProto.FLOAT, dims=[-3])
strings = TensorProto(name="strings", data_type=TensorProto.STRING, dims=[1])
four = TensorProto(name="four", data_type=TensorProto.COMPLEX64, dims=[1], raw_data=b"8 bytes!")
empty = TensorProto(name="empty", data_type=TensorProto.FLOAT, dims=[1 << 30])
save("data", [cut, huge, negative, strings, four, empty])

# Every way to store every type.
kinds = []
for kind in "float32 float64 float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool".split():
    array = np.array([0, 1, 3]).astype(kind)
    element = helper.np_dtype_to_tensor_dtype(array.dtype)
    kinds.append(numpy_helper.from_array(array, f"raw_{kind}"))
    values = array.view(np.uint16) if kind == "float16" else array
    kinds.append(helper.make_tensor(f"typed_{kind}", element, [3], array))
kinds.append(helper.make_tensor("typed_bf16", TensorProto.BFLOAT16, [3], [0, 1, 3]))
graph = helper.make_graph(
    [helper.make_node("Identity", [k.name], [f"y_{k.name}"]) for k in kinds],
    "main",
    [],
    [helper.make_tensor_value_info(f"y_{k.name}", k.data_type, [3]) for k in kinds],
    kinds,
)
onnx.save(
    helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]),
    FOLDER / "types.onnx",
)

# Vectors of other types, made up; each is an output as float32.
missing = []
for kind in ("FLOAT16", "BFLOAT16", "DOUBLE"):
    missing.append(external(kind, location="no.bin"))
    missing[-1].data_type = TensorProto.DataType.Value(kind)
graph = helper.make_graph(
    [helper.make_node("Cast", [m.name], [f"y_{m.name}"], to=1) for m in missing],
    "main",
    [],
    [helper.make_tensor_value_info(f"y_{m.name}", 1, [1024]) for m in missing],
    missing,
)
onnx.save(
    helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]),
    FOLDER / "random_types.onnx",
)
