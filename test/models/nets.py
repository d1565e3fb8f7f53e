"""Building blocks of the zoo's models, as their authors write them in PyTorch."""
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torchvision.models import ResNet
from torchvision.models.resnet import Bottleneck


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, causal: bool):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        heads = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                 for t in self.qkv(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(*heads, is_causal=self.causal)
        return self.out(y.transpose(1, 2).flatten(2))


def mlp(width: int, gelu: str) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(gelu),
                         nn.Linear(4 * width, width))


class GptBlock(nn.Module):
    """Normalises before each half, as GPT-2 and GPT-3 do."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal=True)
        self.mlp = mlp(width, "tanh")

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class BertBlock(nn.Module):
    """Normalises after each half, as the first Transformer did."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=1e-12)
        self.norm2 = nn.LayerNorm(width, eps=1e-12)
        self.attention = Attention(width, heads, causal=False)
        self.mlp = mlp(width, "none")

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


class Gpt(nn.Module):
    """A decoder whose output layer is its token table."""

    def __init__(self, layers: int, width: int, heads: int, vocab: int,
                 context: int):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.Sequential(
            *(GptBlock(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids: Tensor) -> Tensor:
        at = torch.arange(ids.shape[1], device=ids.device)
        x = self.blocks(self.tokens(ids) + self.positions(at))
        return F.linear(self.norm(x), self.tokens.weight)


class Bert(nn.Module):
    """An encoder up to its last hidden state; one segment, nothing masked."""

    def __init__(self, layers: int, width: int, heads: int, vocab: int,
                 context: int):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.positions = nn.Embedding(context, width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.blocks = nn.Sequential(
            *(BertBlock(width, heads) for _ in range(layers)))

    def forward(self, ids: Tensor) -> Tensor:
        at = torch.arange(ids.shape[1], device=ids.device)
        first = torch.zeros_like(ids)
        x = self.tokens(ids) + self.positions(at) + self.segments(first)
        return self.blocks(self.norm(x))


class RmsNorm(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))

    def forward(self, x: Tensor) -> Tensor:
        square = x.pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(square + 1e-6))


class LlamaAttention(nn.Module):
    """Groups of heads share keys and values; rotary embedding of queries and
    keys."""

    def __init__(self, width: int, heads: int, groups: int):
        super().__init__()
        self.size, self.sharing = width // heads, heads // groups
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, groups * self.size, bias=False)
        self.v = nn.Linear(width, groups * self.size, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def turn(self, x: Tensor) -> Tensor:
        at = torch.arange(x.shape[2], device=x.device)
        half = torch.arange(0, self.size, 2, device=x.device) / self.size
        angles = (at[:, None] * 10000**-half).repeat(1, 2)
        a, b = x.chunk(2, dim=-1)
        return x * angles.cos() + torch.cat((-b, a), dim=-1) * angles.sin()

    def forward(self, x: Tensor, sees: Tensor) -> Tensor:
        def heads(y: Tensor) -> Tensor:
            return y.unflatten(-1, (-1, self.size)).transpose(1, 2)

        def shared(y: Tensor) -> Tensor:
            b, h, s, d = y.shape
            y = y[:, :, None].expand(b, h, self.sharing, s, d)
            return y.reshape(b, h * self.sharing, s, d)

        q, k = self.turn(heads(self.q(x))), self.turn(heads(self.k(x)))
        y = F.scaled_dot_product_attention(
            q, shared(k), shared(heads(self.v(x))), attn_mask=sees)
        return self.out(y.transpose(1, 2).flatten(2))


class LlamaBlock(nn.Module):
    def __init__(self, width: int, heads: int, groups: int, inner: int):
        super().__init__()
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)
        self.attention = LlamaAttention(width, heads, groups)
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor, sees: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x), sees)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """A decoder that does not look at padding, tokens of 0."""

    def __init__(self, layers: int, width: int, heads: int, groups: int,
                 inner: int, vocab: int):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, groups, inner)
                                    for _ in range(layers))
        self.norm = RmsNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        at = torch.arange(ids.shape[1], device=ids.device)
        sees = (at <= at[:, None]) & (ids != 0)[:, None, None]
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x, sees)
        return self.head(self.norm(x))


class TinyResNet(ResNet):
    """ResNet-50's blocks, fewer and narrower."""

    def __init__(self):
        super().__init__(Bottleneck, [1, 1, 1, 1], num_classes=10)
        self.inplanes = 8
        self.conv1 = nn.Conv2d(3, 8, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.layer1 = self._make_layer(Bottleneck, 4, 2)
        self.layer2 = self._make_layer(Bottleneck, 8, 1, stride=2)
        self.layer3 = self._make_layer(Bottleneck, 12, 1, stride=2)
        self.layer4 = self._make_layer(Bottleneck, 16, 1, stride=2)
        self.fc = nn.Linear(64, 10)
