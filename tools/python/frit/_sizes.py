"""Graphs whose sizes are open within bounds, as `torch._dynamo.mark_dynamic` gives
them: one artifact has variants for all.

    f(s, x: f32[s, 8]) = x.view(s * 4, 2)      s in 2..64, a size and a tensor
    f(x: f32[s, 8]) = x.view(x.shape[0] * 4, 2)             what is exported
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ._graphs import Exported, Unsupported, exported


class OpenSizes:
    """A graph's open sizes, all of which are dimensions of its inputs."""

    def __init__(self, graph: torch.fx.GraphModule,
                 bounds: Sequence[tuple[int, int]],
                 dynamic_shapes: Sequence[Mapping[int, Any]]):
        #: The graph, without those of its inputs that are sizes.
        self.graph = graph
        #: The least and the largest value of each of these.
        self.bounds = bounds
        self.dynamic_shapes = dynamic_shapes

    def hold(self, sizes: Sequence[int]) -> bool:
        return all(least <= size <= most
                   for size, (least, most) in zip(sizes, self.bounds))

    def exported(self, arguments: Sequence[Any]) -> tuple[Exported, list[str]]:
        """Exports the graph. Returns fritc's options, too."""
        made = exported(self.graph, [a for a in arguments
                                     if isinstance(a, torch.Tensor)],
                        self.dynamic_shapes)
        ranges = {str(symbol): found for symbol, found
                  in made.program.range_constraints.items()}
        names = {dim.dim_param for value in made.onnx.model_proto.graph.input
                 for dim in value.type.tensor_type.shape.dim if dim.dim_param}
        if not names <= ranges.keys():
            raise Unsupported("PyTorch computes an input's size from another's")
        return made, [f"-fshape={name}={ranges[name].lower}..{ranges[name].upper}"
                      for name in sorted(names)]


def open_sizes(graph: torch.fx.GraphModule) -> OpenSizes | None:
    """Finds the open sizes of a graph; None if it has none, or some have no
    bounds."""
    made = torch.fx.Graph()
    made.output(made.graph_copy(graph.graph, {}))
    inputs = [n for n in made.nodes if n.op == "placeholder"]
    found: dict[Any, tuple[torch.fx.Node, int, Any]] = {}
    bounds, dynamic_shapes, sizes = {}, [], []
    for node in inputs:
        value = node.meta.get("example_value")
        if isinstance(value, torch.SymInt):
            sizes.append((node, value.node.expr))
            continue
        if value is not None and not isinstance(value, torch.Tensor):
            return None
        dims = {}
        for place, size in enumerate(getattr(value, "shape", ())):
            if isinstance(size, int):
                continue
            symbol = size.node.expr
            if symbol not in found:
                span = size.node.shape_env.bound_sympy(symbol)
                if not symbol.is_symbol or not span.upper.is_Integer:
                    return None
                bounds[symbol] = int(span.lower), int(span.upper)
                found[symbol] = node, place, torch.export.Dim(
                    f"size{len(found)}", min=bounds[symbol][0],
                    max=bounds[symbol][1])
            dims[place] = found[symbol][2]
        dynamic_shapes.append(dims)
    if not sizes or any(symbol not in found for _, symbol in sizes):
        return None
    for node, symbol in sizes:
        tensor, place, _ = found[symbol]
        with made.inserting_after(inputs[-1]):
            node.replace_all_uses_with(
                made.call_function(torch.ops.aten.sym_size.int, (tensor, place)))
        made.erase_node(node)
    return OpenSizes(torch.fx.GraphModule(graph, made),
                     [bounds[symbol] for _, symbol in sizes], dynamic_shapes)
