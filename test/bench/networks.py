"""Networks whose training steps are timed: transformers and a U-Net. The other
ones are torchvision's."""
import math

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """A transformer layer: norms before (GPT) or after (BERT) each half."""

    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2)
                   for t in self.qkv(x).split(width, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        kind = "tanh" if self.causal else "none"
        feed = lambda t: self.down(F.gelu(self.up(t), approximate=kind))
        if self.causal:
            x = x + self.attend(self.norm1(x))
            return x + feed(self.norm2(x))
        x = self.norm1(x + self.attend(x))
        return self.norm2(x + feed(x))


class Language(nn.Module):
    """GPT-3 Small or BERT-Large with a masked-language head, without dropout."""

    def __init__(self, layers, heads, width, vocab, context, causal):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads, causal)
                                    for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.dense = None if causal else nn.Linear(width, width)
        self.register_buffer("places", torch.arange(context), persistent=False)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(self.places[:ids.shape[1]])
        for block in self.blocks:
            x = block(x)
        if self.dense is not None:
            x = F.gelu(self.dense(x))
        return F.linear(self.norm(x), self.tokens.weight)


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.weight * wide.to(x.dtype)


class LlamaBlock(nn.Module):
    """Grouped-query attention with rotary positions, and SwiGLU."""

    def __init__(self, width, heads, groups, hidden):
        super().__init__()
        size = width // heads
        self.heads, self.groups = heads, groups
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)
        linear = lambda a, b: nn.Linear(a, b, bias=False)
        self.q, self.out = linear(width, width), linear(width, width)
        self.k, self.v = (linear(width, groups * size) for _ in range(2))
        self.gate, self.up = (linear(width, hidden) for _ in range(2))
        self.down = linear(hidden, width)

    def attend(self, x, cos, sin):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, heads, -1).transpose(1, 2)
                   for t, heads in ((self.q(x), self.heads),
                                    (self.k(x), self.groups),
                                    (self.v(x), self.groups)))

        def rotate(t):
            a, b = t.chunk(2, -1)
            return t * cos + torch.cat((-b, a), -1) * sin

        q, k = rotate(q), rotate(k)
        if torch.onnx.is_in_onnx_export():
            k, v = (t[:, :, None].expand(-1, -1, self.heads // self.groups, -1, -1)
                    .reshape(q.shape) for t in (k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True,
                                               enable_gqa=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x, cos, sin):
        x = x + self.attend(self.norm1(x), cos, sin)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, layers, heads, groups, width, hidden, vocab, context):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, groups, hidden)
                                    for _ in range(layers))
        self.norm, size = RmsNorm(width), width // heads
        self.head = nn.Linear(width, vocab, bias=False)
        angles = torch.outer(torch.arange(context).float(),
                             10000 ** (-torch.arange(0, size, 2) / size))
        angles = torch.cat((angles, angles), -1)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, ids):
        x, length = self.tokens(ids), ids.shape[1]
        cos, sin = self.cos[:length].to(x.dtype), self.sin[:length].to(x.dtype)
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.head(self.norm(x))


class ResBlock(nn.Module):
    """Two convolutions, with the time's embedding between them."""

    def __init__(self, before, after, times):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(32, before), nn.GroupNorm(32, after)
        self.conv1 = nn.Conv2d(before, after, 3, padding=1)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1)
        self.time = nn.Linear(times, after)
        self.skip = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x, time):
        y = self.conv1(F.silu(self.norm1(x)))
        y = y + self.time(time)[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(y)))


class PixelAttention(nn.Module):
    """Self-attention of all pixels, by heads of 32 or 64."""

    def __init__(self, width):
        super().__init__()
        self.heads = max(1, width // 64)
        self.norm = nn.GroupNorm(32, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, width, rows, columns = x.shape
        pixels = self.norm(x).flatten(2).transpose(1, 2)
        q, k, v = (t.view(batch, rows * columns, self.heads, -1).transpose(1, 2)
                   for t in self.qkv(pixels).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v)
        y = self.out(y.transpose(1, 2).reshape(batch, rows * columns, width))
        return x + y.transpose(1, 2).reshape(x.shape)


class UNet(nn.Module):
    """Predicts the noise in latents, as diffusion models do (Dhariwal and
    Nichol, "Diffusion Models Beat GANs on Image Synthesis", arXiv:2105.05233).
    Level i has `width * factors[i]` channels and half the size of the one
    before, the first `size`; levels of a size in `attended` attend."""

    def __init__(self, width, factors, blocks, size, attended, channels=4):
        super().__init__()
        times = 4 * width
        self.time = nn.Sequential(nn.Linear(width, times), nn.SiLU(),
                                  nn.Linear(times, times))
        frequencies = torch.exp(-math.log(10000) * torch.arange(width // 2) /
                                (width // 2))
        self.register_buffer("frequencies", frequencies, persistent=False)
        self.first = nn.Conv2d(channels, width, 3, padding=1)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        now, skips = width, [width]

        def level(before, after):
            attention = PixelAttention(after) if size in attended else nn.Identity()
            return nn.ModuleList([ResBlock(before, after, times), attention])

        for i, factor in enumerate(factors):
            for _ in range(blocks):
                self.down.append(level(now, width * factor))
                now = width * factor
                skips.append(now)
            if i + 1 < len(factors):
                self.down.append(nn.Conv2d(now, now, 3, stride=2, padding=1))
                skips.append(now)
                size //= 2
        self.middle = nn.ModuleList([level(now, now), ResBlock(now, now, times)])
        for i, factor in reversed(list(enumerate(factors))):
            for _ in range(blocks + 1):
                self.up.append(level(now + skips.pop(), width * factor))
                now = width * factor
            if i:
                self.up.append(nn.Conv2d(now, now, 3, padding=1))
                size *= 2
        self.norm = nn.GroupNorm(32, now)
        self.last = nn.Conv2d(now, channels, 3, padding=1)

    def forward(self, x, t):
        angles = t[:, None].float() * self.frequencies
        time = F.silu(self.time(torch.cat((angles.cos(), angles.sin()), -1)))
        x = self.first(x)
        skips = [x]
        for part in self.down:
            if isinstance(part, nn.Conv2d):
                x = part(x)
            else:
                x = part[1](part[0](x, time))
            skips.append(x)
        (block, attention), last = self.middle
        x = last(attention(block(x, time)), time)
        for part in self.up:
            if isinstance(part, nn.Conv2d):
                x = part(F.interpolate(x, scale_factor=2.0, mode="nearest"))
            else:
                x = torch.cat((x, skips.pop()), 1)
                x = part[1](part[0](x, time))
        return self.last(F.silu(self.norm(x)))


class Decoder(nn.Module):
    """A decoder of transformers by the name of its class, as people export it."""
    exporter = "dynamo"

    def __init__(self, name, config, **sizes):
        super().__init__()
        import transformers
        self.model = getattr(transformers, name)(
            getattr(transformers, config)(**sizes, use_cache=False))

    def forward(self, x):
        return self.model(x, return_dict=False, use_cache=False)[0]
