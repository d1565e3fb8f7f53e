"""Llama-shaped models in PyTorch, compiled and replayed as a CUDA graph.

A step writes one token for each sequence as gpt-fast does: caches of a fixed
size are written at a position that lies on the device, and attention masks what
lies beyond. The graph reads the token that the step before it chose. int8 has a
scale for each row of a weight, int4 for each 64 of its numbers, by PyTorch's own
kernel.

Steps and prompts are timed by the host's clock, as frit's are: from tokens on
the host to tokens or logits on the host.
"""
import dataclasses
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

GROUP = 64  # weights of int4 with a scale and a zero point
WARM_PROMPTS = 2


@dataclasses.dataclass
class Shape:
    width: int
    heads: int
    pairs: int  # heads of keys and values
    inner: int
    layers: int
    vocabulary: int = 128256

    @property
    def head(self) -> int:
        return self.width // self.heads

    def weights(self, layers: int) -> int:
        """Those that a step reads: not the embedding's."""
        attention = self.width * (2 * self.width + 2 * self.pairs * self.head)
        return (layers * (attention + 3 * self.width * self.inner)
                + self.width * self.vocabulary)


SHAPES = {"llama-1b": Shape(2048, 32, 8, 8192, 16), "llama-8b": Shape(4096, 32, 8, 14336, 32)}


def weight(inputs: int, outputs: int) -> torch.Tensor:
    return (torch.randn(outputs, inputs, device="cuda") / inputs ** 0.5).bfloat16()


class Bf16(nn.Module):
    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.register_buffer("weight", weight(inputs, outputs))

    def forward(self, x):
        return F.linear(x, self.weight)


class Int8(nn.Module):
    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        value = weight(inputs, outputs).float()
        scale = value.abs().amax(1) / 127
        self.register_buffer("codes", (value / scale[:, None]).round().char())
        self.register_buffer("scale", scale.bfloat16())

    def forward(self, x):
        return F.linear(x, self.codes.to(x.dtype)) * self.scale


