"""The table of operators that PyTorch's ONNX exporter would translate to another
function.

An entry takes an operator's arguments. It returns NotImplemented for those that the
exporter gets right, and REFUSED for those that only PyTorch computes. Eager PyTorch
says what is right.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

aten: Any = torch.ops.aten
#: Functions by operator, as for `ExportedProgram.run_decompositions`.
TABLE: dict[Any, Callable[..., Any]] = {}
#: What a function returns instead of a result if only PyTorch computes it.
REFUSED = object()


def replaces(*names: str) -> Callable[[Callable], Callable]:
    """Enters a function for operators such as "mean.dim". PyTorch may lack some."""
    def enter(function: Callable) -> Callable:
        for name in names:
            packet, _, overload = name.partition(".")
            found = getattr(getattr(aten, packet, None), overload or "default",
                            None)
            if found is not None:
                TABLE[found] = function
        return function
    return enter
