"""Reductions, products, pools and scatters that would be exported wrongly."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ._replacements import REFUSED, aten, replaces


#===----------------------------------------------------------------------===#
# Reductions and losses
#===----------------------------------------------------------------------===#

@replaces("log_sigmoid")
def _log_sigmoid(x):
    """The logarithm of a sigmoid, which the exporter takes, underflows."""
    return torch.clamp(x, max=0) - torch.log1p(torch.exp(-x.abs()))


@replaces("log_sigmoid_forward")
def _log_sigmoid_forward(x):
    return _log_sigmoid(x), x.new_zeros((0,))


@replaces("binary_cross_entropy_with_logits")
def _bce_with_logits(x, target, weight=None, pos_weight=None, reduction=1):
    log = _log_sigmoid(x)
    loss = (1 - target) * x - (
        log if pos_weight is None else log * (1 + (pos_weight - 1) * target))
    return _reduced(loss if weight is None else loss * weight, reduction)


def _reduced(loss: torch.Tensor, reduction: int) -> torch.Tensor:
    return (loss, loss.mean(), loss.sum())[reduction] if reduction else loss


@replaces("mean.dim", "mean")
def _mean(x, dim=None, keepdim=False, *, dtype=None):
    """The exporter casts the mean, PyTorch the elements."""
    if dtype is None or dtype == x.dtype:
        return NotImplemented
    return aten.mean.dim(x.to(dtype), dim or [*range(x.dim())], keepdim)


def _extremes(name: str) -> None:
    @replaces(name)
    def replace(x, dim=(), keepdim=False):
        """The exporter has none that leaves out which dimensions."""
        return NotImplemented if dim or not x.dim() else getattr(
            aten, name).default(x, [*range(x.dim())], keepdim)


_extremes("amax")
_extremes("amin")


@replaces("sort.stable")
def _sort_stable(x, *, stable, dim=-1, descending=False):
    return aten.sort.default(x, dim, descending)  # ONNX's is stable


@replaces("logcumsumexp")
def _logcumsumexp(x, dim):
    """The exporter subtracts one maximum, under which small terms vanish."""
    return REFUSED


@replaces("cross_entropy_loss")
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
    @replaces(name)
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


@replaces("conv3d")
def _conv3d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Without a bias, the exporter writes one of a wrong shape."""
    return NotImplemented if bias is not None else aten.conv3d.default(
        x, weight, weight.new_zeros(weight.shape[0]), stride, padding, dilation, groups)


def _repeated(heads: torch.Tensor, count: int) -> torch.Tensor:
    """Each head of keys or values as often as queries share it."""
    batch, given, length, size = heads.shape
    return heads if given == count else heads.unsqueeze(2).expand(
        -1, -1, count // given, -1, -1).reshape(batch, count, length, size)


@replaces("scaled_dot_product_attention")
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
    @replaces(name)
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


@replaces("_upsample_bilinear2d_aa.vec", "_upsample_bicubic2d_aa.vec")
def _resize_antialiased(x, output_size, align_corners, scale_factors=None):
    """PyTorch's coordinates use the scales, ONNX's the sizes."""
    if not scale_factors:
        return NotImplemented
    whole = all(isinstance(size, int) and float(size * scale).is_integer()
                for size, scale in zip(x.shape[2:], scale_factors))
    return NotImplemented if whole else REFUSED


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


@replaces("scatter.src")
def _scatter(x, dim, index, src):
    return NotImplemented if _fits(src, index) else \
        aten.scatter.src(x, dim, index, _fitted(src, index))


@replaces("scatter_add")
def _scatter_add(x, dim, index, src):
    return NotImplemented if _fits(src, index) else \
        aten.scatter_add.default(x, dim, index, _fitted(src, index))


@replaces("scatter.reduce", "scatter.value_reduce")
def _scatter_by_name(x, dim, index, src, *, reduce):
    values = _fitted(src, index) if isinstance(src, torch.Tensor) else \
        torch.full(index.shape, src, dtype=x.dtype, device=x.device)
    return torch.scatter_reduce(
        x, dim, index, values, {"add": "sum", "multiply": "prod"}[reduce])


@replaces("scatter_reduce.two")
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


@replaces("index_reduce")
def _index_reduce(x, dim, index, source, reduce, *, include_self=True):
    shape = [1] * x.dim()
    shape[dim] = -1
    return torch.scatter_reduce(x, dim, index.reshape(shape).expand_as(source),
                                source, reduce, include_self=include_self)
