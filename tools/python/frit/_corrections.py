"""Operators that PyTorch's ONNX exporter would translate to another function, by
others that it translates well.

    avg_pool2d(x, 3, divisor_override=5)     avg_pool2d(x, 3) * (9 / 5)
    baddbmm(c, a, b, beta=0)                 bmm(a, b), whatever c is

Each function below takes an operator's arguments, and returns NotImplemented for
those that the exporter gets right. Eager PyTorch says what is right.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._guards import detect_fake_mode
from torch.utils._pytree import tree_map

aten: Any = torch.ops.aten
#: Functions by operator, as for `ExportedProgram.run_decompositions`.
_TABLE: dict[Any, Callable[..., Any]] = {}
#: What a function returns instead of a result if only PyTorch computes it.
_REFUSED = object()


def _replaces(*names: str) -> Callable[[Callable], Callable]:
    """Enters a function for operators such as "mean.dim". PyTorch may lack some."""
    def enter(function: Callable) -> Callable:
        for name in names:
            packet, _, overload = name.partition(".")
            found = getattr(getattr(aten, packet, None), overload or "default",
                            None)
            if found is not None:
                _TABLE[found] = function
        return function
    return enter


def _is_number(x: torch.Tensor) -> bool:
    return x.is_floating_point()


def _as_tensor(value: Any, like: torch.Tensor) -> torch.Tensor:
    return value if isinstance(value, torch.Tensor) else \
        torch.full((), value, dtype=like.dtype, device=like.device)


def _pair(a: Any, b: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Operands in the type that PyTorch computes in."""
    dtype = torch.result_type(a, b)
    device = (a if isinstance(a, torch.Tensor) else b).device
    x, y = (value.to(dtype) if isinstance(value, torch.Tensor) else
            torch.full((), value, dtype=dtype, device=device) for value in (a, b))
    return x, y


def _is_negative(x: torch.Tensor) -> torch.Tensor:
    """The sign bit, which -0.0 has too. A NaN has none here."""
    if not x.is_floating_point():
        return x < 0
    return torch.where(x == 0, 1 / x, x) < 0


#===----------------------------------------------------------------------===#
# Division
#===----------------------------------------------------------------------===#

