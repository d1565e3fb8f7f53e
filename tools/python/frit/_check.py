"""Whether a compiled graph gives what eager PyTorch gives, at its first call."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ._graphs import Exported, Unsupported

#: Most elements of an output that are looked at.
_LOOKED_AT = 1 << 20
#: Relative differences between right results in f32: of other orders of summation.
_F32_TOLERANCE = 1e-3


def _rounding(made: Exported, device: torch.device,
              options: Mapping[str, Any]) -> float:
    """The relative error of one operator in the types that the graph, or an option,
    computes in."""
    values = [value for node in made.program.graph.nodes
              for value in [node.meta.get("val")]
              if isinstance(value, torch.Tensor) and value.is_floating_point()]
    found = max([torch.finfo(value.dtype).eps for value in values],
                default=torch.finfo(torch.float32).eps)
    said = f"{options.get('precision') or ''} {options.get('options') or ''}"
    # PyTorch's convolutions are in tf32 on a GPU, unless told otherwise.
    for text, bits in (("tf32", 10), ("fp16", 10), ("bf16", 7), ("fp8", 2),
                       ("int8", 2), ("fp4", 1), ("int4", 1)):
        if text in said or (text == "tf32" and device.type == "cuda"):
            found = max(found, 2.0 ** -bits)
    return found


def _sample(tensor: torch.Tensor) -> torch.Tensor:
    values = tensor.detach().reshape(-1)
    return values[::max(1, -(-values.numel() // _LOOKED_AT))]


def _differing(wanted: torch.Tensor, got: torch.Tensor, tolerance: float,
               is_coarse: bool) -> torch.Tensor:
    """Which elements differ by more than roundings do, in size or in what becomes of
    NaN and infinity."""
    if not wanted.is_floating_point():
        return wanted != got
    a, b = (t.to(torch.float64 if t.dtype == torch.float64 else torch.float32)
            for t in (wanted, got))
    finite = a.isfinite() & b.isfinite()
    sizes = a.abs()[finite & (a != 0)]
    # The sums behind an element are as large as other elements: as most of them, or
    # in few bits as the largest, from which a softmax takes its error.
    typical = a.new_zeros(()) if not sizes.numel() else \
        sizes.square().mean().sqrt() if is_coarse else sizes.median()
    far = (a - b).abs() > tolerance * (a.abs() + typical) + tolerance / 100
    return torch.where(finite, far, (a != b) & ~(a.isnan() & b.isnan()))


def check(made: Exported, wanted: Sequence[torch.Tensor],
          got: Sequence[torch.Tensor], device: torch.device,
          options: Mapping[str, Any]) -> None:
    """Raises Unsupported if results are not those of PyTorch."""
    rounding = _rounding(made, device, options)
    is_coarse = rounding > torch.finfo(torch.float32).eps
    count = sum(node.op == "call_function" for node in made.program.graph.nodes)
    tolerance = min(0.5, 8 * rounding * math.sqrt(count)) if is_coarse else \
        _F32_TOLERANCE
    for place, (a, b) in enumerate(zip(wanted, got)):
        if not isinstance(a, torch.Tensor) or a.is_complex():
            continue
        a, b = _sample(a), _sample(b)
        bad = _differing(a, b, tolerance, is_coarse)
        number, total = int(bad.sum()), bad.numel()
        # Roundings may move an element over a step, such as that of floor.
        allowed = total // (100 if is_coarse else 1000)
        if is_coarse and not a.is_floating_point():
            allowed = max(allowed * 5, 1)
        if number > allowed:
            at = int(bad.to(torch.uint8).argmax())
            raise Unsupported(
                f"{number} of {total} elements of its result {place} would be "
                f"others, such as {b[at].item():.6g} instead of "
                f"{a[at].item():.6g}; with options={{'check': False}}, no result "
                "is checked")


def check_types(made: Exported, got: Sequence[torch.Tensor]) -> None:
    """Raises Unsupported if results have other types or shapes than PyTorch's."""
    for place, (a, b) in enumerate(zip(made.results, got)):
        if not isinstance(a, torch.Tensor):
            continue
        fits = len(a.shape) == len(b.shape) and all(
            not isinstance(x, int) or x == y for x, y in zip(a.shape, b.shape))
        if a.dtype != b.dtype or not fits:
            sizes = "x".join(map(str, a.shape)) or "one element"
            raise Unsupported(
                f"its result {place} would be {b.dtype} of "
                f"{'x'.join(map(str, b.shape)) or 'one element'} instead of "
                f"{a.dtype} of {sizes}")
