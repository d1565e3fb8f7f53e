"""The backend tests of the onnx package, of all kinds, in one form."""
import dataclasses
import pathlib
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test import loader

DATA = pathlib.Path(loader.DATA_DIR)
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")

# Random operators: only types and shapes of results are compared.
RANDOM = {"Bernoulli", "RandomNormal", "RandomUniform", "RandomNormalLike",
          "RandomUniformLike", "Multinomial"}


@dataclasses.dataclass
class Case:
    name: str
    kind: str
    model: onnx.ModelProto
    # Pairs of inputs and outputs: arrays, lists of arrays for sequences, None
    # for an optional without a value.
    data: list
    rtol: float
    atol: float

    def inputs(self):
        """The graph's inputs, in the order of the test data."""
        return list(self.model.graph.input)

    def is_random(self):
        nodes = self.model.graph.node
        return any(n.op_type in RANDOM for n in nodes) or any(
            n.op_type == "Dropout" and len(n.input) > 2 for n in nodes)

    def is_expanded(self):
        return "_expanded" in self.name


# How a stored value of a type is read, and what makes it an array.
STORED = {"tensor_type": (onnx.TensorProto, numpy_helper.to_array),
          "sequence_type": (onnx.SequenceProto, numpy_helper.to_list),
          "optional_type": (onnx.OptionalProto, numpy_helper.to_optional)}


def read_value(file, value_info):
    """A stored value as an array or a list of them."""
    proto, convert = STORED[value_info.type.WhichOneof("value")]
    value = proto()
    value.ParseFromString(file.read_bytes())
    return convert(value)


def as_arrays(values):
    """The package keeps some values as protobufs."""
    return [numpy_helper.to_array(v) if isinstance(v, onnx.TensorProto) else
            as_arrays(v) if isinstance(v, (list, tuple)) else v
            for v in values]


def stored_data(folder, model):
    sets = []
    for data in sorted(folder.glob("test_data_set_*")):
        def read(which, values):
            files = (data / f"{which}_{i}.pb" for i in range(len(values)))
            return [read_value(f, v) for f, v in zip(files, values)
                    if f.exists()]
        sets.append((read("input", model.graph.input),
                     read("output", model.graph.output)))
    return sets


def light_data(model, path):
    """The package's convention: 0 to n-1 over n, in the input's shape."""
    weights = {w.name for w in model.graph.initializer}
    inputs = []
    for value in model.graph.input:
        if value.name in weights:
            continue
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        size = int(np.prod(shape))
        inputs.append(np.arange(size, dtype=np.float32).reshape(shape) / size)
    outputs = [read_value(path.with_name(f"{path.stem}_output_{i}.pb"), value)
               for i, value in enumerate(model.graph.output)]
    return [(inputs, outputs)]


def load(kind):
    """Every test of a kind, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = loader.load_model_tests(kind=kind if kind != "light" else
                                        "simple")
    cases = []
    if kind == "light":
        for path in sorted((DATA / "light").glob("*.onnx")):
            model = onnx.load(path)
            cases.append(Case(f"test_{path.stem}", kind, model,
                              light_data(model, path), 1e-3, 1e-7))
        return cases
    for test in tests:
        model = test.model
        data = [tuple(map(as_arrays, d)) for d in test.data_sets or []]
        if model is None:
            folder = pathlib.Path(test.model_dir)
            model = onnx.load(folder / "model.onnx")
            data = stored_data(folder, model)
        cases.append(Case(test.name, kind, model, data, test.rtol,
                          test.atol))
    return sorted(cases, key=lambda case: case.name)
