"""Networks that diffusion samplers call: Stable Diffusion 1's U-Net and DiT."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from networks import ResBlock


def waves(t, width):
    """Sinusoidal embedding of times: [batch] to [batch, width]."""
    places = torch.arange(width // 2, device=t.device, dtype=torch.float32)
    angles = t[:, None].float() * torch.exp(-math.log(10000) / (width // 2) * places)
    return torch.cat((angles.cos(), angles.sin()), -1)


class Attention(nn.Module):
    """Of x to `context`, or to itself."""

    def __init__(self, width, heads, context=0, bias=False):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width, bias)
        self.k, self.v = (nn.Linear(context or width, width, bias) for _ in "kv")
        self.out = nn.Linear(width, width)

    def forward(self, x, context=None):
        of = x if context is None else context
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for t in (self.q(x), self.k(of), self.v(of)))
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).flatten(2))


class PixelTransformer(nn.Module):
    """Pixels attend to each other, then to the text, of `context` features."""

    def __init__(self, width, context, heads=8):
        super().__init__()
        self.norm = nn.GroupNorm(32, width, eps=1e-6)
        self.enter, self.leave = (nn.Conv2d(width, width, 1) for _ in "el")
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(width) for _ in "123")
        self.pixels = Attention(width, heads)
        self.text = Attention(width, heads, context)
        self.up, self.down = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def forward(self, image, text):
        x = self.enter(self.norm(image)).flatten(2).transpose(1, 2)
        x = x + self.pixels(self.norm1(x))
        x = x + self.text(self.norm2(x), text)
        value, gate = self.up(self.norm3(x)).chunk(2, -1)
        x = x + self.down(value * F.gelu(gate))
        return image + self.leave(x.transpose(1, 2).reshape(image.shape))


class TextUNet(nn.Module):
    """The U-Net of Stable Diffusion 1 (Rombach et al., "High-Resolution Image
    Synthesis with Latent Diffusion Models", arXiv:2112.10752)."""

    def __init__(self, width=320, factors=(1, 2, 4, 4), context=768, channels=4):
        super().__init__()
        self.width, times = width, 4 * width
        self.time = nn.Sequential(nn.Linear(width, times), nn.SiLU(),
                                  nn.Linear(times, times))
        self.first = nn.Conv2d(channels, width, 3, padding=1)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        now, skips = width, [width]

        def level(before, after, attends):
            parts = [ResBlock(before, after, times)]
            return nn.ModuleList(parts + [PixelTransformer(after, context)] * attends)

        last = len(factors) - 1
        for i, factor in enumerate(factors):
            for _ in range(2):
                self.down.append(level(now, width * factor, i != last))
                now = width * factor
                skips.append(now)
            if i != last:
                self.down.append(nn.Conv2d(now, now, 3, stride=2, padding=1))
                skips.append(now)
        self.middle = nn.ModuleList([*level(now, now, True), ResBlock(now, now, times)])
        for i, factor in reversed(list(enumerate(factors))):
            for _ in range(3):
                self.up.append(level(now + skips.pop(), width * factor, i != last))
                now = width * factor
            if i:
                self.up.append(nn.Conv2d(now, now, 3, padding=1))
        self.norm = nn.GroupNorm(32, now)
        self.last = nn.Conv2d(now, channels, 3, padding=1)

    def forward(self, x, t, text):
        time = F.silu(self.time(waves(t, self.width).to(x.dtype)))

        def run(parts, x):
            for part in parts:
                x = part(x, time if isinstance(part, ResBlock) else text)
            return x

        x = self.first(x)
        skips = [x]
        for part in self.down:
            x = part(x) if isinstance(part, nn.Conv2d) else run(part, x)
            skips.append(x)
        x = run(self.middle, x)
        for part in self.up:
            if isinstance(part, nn.Conv2d):
                x = part(F.interpolate(x, scale_factor=2.0, mode="nearest"))
            else:
                x = run(part, torch.cat((x, skips.pop()), 1))
        return self.last(F.silu(self.norm(x)))


class DitBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.modulation = nn.Linear(width, 6 * width)
        self.norm1, self.norm2 = (nn.LayerNorm(width, eps=1e-6, elementwise_affine=False)
                                  for _ in "12")
        self.attention = Attention(width, heads, bias=True)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, condition):
        shift1, scale1, gate1, shift2, scale2, gate2 = (
            self.modulation(condition)[:, None].chunk(6, -1))
        x = x + gate1 * self.attention(self.norm1(x) * (1 + scale1) + shift1)
        y = self.up(self.norm2(x) * (1 + scale2) + shift2)
        return x + gate2 * self.down(F.gelu(y, approximate="tanh"))


class Dit(nn.Module):
    """DiT (Peebles and Xie, "Scalable Diffusion Models with Transformers",
    arXiv:2212.09748): noise and variance of latents, by their class."""

    def __init__(self, layers=28, width=1152, heads=16, patch=2, size=32, channels=4,
                 classes=1000):
        super().__init__()
        self.patch = patch
        self.first = nn.Conv2d(channels, width, patch, stride=patch)
        self.places = nn.Parameter(torch.zeros(1, (size // patch) ** 2, width))
        self.time = nn.Sequential(nn.Linear(256, width), nn.SiLU(),
                                  nn.Linear(width, width))
        self.labels = nn.Embedding(classes + 1, width)
        self.blocks = nn.ModuleList(DitBlock(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width, eps=1e-6, elementwise_affine=False)
        self.modulation = nn.Linear(width, 2 * width)
        self.last = nn.Linear(width, patch * patch * 2 * channels)

    def forward(self, x, t, label):
        batch, _, rows, columns = x.shape
        condition = self.time(waves(t, 256).to(x.dtype)) + self.labels(label)
        condition = F.silu(condition)
        x = self.first(x).flatten(2).transpose(1, 2) + self.places
        for block in self.blocks:
            x = block(x, condition)
        shift, scale = self.modulation(condition)[:, None].chunk(2, -1)
        x = self.last(self.norm(x) * (1 + scale) + shift)
        x = x.view(batch, rows // self.patch, columns // self.patch, self.patch, self.patch, -1)
        return x.permute(0, 5, 1, 3, 2, 4).reshape(batch, -1, rows, columns)
