"""The roofline of a model: per contraction, the longer of its
arithmetic at the rate of a large matrix product and its traffic at the rate of
a copy (Williams et al., "Roofline", CACM 52(4), 2009). Everything between the
contractions counts as fused away, so no kernel reaches the sum.
"""
import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

SIZES = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2}
DTYPES = {"fp32": torch.float32, "tf32": torch.float32,
          "fp16": torch.float16, "bf16": torch.bfloat16}


class Contractions(TorchFunctionMode):
    """Notes (flops, elements moved) of each one a forward pass calls."""

    def __init__(self):
        super().__init__()
        self.found: list[tuple[float, float]] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name in ("linear", "conv2d"):
            self.product(args[0].numel(), args[1], result.numel())
        elif name == "scaled_dot_product_attention":
            self.attention(*args[:3], kwargs.get("is_causal", False))
        elif name == "multi_head_attention_forward":
            # Called as a whole, with all projections.
            x, heads, qkv, out = args[0], args[4], args[5], args[11]
            length, batch, width = x.shape
            q = x.new_empty(batch, heads, length, width // heads)
            self.product(x.numel(), qkv, 3 * x.numel())
            self.attention(q, q, q, False)
            self.product(x.numel(), out, x.numel())
        return result

    def product(self, inputs: int, weight: Tensor, outputs: int) -> None:
        self.found.append((2 * outputs * weight[0].numel(),
                           inputs + weight.numel() + outputs))

    def attention(self, q: Tensor, k: Tensor, v: Tensor, causal: bool) -> None:
        pairs = math.prod(q.shape[:-1]) * k.shape[-2] // (1 + causal)
        outputs = math.prod(q.shape[:-1]) * v.shape[-1]
        self.found.append((2 * pairs * (q.shape[-1] + v.shape[-1]),
                           q.numel() + k.numel() + v.numel() + outputs))


def contractions(module: nn.Module, x: Tensor) -> list[tuple[float, float]]:
    """Computes shapes only. Gradients are on, because attention without
    them takes a fused path that hides its calls."""
    module = module.to("meta")
    with torch.enable_grad(), Contractions() as mode:
        module(x.to("meta"))
    return mode.found


@dataclass(frozen=True)
class Ceilings:
    """Measured rates of this GPU: bytes and operations per second."""
    copy: float
    product: float

    def floor_ms(self, found: list[tuple[float, float]],
                 precision: str) -> float:
        size = SIZES[precision]
        return 1e3 * sum(max(flops / self.product, moved * size / self.copy)
                         for flops, moved in found)


def _seconds(call, runs: int = 20) -> float:
    """The median of `runs`, after three that warm up."""
    times = []
    for i in range(runs + 3):
        before, after = (torch.cuda.Event(enable_timing=True) for _ in "ba")
        before.record()
        call()
        after.record()
        after.synchronize()
        times.append(before.elapsed_time(after) / 1e3)
    return sorted(times[3:])[runs // 2]


def measure(precision: str) -> Ceilings:
    """A copy of 1 GiB, and PyTorch's product of 8192³ random numbers."""
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    source = torch.randn(1 << 28, device="cuda")
    target = torch.empty_like(source)
    copy = 2 * source.nbytes / _seconds(lambda: target.copy_(source))
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=DTYPES[precision])
            for _ in "ab")
    product = 2 * 8192**3 / _seconds(lambda: torch.mm(a, b))
    return Ceilings(copy, product)
