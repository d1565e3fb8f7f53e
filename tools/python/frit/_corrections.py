"""Operators that PyTorch's ONNX exporter would translate to another function, by
others that it translates well.

    avg_pool2d(x, 3, divisor_override=5)     avg_pool2d(x, 3) * (9 / 5)
    baddbmm(c, a, b, beta=0)                 bmm(a, b), whatever c is

_elementwise.py and _reductions.py have the operators, one function each.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch._guards import detect_fake_mode
from torch.utils._pytree import tree_map

from . import _elementwise, _reductions  # noqa: F401: they enter their operators
from ._replacements import REFUSED, TABLE


def _values(arguments: Any) -> Any:
    return tree_map(lambda value: value.meta["val"] if isinstance(
        value, torch.fx.Node) else value, arguments)


def _judged(program: torch.export.ExportedProgram
            ) -> Iterator[tuple[torch.fx.Node, object]]:
    """The nodes that the table replaces or refuses, with what it returns."""
    nodes = [node for node in program.graph.nodes if node.target in TABLE]
    mode = detect_fake_mode([node.meta.get("val") for node in nodes])
    if mode is None:
        return
    with mode:
        for node in nodes:
            made = TABLE[node.target](*_values(node.args),
                                       **_values(node.kwargs))
            if made is not NotImplemented:
                yield node, made


def corrected(program: torch.export.ExportedProgram
              ) -> tuple[torch.export.ExportedProgram, Sequence[torch.fx.Node]]:
    """The program in operators that PyTorch's exporter translates as eager PyTorch
    runs them, and the nodes for which there are none."""
    found = [*_judged(program)]
    refused = [node for node, made in found if made is REFUSED]
    if refused or not found:
        return program, refused
    return program.run_decompositions({**TABLE}), []
