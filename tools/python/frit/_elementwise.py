"""Divisions and elementwise operators that would be exported wrongly."""
from __future__ import annotations

import math
from typing import Any

import torch

from ._replacements import REFUSED, aten, replaces


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


@replaces("floor_divide", "floor_divide.Scalar")
def _floor_divide(a, b):
    x, y = _pair(a, b)
    if x.is_floating_point():
        return _floored(x, y)
    return NotImplemented if isinstance(b, torch.Tensor) and \
        a.dtype == b.dtype else aten.floor_divide.default(x, y)


@replaces("div.Tensor_mode", "div.Scalar_mode")
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


@replaces("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def _remainder(a, b):
    x, y = _pair(a, b)
    if not x.is_floating_point():
        return NotImplemented
    rest = torch.fmod(x, y)
    return torch.where((rest != 0) & ((y < 0) != (rest < 0)), rest + y, rest)


@replaces("__lshift__.Scalar", "__lshift__.Tensor",
           "bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar")
def _shift_left(a, b):
    return _shifted(a, b, aten.bitwise_left_shift.Tensor)


@replaces("__rshift__.Scalar", "__rshift__.Tensor",
           "bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar")
def _shift_right(a, b):
    return _shifted(a, b, aten.bitwise_right_shift.Tensor)


def _shifted(a, b, shift):
    """Shifts small integers as wider ones, and others by a tensor."""
    x, y = _pair(a, b)
    if x.dtype in (torch.uint8, torch.int8, torch.int16):
        return shift(x.int(), y.int()).to(x.dtype)
    is_plain = isinstance(b, torch.Tensor) and a.dtype == b.dtype
    return REFUSED if is_plain and shift.name().startswith("aten::__") else \
        NotImplemented if is_plain else shift(x, y)


#===----------------------------------------------------------------------===#
# Elementwise
#===----------------------------------------------------------------------===#

@replaces("signbit")
def _signbit(x):
    return _is_negative(x)


@replaces("sign", "sgn")
def _sign(x):
    if not x.is_floating_point():
        return NotImplemented
    # Not by sign(x), which this function would replace again.
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


@replaces("elu")
def _elu(x, alpha=1, scale=1, input_scale=1):
    """The exporter drops `scale` where x is positive."""
    if scale == 1 and input_scale == 1:
        return NotImplemented
    return torch.where(x > 0, x, alpha * torch.expm1(x * input_scale)) * scale


@replaces("atan2")
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


@replaces("logaddexp")
def _logaddexp(a, b):
    return _log_of_sum(*_pair(a, b), 1)


@replaces("logaddexp2")
def _logaddexp2(a, b):
    return _log_of_sum(*_pair(a, b), math.log(2))


def _log_of_sum(a, b, unit):
    most = torch.maximum(a, b)
    apart = torch.exp(-(a - b).abs() * unit)
    # Equal infinities are nothing apart.
    return torch.where((a == b) & a.isinf(), a, most + torch.log1p(apart) / unit)


@replaces("xlogy.Tensor", "xlogy.Scalar_Self", "xlogy.Scalar_Other",
           "special_xlogy", "special_xlogy.self_scalar",
           "special_xlogy.other_scalar")
def _xlogy(a, b):
    x, y = _pair(a, b)
    if not x.is_floating_point():
        return NotImplemented
    return torch.where((x == 0) & ~y.isnan(), 0, x * torch.log(y))