class Int4(nn.Module):
    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        codes = torch.randint(0, 256, (outputs, inputs // 2), dtype=torch.uint8, device="cuda")
        self.register_buffer("codes", torch.ops.aten._convert_weight_to_int4pack(codes, 8))
        scales = torch.rand(inputs // GROUP, outputs, 2, device="cuda") * 1e-2
        self.register_buffer("scales", scales.bfloat16())

    def forward(self, x):
        flat = torch.ops.aten._weight_int4pack_mm(x.flatten(0, -2), self.codes, GROUP, self.scales)
        return flat.unflatten(0, x.shape[:-1])


LINEAR = {"bf16": Bf16, "int8": Int8, "int4": Int4}


def rotate(x, cosine, sine):
    left, right = x.chunk(2, -1)
    return x * cosine + torch.cat([-right, left], -1) * sine


class Layer(nn.Module):
    def __init__(self, shape: Shape, linear, batch: int, capacity: int):
        super().__init__()
        self.shape = shape
        width, head = shape.width, shape.head
        self.qkv = linear(width, width + 2 * shape.pairs * head)
        self.out = linear(width, width)
        self.gate_up = linear(width, 2 * shape.inner)
        self.down = linear(shape.inner, width)
        self.norms = nn.ModuleList(nn.RMSNorm(width, device="cuda", dtype=torch.bfloat16)
                                   for _ in range(2))
        for name in ("keys", "values"):
            size = batch, shape.pairs, capacity, head
            self.register_buffer(name, torch.randn(size, device="cuda").bfloat16())

    def forward(self, x, place, rotation, mask):
        shape = self.shape
        heads = self.qkv(self.norms[0](x)).unflatten(-1, (-1, shape.head)).transpose(1, 2)
        q, k, v = heads.split([shape.heads, shape.pairs, shape.pairs], 1)
        self.keys.index_copy_(2, place, rotate(k, *rotation))
        self.values.index_copy_(2, place, v)
        mixed = F.scaled_dot_product_attention(rotate(q, *rotation), self.keys, self.values,
                                               attn_mask=mask, enable_gqa=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        gate, up = self.gate_up(self.norms[1](x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Llama(nn.Module):
    def __init__(self, shape: Shape, layers: int, weights: str, batch: int, capacity: int):
        super().__init__()
        linear = LINEAR[weights]
        self.embedding = nn.Embedding(shape.vocabulary, shape.width, device="cuda",
                                      dtype=torch.bfloat16)
        self.layers = nn.ModuleList(Layer(shape, linear, batch, capacity) for _ in range(layers))
        self.norm = nn.RMSNorm(shape.width, device="cuda", dtype=torch.bfloat16)
        self.head = linear(shape.width, shape.vocabulary)
        powers = torch.arange(0, shape.head, 2, device="cuda") / shape.head
        angles = torch.arange(capacity, device="cuda")[:, None] * 500000.0 ** -powers
        angles = torch.cat([angles, angles], -1)
        self.register_buffer("rotations", torch.stack([angles.cos(), angles.sin()]).bfloat16())
        seen = torch.ones(capacity, capacity, dtype=torch.bool, device="cuda").tril()
        self.register_buffer("seen", seen)

    def forward(self, tokens, place):
        x = self.embedding(tokens)
        rotation, mask = self.rotations[:, place], self.seen[place][None, None]
        for layer in self.layers:
            x = layer(x, place, rotation, mask)
        return self.head(self.norm(x[:, -1]))


class Step(nn.Module):
    """Appends the next token of each sequence to `written`."""

    def __init__(self, llama: Llama):
        super().__init__()
        self.llama = llama

    def forward(self, written, place):
        logits = self.llama(written.index_select(1, place), place)
        place.add_(1)
        written.index_copy_(1, place, logits.argmax(-1, keepdim=True))


class Prompt(nn.Module):
    """Returns the logits after the last token, as frit_session_prefill does."""

    def __init__(self, llama: Llama):
        super().__init__()
        self.llama = llama

    def forward(self, tokens, place):
        return self.llama(tokens, place).float()


def time_events(call: Callable[[], object], runs: int = 100) -> float:
    """Returns the middle of the times between two events around a call, ms."""
    for _ in range(5):
        call()
    times = []
    for _ in range(runs):
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        call()
        after.record()
        after.synchronize()
        times.append(before.elapsed_time(after))
    return statistics.median(times)


def copy_rate() -> float:
    """Returns the bytes that a copy of 1 GiB reads and writes in a second."""
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * source.numel() / time_events(lambda: target.copy_(source), 30) * 1e3


def time_host(call: Callable[[], object], calls: int, steps: int = 1,
              prepare: Callable[[], object] = lambda: None) -> list[float]:
    """Returns what a step of each of several calls takes, ms by the host's clock.

    `call` runs `steps` of them and waits; `prepare` runs before it, untimed."""
    times = []
    for _ in range(calls):
        prepare()
        before = time.perf_counter()
        call()
        times.append((time.perf_counter() - before) / steps * 1e3)
    return times


@torch.no_grad()
def captured(model: nn.Module, *inputs: torch.Tensor) -> tuple[torch.cuda.CUDAGraph, object]:
    """Returns a graph of a compiled model, and the tensor that it writes."""
    torch._dynamo.reset()
    compiled = torch.compile(model.eval(), fullgraph=True)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            compiled(*inputs)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = compiled(*inputs)
    return graph, result


def step(shape: Shape, layers: int, weights: str, batch: int, context: int, room: int,
         runs: int, steps: int) -> list[float]:
    """Returns what a step takes after `context` tokens, ms, of each of `runs` times `steps`."""
    model = Step(Llama(shape, layers, weights, batch, context + room))
    written = torch.randint(0, shape.vocabulary, (batch, context + room + 1), device="cuda")
    place = torch.tensor([context], device="cuda")
    graph, _ = captured(model, written, place)
    place.fill_(context)

    def run(count: int = steps) -> torch.Tensor:
        for _ in range(count):
            graph.replay()
        return written.cpu()

    run(20)
    return time_host(run, runs, steps)


def prompt(shape: Shape, layers: int, weights: str, count: int, runs: int) -> list[float]:
    """Returns what each of `runs` prompts of `count` tokens takes in empty caches, ms."""
    model = Prompt(Llama(shape, layers, weights, 1, count))
    given = torch.randint(0, shape.vocabulary, (1, count))
    tokens = given.cuda()
    graph, logits = captured(model, tokens, torch.arange(count, device="cuda"))
    result = torch.empty(logits.shape, pin_memory=True)

    def run() -> None:
        tokens.copy_(given)
        graph.replay()
        result.copy_(logits)

    time_host(run, WARM_PROMPTS)
    return time_host(run, runs)
