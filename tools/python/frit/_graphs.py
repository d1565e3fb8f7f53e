"""From PyTorch's graphs to ONNX."""
from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.export.graph_signature import OutputKind
from torch.utils._pytree import tree_leaves

from ._corrections import corrected


#: Types whose names in ONNX are not PyTorch's.
_ONNX_TYPES = {"float32": "FLOAT", "float64": "DOUBLE"}


class Unsupported(Exception):
    """Why frit does not compile a graph. Where operators are at fault, `nodes`
    names them in `program`, the exported graph."""

    def __init__(self, reason: str,
                 program: torch.export.ExportedProgram | None = None,
                 nodes: Iterable[str] = ()):
        super().__init__(reason)
        self.program, self.nodes = program, frozenset(nodes)


#===----------------------------------------------------------------------===#
# Reasons in exceptions of PyTorch's exporter
#===----------------------------------------------------------------------===#

def summary_of(error: BaseException) -> str:
    """The first line of an exception, without colors."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip()
    return f"{type(error).__name__}: {text.partition(chr(10))[0]:.300}"


def _causes(error: BaseException) -> list[BaseException]:
    """An exception and what led to it, which comes last."""
    found = [error]
    while cause := found[-1].__cause__:
        found.append(cause)
    return found


def _node_at_fault(error: BaseException) -> torch.fx.Node | None:
    """The node that PyTorch's exporter was translating. Its messages name it,
    but only its frames have it."""
    for cause in reversed(_causes(error)):
        frames = [frame for frame, _ in traceback.walk_tb(cause.__traceback__)]
        for frame in reversed(frames):
            for value in frame.f_locals.values():
                if isinstance(value, torch.fx.Node):
                    return value
    return None


def origins_of(node: torch.fx.Node) -> set[str]:
    """Names, in the graphs before, of the nodes that a node was made from."""
    def names(sources: Sequence[Any]) -> set[str]:
        return {name for s in sources for name in {s.name, *names(s.from_node)}}
    return names(node.meta.get("from_node", ())) or {node.name}


def _same_operators(program: torch.export.ExportedProgram,
                    origins: Collection[str]) -> list[torch.fx.Node]:
    """The nodes named in `origins`, and others of the same operators."""
    targets = {n.target for n in program.graph.nodes
               if n.op == "call_function" and n.name in origins}
    return [n for n in program.graph.nodes if n.target in targets]


def _refusal(program: torch.export.ExportedProgram,
             error: Exception) -> Unsupported:
    """Why PyTorch cannot export a program to ONNX."""
    why = summary_of(_causes(error)[-1])
    node = _node_at_fault(error)
    nodes = _same_operators(program, origins_of(node) if node else ())
    if not nodes:
        return Unsupported(f"PyTorch cannot export it to ONNX: {why}")
    names = ", ".join(sorted({f"'{node.target}'" for node in nodes}))
    return Unsupported(f"PyTorch cannot export {names} to ONNX: {why}", program,
                       [node.name for node in nodes])


class Exported(NamedTuple):
    """A graph in PyTorch's form, and in ONNX."""

    program: torch.export.ExportedProgram
    onnx: Any
    #: What the graph returns: tensors without memory, of types and shapes.
    results: Sequence[Any]

    def refused_by(self, error: Unsupported) -> Unsupported:
        """Finds the nodes that fritc's message names."""
        names = set(re.findall(r"\bnode '([^']*)'", str(error)))
        made_from = {
            entry.value.partition(" ")[0].lstrip("%")
            for node in self.onnx.model_proto.graph.node if node.name in names
            for entry in node.metadata_props
            if entry.key == "pkg.torch.onnx.fx_node"}
        origins = {origin for node in self.onnx.exported_program.graph.nodes
                   if node.name in made_from for origin in origins_of(node)}
        return Unsupported(str(error), self.program, [
            node.name for node in self.program.graph.nodes
            if node.op == "call_function" and node.name in origins])


#===----------------------------------------------------------------------===#
# From a graph to ONNX
#===----------------------------------------------------------------------===#

def is_random(node: torch.fx.Node) -> bool:
    """Returns whether an operator of an exported graph draws random numbers."""
    tags = getattr(node.target, "tags", ())
    if torch.Tag.nondeterministic_seeded not in tags:
        return False
    # Dropout does so only while the model trains.
    operator: Any = node.target
    given = {argument.name: argument.default_value
             for argument in operator._schema.arguments}
    given.update(zip(given, node.args))
    given.update(node.kwargs)
    if "train" in given:
        return bool(given["train"] and given.get("p"))
    return bool(given["dropout_p"]) if "dropout_p" in given else True


def _results_of(program: torch.export.ExportedProgram) -> list[Any]:
    """What a program returns, as tensors without memory."""
    output = next(n for n in program.graph.nodes if n.op == "output")
    return [getattr(node, "meta", {}).get("val") for node, spec
            in zip(output.args[0], program.graph_signature.output_specs)
            if spec.kind == OutputKind.USER_OUTPUT]


