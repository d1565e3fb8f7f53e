"""Splits a graph around operators that cannot be compiled.

    linear, relu │ i0e │ linear        two parts are compiled, PyTorch runs i0e
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import torch
from torch.export.graph_signature import InputKind
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from ._graphs import is_random, origins_of

#: Words in the names of operators, one of which makes a part worth compiling.
_CONTRACTIONS = ("mm", "matmul", "linear", "conv", "attention", "einsum",
                 "lstm", "gru", "rnn_")
#: Without one, a part takes this many operators: one kernel instead of several.
_LEAST_OPERATORS = 3

#: Makes a part of a graph callable: its inputs' examples come second.
Compile = Callable[[torch.fx.GraphModule, Sequence[Any]],
                   Callable[..., Sequence[torch.Tensor]]]


def _is_plain(value: object) -> bool:
    """Returns whether a value may pass between a compiled part and PyTorch."""
    return isinstance(value, torch.Tensor) and not value.is_complex() and \
        all(isinstance(size, int) for size in value.shape)


def _values_of(node: torch.fx.Node) -> Sequence[object]:
    values = node.meta.get("val")
    return values if isinstance(values, (tuple, list)) else [values]


class _Support(OperatorSupportBase):
    """What a compiled part may contain."""

    def __init__(self, program: torch.export.ExportedProgram,
                 refused: Collection[str]):
        self.refused = set(refused)
        self.targets = {node.target for node in program.graph.nodes
                        if node.name in refused}

    def is_refused(self, node: torch.fx.Node) -> bool:
        # PyTorch's passes lose some nodes' origins.
        return node.op == "call_function" and bool(
            node.target in self.targets or is_random(node)
            or origins_of(node) & self.refused)

    def is_node_supported(self, submodules, node: torch.fx.Node) -> bool:
        if node.op != "call_function" or self.is_refused(node):
            return False
        if node.target is operator.getitem:
            return self.is_node_supported(submodules, node.args[0])
        return all(_is_plain(value) for part in (node, *node.all_input_nodes)
                   for value in _values_of(part))


def _is_worth_it(nodes: Iterable[torch.fx.Node]) -> bool:
    """Returns whether compiling these operators makes them faster."""
    count = 0
    for node in nodes:
        if node.target is operator.getitem or getattr(node.target, "is_view",
                                                      False):
            continue
        count += 1
        if any(name in str(node.target) for name in _CONTRACTIONS):
            return True
    return count >= _LEAST_OPERATORS


class _Part(torch.nn.Module):
    """A compiled part, called as the module that it replaces."""

    def __init__(self, module: torch.fx.GraphModule, compile: Compile):
        super().__init__()
        inputs = [n for n in module.graph.nodes if n.op == "placeholder"]
        output = next(n for n in module.graph.nodes if n.op == "output")
        self.is_single = isinstance(output.args[0], torch.fx.Node)
        if self.is_single:
            output.args = ((output.args[0],),)
            module.recompile()
        self.call = compile(module, [node.meta.get("val") for node in inputs])

    def forward(self, *inputs):
        results = self.call(*inputs)
        return results[0] if self.is_single else results


class Split:
    """A graph for certain shapes, some parts of which PyTorch runs. Each compiled
    part watches its own parameters."""

    watched: Sequence[Any] = ()
    seen: Any = None
    calls: dict = {}

    def __init__(self, module: torch.fx.GraphModule,
                 first: Sequence[torch.Tensor], last: Sequence[torch.Tensor]):
        self.module, self.first, self.last = module, first, last

    def look_anew(self) -> bool:
        return True

    def remember(self, key: tuple, given: tuple) -> None:
        pass

    def __call__(self, arguments: Sequence[Any]) -> list:
        return [*self.module(*self.first, *arguments, *self.last)]


def split(program: torch.export.ExportedProgram, refused: Collection[str],
          weights: Collection[int], last: Sequence[torch.Tensor],
          compile: Compile) -> Split | None:
    """Compiles what is left of an exported program without the nodes named in
    `refused`; None if no part of it is worth it. Inputs numbered in `weights` are
    parameters, and those at the end are `last`."""
    support = _Support(program, refused)
    # The functional form: a part must not write to tensors of another.
    program = program.run_decompositions({})
    signature = program.graph_signature
    module = program.graph_module
    if signature.user_inputs_to_mutate or signature.buffers_to_mutate or \
            not any(map(support.is_refused, module.graph.nodes)):
        return None
    first, count = [], 0
    inputs = [n for n in module.graph.nodes if n.op == "placeholder"]
    for node, spec in zip(inputs, signature.input_specs):
        if spec.kind == InputKind.USER_INPUT:
            is_weight = count in weights
            count += 1
        else:
            is_weight = True
            first.append(program.constants[spec.target]
                         if spec.target in program.constants
                         else program.state_dict[spec.target])
        if is_weight:
            node.meta["lifted"] = True
    for node in [*module.graph.nodes]:
        if "_assert_tensor_metadata" in str(node.target):
            module.graph.erase_node(node)
    partitioner = CapabilityBasedPartitioner(
        module, support, allows_single_node_partition=True)
    parts = [part for part in partitioner.propose_partitions()
             if _is_worth_it(part.nodes)]
    if not parts:
        return None
    module = partitioner.fuse_partitions(parts)
    for node in module.graph.nodes:
        if node.op == "call_module":
            setattr(module, node.target,
                    _Part(getattr(module, node.target), compile))
    return Split(module, first, last)
