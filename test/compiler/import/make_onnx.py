"""Turns every *.txt of a folder, a model in ONNX's text form, into *.onnx.

A line "# DIM name: text" gives a dimension `name` another, which the text form
has no way to write: "# DIM total: past + seq". Without text it has no name.

With --data it also writes random inputs to *.in.npz, and ONNX Runtime's results
to *.out.npz.
"""
import pathlib
import re
import sys

import numpy as np
import onnx.parser
import onnxruntime


def make_up(value, generator):
    """An input of the type and shape that the model declares."""
    tensor = value.type.tensor_type
    shape = [d.dim_value for d in tensor.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    if dtype == bool:
        return generator.integers(0, 2, shape).astype(bool)
    if np.issubdtype(dtype, np.integer):
        return generator.integers(0, 3, shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


def write_data(model, path):
    generator = np.random.default_rng(7)
    weights = {w.name for w in model.graph.initializer}
    inputs = {
        value.name: make_up(value, generator)
        for value in model.graph.input
        if value.name not in weights
    }
    session = onnxruntime.InferenceSession(model.SerializeToString())
    outputs = session.run(None, inputs)
    names = [value.name for value in model.graph.output]
    np.savez(path.with_suffix(".in.npz"), **inputs)
    np.savez(
        path.with_suffix(".out.npz"),
        **{n: np.array(v, order="C") for n, v in zip(names, outputs)},
    )


def rename_dims(model, names):
    for value in [*model.graph.input, *model.graph.output]:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in names:
                dim.dim_param = names[dim.dim_param]


def main():
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.txt")):
        text = path.read_text()
        model = onnx.parser.parse_model(text)
        rename_dims(model, dict(re.findall(r"^# DIM (\w+): ?(.*)$", text, re.M)))
        onnx.save(model, path.with_suffix(".onnx"))
        if "--data" in sys.argv:
            write_data(model, path)


if __name__ == "__main__":
    main()