def _cast_results(program: torch.onnx.ONNXProgram,
                  results: Sequence[Any]) -> None:
    """Gives the model's outputs the types of the graph's: PyTorch's exporter leaves
    some in the type that they are computed in."""
    from onnxscript import ir
    graph = program.model.graph
    for place, (value, wanted) in enumerate(zip(graph.outputs, results)):
        if not isinstance(wanted, torch.Tensor):
            continue
        name = str(wanted.dtype).rpartition(".")[2]
        dtype = ir.DataType[_ONNX_TYPES.get(name, name.upper())]
        if value.dtype == dtype:
            continue
        node = ir.node("Cast", [value], {"to": int(dtype)})
        node.outputs[0].name = f"{value.name}_{name}"
        node.outputs[0].shape, node.outputs[0].dtype = value.shape, dtype
        graph.append(node)
        graph.outputs[place] = node.outputs[0]


def _right(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """The program in operators that PyTorch's exporter translates well."""
    try:
        right, refused = corrected(program)
    except Exception as error:  # of many types
        raise Unsupported("PyTorch cannot decompose it: "
                          f"{summary_of(error)}") from error
    if refused:
        raise Unsupported(f"PyTorch exports '{refused[0].target}' to ONNX as another "
                          "function", program, [n.name for n in refused])
    return right


def exported_model(model: torch.nn.Module, args: tuple,
                   kwargs: Mapping[str, Any] | None,
                   dynamic_shapes: Any) -> torch.onnx.ONNXProgram:
    """Exports a model for a file."""
    options: dict[str, Any] = {"kwargs": kwargs, "dynamic_shapes": dynamic_shapes,
                               "dynamo": True, "verbose": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PyTorch's exporter about itself
        made = torch.onnx.export(model, args, **options)
        assert made is not None  # as it is with dynamo=True
        right = _right(made.exported_program)
        if right is not made.exported_program:
            made = torch.onnx.export(right, **options)
            assert made is not None
    with torch.no_grad():
        results = model(*args, **(kwargs or {}))
    tensors = [t for t in tree_leaves(results) if isinstance(t, torch.Tensor)]
    if len(tensors) == len(made.model.graph.outputs):
        _cast_results(made, tensors)
    return made


def exported(graph: torch.fx.GraphModule, arguments: Sequence[Any],
             dynamic_shapes: Any = None) -> Exported:
    """Exports a graph whose inputs are `arguments`."""
    try:
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise Unsupported(f"{error.name} is missing: pip install "
                           "onnxscript") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PyTorch's exporter about itself
        try:
            program = torch.export.export(graph, tuple(arguments), strict=False,
                                          dynamic_shapes=dynamic_shapes)
        except Exception as error:  # of many types
            raise Unsupported("PyTorch cannot export it: "
                              f"{summary_of(_causes(error)[-1])}") from error
        if random := [n for n in program.graph.nodes if is_random(n)]:
            raise Unsupported(f"'{random[0].target}' draws random numbers",
                              program, [n.name for n in random])
        results = _results_of(program)
        right = _right(program)
        try:
            # fritc simplifies the graph itself, ten times as fast.
            made = torch.onnx.export(right, dynamo=True, verbose=False,
                                     optimize=False)
        except Exception as error:  # of many types
            raise _refusal(program, error) from error
        # An exported graph may write to its tensors. The functional form shows
        # that.
        signature = made.exported_program.graph_signature
        if signature.user_inputs_to_mutate or signature.buffers_to_mutate:
            raise Unsupported("it writes to its inputs: " + ", ".join(
                [*signature.user_inputs_to_mutate.values(),
                 *signature.buffers_to_mutate.values()]))
        _cast_results(made, results)
        return Exported(program, made, results)


def model_of(program, weights: Mapping[int, str],
              constants: Mapping[int, torch.Tensor]) -> tuple[bytes, set[str]]:
    """The model, in which the inputs numbered in `weights` are weights of these
    names, without their bytes, and those in `constants` constants. Returns the
    names of the weights that it uses, too."""
    import onnx
    model = onnx.ModelProto()
    model.CopyFrom(program.model_proto)
    graph = model.graph
    inputs = list(graph.input)
    del graph.input[:]
    renamed = {}
    for index, value in enumerate(inputs):
        if index in constants:
            values = constants[index].detach().cpu().contiguous()
            graph.initializer.add(
                name=value.name, dims=values.shape,
                data_type=value.type.tensor_type.elem_type,
                raw_data=values.reshape(-1).view(torch.uint8).numpy().tobytes())
        elif index in weights:
            kind = value.type.tensor_type
            weight = graph.initializer.add(
                name=weights[index], data_type=kind.elem_type,
                dims=[dim.dim_value for dim in kind.shape.dim],
                data_location=onnx.TensorProto.EXTERNAL)
            weight.external_data.add(key="location", value="of-pytorch")
            renamed[value.name] = weights[index]
        else:
            graph.input.append(value)
    used = set()
    for node in graph.node:
        for position, name in enumerate(node.input):
            if name in renamed:
                node.input[position] = renamed[name]
                used.add(renamed[name])
    for value in graph.output:
        if value.name in renamed:
            raise Unsupported("it returns a parameter")
    return model.SerializeToString(deterministic=True), used