def _floored(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Division of floats, rounded down as Python does: 1 // 0.1 is 9."""
    rest = torch.fmod(a, b)
    ratio = (a - rest) / b
    ratio = torch.where((rest != 0) & ((b < 0) != (rest < 0)), ratio - 1, ratio)
    whole = torch.floor(ratio)
    whole = torch.where(ratio - whole > 0.5, whole + 1, whole)
    # A quotient of 0 has the sign of a / b; division by 0 is as without rounding.
    return torch.where((ratio == 0) | (b == 0),
                       torch.where(b == 0, a / b, 0 * (a / b)), whole)


@_replaces("floor_divide", "floor_divide.Scalar")
def _floor_divide(a, b):
    x, y = _pair(a, b)
    if x.is_floating_point():
        return _floored(x, y)
    return NotImplemented if isinstance(b, torch.Tensor) and \
        a.dtype == b.dtype else aten.floor_divide.default(x, y)


@_replaces("div.Tensor_mode", "div.Scalar_mode")
def _divide(a, b, *, rounding_mode=None):
    if rounding_mode is None:
        return NotImplemented
    x, y = _pair(a, b)
    if rounding_mode == "floor":
        return _floored(x, y) if x.is_floating_point() else \
            aten.floor_divide.default(x, y)
    if x.is_floating_point():
        return NotImplemented
    whole = aten.floor_divide.default(x, y)
    if not x.dtype.is_signed:
        return whole
    return torch.where((whole < 0) & (whole * y != x), whole + 1, whole)


@_replaces("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def _remainder(a, b):
    x, y = _pair(a, b)
    if not x.is_floating_point():
        return NotImplemented
    rest = torch.fmod(x, y)
    return torch.where((rest != 0) & ((y < 0) != (rest < 0)), rest + y, rest)


@_replaces("__lshift__.Scalar", "__lshift__.Tensor",
           "bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar")
def _shift_left(a, b):
    return _shifted(a, b, aten.bitwise_left_shift.Tensor)


@_replaces("__rshift__.Scalar", "__rshift__.Tensor",
           "bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar")
def _shift_right(a, b):
    return _shifted(a, b, aten.bitwise_right_shift.Tensor)


def _shifted(a, b, shift):
    """Shifts small integers as wider ones, and others by a tensor."""
    x, y = _pair(a, b)
    if x.dtype in (torch.uint8, torch.int8, torch.int16):
        return shift(x.int(), y.int()).to(x.dtype)
    is_plain = isinstance(b, torch.Tensor) and a.dtype == b.dtype
    return _REFUSED if is_plain and shift.name().startswith("aten::__") else \
        NotImplemented if is_plain else shift(x, y)


#===----------------------------------------------------------------------===#
# Elementwise
#===----------------------------------------------------------------------===#

@_replaces("signbit")
def _signbit(x):
    return _is_negative(x)


@_replaces("sign", "sgn")
def _sign(x):
    if not x.is_floating_point():
        return NotImplemented
    # Not by sign(x), which this function would replace again.
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


@_replaces("elu")
def _elu(x, alpha=1, scale=1, input_scale=1):
    """The exporter drops `scale` where x is positive."""
    if scale == 1 and input_scale == 1:
        return NotImplemented
    return torch.where(x > 0, x, alpha * torch.expm1(x * input_scale)) * scale


@_replaces("atan2")
def _atan2(y, x):
    y, x = _pair(y, x)
    if not y.is_floating_point():
        y, x = y.to(torch.get_default_dtype()), x.to(torch.get_default_dtype())
    high, wide = y.abs(), x.abs()
    least, most = torch.minimum(high, wide), torch.maximum(high, wide)
    ratio = torch.where(least == most, (most != 0).to(y.dtype), least / most)
    angle = torch.atan(ratio)
    angle = torch.where(high > wide, math.pi / 2 - angle, angle)
    angle = torch.where(_is_negative(x), math.pi - angle, angle)
    angle = torch.where(_is_negative(y), -angle, angle)
    return torch.where(y.isnan() | x.isnan(), y + x, angle)


@_replaces("logaddexp")
def _logaddexp(a, b):
    return _log_of_sum(*_pair(a, b), 1)


@_replaces("logaddexp2")
def _logaddexp2(a, b):
    return _log_of_sum(*_pair(a, b), math.log(2))


def _log_of_sum(a, b, unit):
    most = torch.maximum(a, b)
    apart = torch.exp(-(a - b).abs() * unit)
    # Equal infinities are nothing apart.
    return torch.where((a == b) & a.isinf(), a, most + torch.log1p(apart) / unit)


@_replaces("xlogy.Tensor", "xlogy.Scalar_Self", "xlogy.Scalar_Other",
           "special_xlogy", "special_xlogy.self_scalar",
           "special_xlogy.other_scalar")
def _xlogy(a, b):
    x, y = _pair(a, b)
    if not x.is_floating_point():
        return NotImplemented
    return torch.where((x == 0) & ~y.isnan(), 0, x * torch.log(y))


@_replaces("log_sigmoid")
def _log_sigmoid(x):
    """The logarithm of a sigmoid, which the exporter takes, underflows."""
    return torch.clamp(x, max=0) - torch.log1p(torch.exp(-x.abs()))


@_replaces("log_sigmoid_forward")
def _log_sigmoid_forward(x):
    return _log_sigmoid(x), x.new_zeros((0,))


@_replaces("binary_cross_entropy_with_logits")
def _bce_with_logits(x, target, weight=None, pos_weight=None, reduction=1):
    log = _log_sigmoid(x)
    loss = (1 - target) * x - (
        log if pos_weight is None else log * (1 + (pos_weight - 1) * target))
    return _reduced(loss if weight is None else loss * weight, reduction)


#===----------------------------------------------------------------------===#
# Reductions and losses
#===----------------------------------------------------------------------===#

def _reduced(loss: torch.Tensor, reduction: int) -> torch.Tensor:
    return (loss, loss.mean(), loss.sum())[reduction] if reduction else loss


@_replaces("mean.dim", "mean")
def _mean(x, dim=None, keepdim=False, *, dtype=None):
    """The exporter casts the mean, PyTorch the elements."""
    if dtype is None or dtype == x.dtype:
        return NotImplemented
    return aten.mean.dim(x.to(dtype), dim or [*range(x.dim())], keepdim)


def _extremes(name: str) -> None:
    @_replaces(name)
    def replace(x, dim=(), keepdim=False):
        """The exporter has none that leaves out which dimensions."""
        return NotImplemented if dim or not x.dim() else getattr(
            aten, name).default(x, [*range(x.dim())], keepdim)


_extremes("amax")
_extremes("amin")


@_replaces("sort.stable")
def _sort_stable(x, *, stable, dim=-1, descending=False):
    return aten.sort.default(x, dim, descending)  # ONNX's is stable


@_replaces("logcumsumexp")
def _logcumsumexp(x, dim):
    """The exporter subtracts one maximum, under which small terms vanish."""
    return _REFUSED


@_replaces("cross_entropy_loss")
def _cross_entropy(x, target, weight=None, reduction=1, ignore_index=-100,
                   label_smoothing=0.0):
    axis = 0 if x.dim() == 1 else 1
    classes = x.shape[axis]
    if weight is not None:
        weight = weight.reshape([-1] + [1] * (x.dim() - axis - 1))
    log = x.log_softmax(axis)
    if target.is_floating_point():  # probabilities
        if label_smoothing:
            target = target * (1 - label_smoothing) + label_smoothing / classes
        terms = log * target if weight is None else log * target * weight
        loss = -terms.sum(axis)
        return loss.sum() / (x.numel() // classes) if reduction == 1 else \
            _reduced(loss, reduction)
    if not label_smoothing:
        return NotImplemented
    counts = target != ignore_index
    label = torch.where(counts, target, 0).unsqueeze(axis)
    of_label = log.gather(axis, label).squeeze(axis)
    share = counts.to(x.dtype)
    if weight is None:
        smooth = log.sum(axis)
    else:
        share = share * weight.expand_as(x).gather(axis, label).squeeze(axis)
        smooth = (log * weight).sum(axis)
    loss = -(1 - label_smoothing) * of_label * share - torch.where(
        counts, label_smoothing / classes * smooth, 0)
    return loss.sum() / share.sum() if reduction == 1 else \
        _reduced(loss, reduction)


#===----------------------------------------------------------------------===#
# Products
#===----------------------------------------------------------------------===#

def _products(name: str, product: Callable[..., torch.Tensor]) -> None:
    """An added term with factor 0 does not count, even if it is NaN."""
    @_replaces(name)
    def replace(added, a, b, *, beta=1, alpha=1):
        if beta != 0:
            return NotImplemented
        made = product(a, b)
        return made if alpha == 1 else made * alpha


_products("addmm", lambda a, b: torch.mm(a, b))
_products("addmv", lambda a, b: torch.mv(a, b))
_products("addr", lambda a, b: torch.outer(a, b))
_products("baddbmm", lambda a, b: torch.bmm(a, b))
_products("addbmm", lambda a, b: torch.bmm(a, b).sum(0))


@_replaces("conv3d")
def _conv3d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Without a bias, the exporter writes one of a wrong shape."""
    return NotImplemented if bias is not None else aten.conv3d.default(
        x, weight, weight.new_zeros(weight.shape[0]), stride, padding, dilation, groups)


def _repeated(heads: torch.Tensor, count: int) -> torch.Tensor:
    """Each head of keys or values as often as queries share it."""
    batch, given, length, size = heads.shape
    return heads if given == count else heads.unsqueeze(2).expand(
        -1, -1, count // given, -1, -1).reshape(batch, count, length, size)


@_replaces("scaled_dot_product_attention")
def _attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, *,
               scale=None, enable_gqa=False):
    """A query whose keys are all masked gives 0; the exporter gives it the mean of
    the values."""
    if dropout_p:
        return NotImplemented
    if q.dim() == k.dim() == v.dim() == 3:
        mask = attn_mask if attn_mask is None or attn_mask.dim() < 3 else \
            attn_mask.unsqueeze(1)
        return torch.nn.functional.scaled_dot_product_attention(
            q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1), mask,
            is_causal=is_causal, scale=scale).squeeze(1)
    if attn_mask is None or q.dim() != 4:
        return NotImplemented
    if enable_gqa:
        k, v = _repeated(k, q.shape[1]), _repeated(v, q.shape[1])
    if attn_mask.dtype == torch.bool:
        attn_mask = torch.where(attn_mask, 0.0, -math.inf).to(q.dtype)
    factor = math.sqrt(1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    scores = (q * factor) @ (k * factor).transpose(-2, -1) + attn_mask
    weights = torch.softmax(scores, -1)
    # Every key of such a row has NaN.
    return torch.where(weights.isnan(), 0, weights) @ v


#===----------------------------------------------------------------------===#
# Pooling and resizing
#===----------------------------------------------------------------------===#

def _pools(name: str, rank: int) -> None:
    @_replaces(name)
    def replace(x, kernel_size, stride=(), padding=0, ceil_mode=False,
                count_include_pad=True, divisor_override=None):
        """The exporter drops the divisor."""
        if divisor_override is None:
            return NotImplemented
        def numbers(value: Any) -> list[int]:
            given = [value] if isinstance(value, int) else [*value]
            return given * rank if len(given) == 1 else given
        kernel = numbers(kernel_size)
        steps = numbers(stride) if stride else kernel
        pads: list[int] = []
        for size, window, step, before in zip(x.shape[-rank:], kernel, steps,
                                              numbers(padding)):
            count = (size + 2 * before - window +
                     (step - 1 if ceil_mode else 0)) // step + 1
            if ceil_mode and (count - 1) * step >= size + before:
                count -= 1
            after = torch.sym_max(0, (count - 1) * step + window - size - before)
            pads = [before, after, *pads]
        # Every window is whole then.
        padded = torch.nn.functional.pad(x, pads) if any(
            not isinstance(p, int) or p for p in pads) else x
        pool = getattr(aten, name).default
        return pool(padded, kernel, steps) * (math.prod(kernel) / divisor_override)


_pools("avg_pool2d", 2)
_pools("avg_pool3d", 3)


@_replaces("_upsample_bilinear2d_aa.vec", "_upsample_bicubic2d_aa.vec")
def _resize_antialiased(x, output_size, align_corners, scale_factors=None):
    """PyTorch's coordinates use the scales, ONNX's the sizes."""
    if not scale_factors:
        return NotImplemented
    whole = all(isinstance(size, int) and float(size * scale).is_integer()
                for size, scale in zip(x.shape[2:], scale_factors))
    return NotImplemented if whole else _REFUSED


#===----------------------------------------------------------------------===#
# Scattering
#===----------------------------------------------------------------------===#

def _fitted(values: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """The part of `values` that `index` has places for."""
    for dim, size in enumerate(index.shape):
        if values.shape[dim] != size:
            values = values.narrow(dim, 0, size)
    return values


def _fits(values: torch.Tensor, index: torch.Tensor) -> bool:
    return tuple(values.shape) == tuple(index.shape)


@_replaces("scatter.src")
def _scatter(x, dim, index, src):
    return NotImplemented if _fits(src, index) else \
        aten.scatter.src(x, dim, index, _fitted(src, index))


@_replaces("scatter_add")
def _scatter_add(x, dim, index, src):
    return NotImplemented if _fits(src, index) else \
        aten.scatter_add.default(x, dim, index, _fitted(src, index))


@_replaces("scatter.reduce", "scatter.value_reduce")
def _scatter_by_name(x, dim, index, src, *, reduce):
    values = _fitted(src, index) if isinstance(src, torch.Tensor) else \
        torch.full(index.shape, src, dtype=x.dtype, device=x.device)
    return torch.scatter_reduce(
        x, dim, index, values, {"add": "sum", "multiply": "prod"}[reduce])


@_replaces("scatter_reduce.two")
def _scatter_reduce(x, dim, index, src, reduce, *, include_self=True):
    """The exporter has no mean, and takes the largest instead."""
    values = _fitted(src, index)
    if reduce != "mean":
        return NotImplemented if _fits(src, index) else aten.scatter_reduce.two(
            x, dim, index, values, reduce, include_self=include_self)
    ones, one = torch.ones_like(values), torch.ones_like(x)
    if include_self:
        total, count = x, one
    else:
        total, count = x.scatter(dim, index, 0), torch.zeros_like(x)
    total = total.scatter_add(dim, index, values)
    count = torch.maximum(count.scatter_add(dim, index, ones), one)
    return total / count if x.is_floating_point() else \
        aten.floor_divide.default(total, count)


@_replaces("index_reduce")
def _index_reduce(x, dim, index, source, reduce, *, include_self=True):
    shape = [1] * x.dim()
    shape[dim] = -1
    return torch.scatter_reduce(x, dim, index.reshape(shape).expand_as(source),
                                source, reduce, include_self=include_self)


#===----------------------------------------------------------------------===#
# Programs
#===----------------------------------------------------------------------===#

def _values(arguments: Any) -> Any:
    return tree_map(lambda value: value.meta["val"] if isinstance(
        value, torch.fx.Node) else value, arguments)


def _judged(program: torch.export.ExportedProgram
            ) -> Iterator[tuple[torch.fx.Node, object]]:
    """The nodes that the table replaces or refuses, with what it returns."""
    nodes = [node for node in program.graph.nodes if node.target in _TABLE]
    mode = detect_fake_mode([node.meta.get("val") for node in nodes])
    if mode is None:
        return
    with mode:
        for node in nodes:
            made = _TABLE[node.target](*_values(node.args),
                                       **_values(node.kwargs))
            if made is not NotImplemented:
                yield node, made


def corrected(program: torch.export.ExportedProgram
              ) -> tuple[torch.export.ExportedProgram, Sequence[torch.fx.Node]]:
    """The program in operators that PyTorch's exporter translates as eager PyTorch
    runs them, and the nodes for which there are none."""
    found = [*_judged(program)]
    refused = [node for node, made in found if made is _REFUSED]
    if refused or not found:
        return program, refused
    return program.run_decompositions({**_TABLE}), []
