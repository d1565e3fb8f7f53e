"""Runs graphs that torch.compile(backend="frit") leaves to PyTorch, in part or as
a whole.

    torch_fallback.py DEVICE
"""
import os

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import frit.torch
from torch_support import (DEVICE, OPTIONS, Net, artifacts, compiled, images,
                           run_tests, same, told)


def test_complex():
    """ONNX has no complex numbers at a model's ends."""
    x = images(4).to(torch.complex64)
    reason, = told(lambda: compiled(lambda x: (x * 2).abs())(x))
    assert "takes tensors of torch.complex64" in reason, reason
    reason, = told(lambda: compiled(torch.complex)(images(4), images(4)))
    assert "returns tensors of torch.complex64" in reason, reason


def test_checkpoint():
    """A checkpointed region drops the same elements for its gradients."""
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x):
            return self.last(checkpoint(
                lambda t: nn.functional.dropout(self.first(t), 0.5).tanh(), x,
                use_reentrant=False))

    net = Block().to(DEVICE)
    x = images(4, 8)
    gradients = []
    for run in net, compiled(net):
        torch.manual_seed(1)
        net.zero_grad()
        run(x).sum().backward()
        gradients.append([p.grad.clone() for p in net.parameters()])
    for plain, ours in zip(*gradients):
        torch.testing.assert_close(ours, plain)


def test_falls_back():
    class Random(nn.Module):
        def forward(self, x):
            return x + torch.rand_like(x)

    class Writes(nn.Module):
        def forward(self, x):
            return x.add_(1)

    class Unknown(nn.Module):
        def forward(self, x):
            return torch.special.i0e(x) + torch.special.erfcx(x)

    x = images(4, 4).abs()
    with torch.no_grad():
        assert "draws random numbers" in told(lambda: compiled(Random())(x))[0]
        y = x.clone()
        assert "writes to its inputs" in told(lambda: compiled(Writes())(y))[0]
        assert torch.equal(y, x + 1)
        function = compiled(Unknown())
        reason, = told(lambda: same(function, Unknown(), x))
        assert "PyTorch cannot export 'aten.special_" in reason, reason
        # Once, not at every call.
        assert told(lambda: same(function, Unknown(), x)) == []
        wrong = compiled(nn.ReLU(), march="sm_1")
        assert "sm_1" in told(lambda: same(wrong, nn.ReLU(), x))[0]
    # Graphs that need gradients run in PyTorch.
    net = Net().to(DEVICE).train()
    fast = compiled(net)
    reasons = told(lambda: fast(images(2, 3, 8, 8))[0].sum().backward())
    assert "gradients" in reasons[0] and net.conv.weight.grad is not None


def test_reasons():
    """Each reason is told once, names the operator, and has no colors."""
    x = images(3, 3)

    def reasons(function, **options):
        torch._dynamo.reset()
        fast = torch.compile(function, backend="frit",
                             options={**OPTIONS, **options})
        return told(lambda: same(fast, function, x))

    frit.torch._told.clear()
    for name in "linalg_svdvals", "special_i0e":
        kind, _, short = name.partition("_")
        function = getattr(getattr(torch, kind), short)
        reason, = reasons(lambda x: function(x))
        assert f"PyTorch cannot export 'aten.{name}.default' to ONNX: " \
            in reason and "\x1b" not in reason and len(reason) < 500, reason
        assert reasons(lambda x: function(x) + 1) == []
    # fritc's message is the same for another graph.
    missing = {"options": ["-fkeep-fp32=missing"]}
    reason, = reasons(lambda x: x + 1, **missing)
    assert "cannot read 'missing'" in reason, reason
    assert reasons(lambda x: x + 2, **missing) == []
    # Faults of the machine are not reported as the exporter's.
    for variable, value, text in (
            ("FRIT_CACHE", "/dev/null/cache", "cannot write to the folder of "
             "compiled graphs, '/dev/null/cache': Not a directory"),
            ("PATH", "/nowhere", "fritc is neither beside this Python")):
        before, x = os.environ[variable], images(3, 3)
        try:
            os.environ[variable] = value
            reason, = reasons(lambda x: x + 3)
            assert reason.startswith(f"a graph runs in PyTorch: {text}"), reason
            torch._dynamo.mark_dynamic(x, 0, min=2, max=8)
            reason, = reasons(lambda x: x + 4)
            assert reason.startswith("a graph is compiled for each size anew: "
                                     + text), reason
        finally:
            os.environ[variable] = before


def test_split():
    """PyTorch runs operators that cannot be compiled, and frit what is around
    them."""
    class Around(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.a, self.b = nn.Linear(16, 16), nn.Linear(16, 4)
            self.inner = inner
            self.register_buffer("order", torch.randperm(16))

        def forward(self, x):
            y = torch.relu(self.a(x))
            y = self.inner(y)[:, self.order]
            z = y * torch.tensor([2.0], device=y.device)
            z[:, 0] = 1
            return self.b(z), y

    def integers(y):  # fritc refuses that
        kernel = torch.ones(1, 1, 3, dtype=torch.long, device=y.device)
        found = torch.conv1d((9 * y).long()[:, None], kernel, padding=1)
        return found[:, 0].to(y.dtype)

    start = artifacts()
    for inner, reason in (
            (torch.special.i0e, "cannot export 'aten.special_i0e.default'"),
            (lambda y: torch.linalg.qr(y.T @ y + torch.eye(16, device=y.device)
                                       ).R[:3] + y,
             "cannot export 'aten.linalg_qr.default'"),
            (lambda y: torch.fft.fft(torch.special.i0e(y)).abs(),
             "cannot export 'aten.special_i0e.default'"),
            (integers, "(Conv, opset ")):
        before = artifacts()
        net = Around(inner).to(DEVICE).eval()
        fast = compiled(net)
        told_of, = told(lambda: same(fast, net, images(3, 16)))
        assert told_of.startswith("part of a graph runs in PyTorch: ") and \
            reason in told_of, told_of
        # The first part of some has been compiled before.
        assert artifacts() - before in (1, 2), artifacts() - before
        # Parts look after their parameters.
        with torch.no_grad():
            net.a.weight.mul_(2)
            net.b.bias.add_(1)
            net.order.copy_(net.order.flip(0))
        assert told(lambda: same(fast, net, images(3, 16))) == []
        net.a.weight = nn.Parameter(torch.randn_like(net.a.weight))
        assert told(lambda: same(fast, net, images(3, 16))) == []
    assert artifacts() - start >= 5
    # Random numbers are PyTorch's, and as many.
    net = nn.Sequential(nn.Linear(16, 16), nn.Dropout(), nn.Linear(16, 4))
    net = net.to(DEVICE)
    fast, x = compiled(net), images(3, 16)
    for _ in range(2):
        with torch.no_grad():
            torch.manual_seed(7)
            wanted = net(x)
            torch.manual_seed(7)
            assert torch.allclose(fast(x), wanted, atol=1e-5)
    # Nothing is compiled for the sake of one cheap operator.
    before = artifacts()
    function = lambda x: torch.special.i0e(x) + 1
    reason, = told(lambda: same(compiled(function), function, images(3, 16)))
    assert reason.startswith("a graph runs in PyTorch: ") and \
        artifacts() == before, reason


def test_breaks():
    """A graph break makes two graphs, each of which is compiled."""
    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(16, 16), nn.Linear(16, 4)

        def forward(self, x):
            x = self.a(x)
            if x.sum() > 1e9:
                x = x + 1
            return self.b(x)
    before = artifacts()
    net = Broken().to(DEVICE).eval()
    fast = compiled(net)
    assert told(lambda: same(fast, net, images(2, 16))) == []
    assert artifacts() - before >= 2


class Codes(torch.Tensor):
    """A matrix of codes and a scale for each row, as quantizers make of weights."""

    @staticmethod
    def __new__(cls, codes, scales):
        return torch.Tensor._make_wrapper_subclass(
            cls, codes.shape, dtype=scales.dtype, device=codes.device)

    def __init__(self, codes, scales):
        self.codes, self.scales = codes, scales

    def __tensor_flatten__(self):
        return ["codes", "scales"], None

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(inner["codes"], inner["scales"])

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is nn.functional.linear:
            x, weight, bias = args
            wide = weight.codes.to(x.dtype) * weight.scales[:, None]
            return nn.functional.linear(x, wide, bias)
        return super().__torch_function__(function, types, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, function, types, args, kwargs=None):
        if function is torch.ops.aten.detach.default:
            return cls(args[0].codes, args[0].scales)
        wide = torch.utils._pytree.tree_map_only(
            cls, lambda w: w.codes.to(w.scales.dtype) * w.scales[:, None], args)
        return function(*wide, **(kwargs or {}))


def test_wrapping():
    """Weights of a class of tensors of its own become those that they wrap."""
    def make():
        net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).to(DEVICE)
        for layer in net[0], net[2]:
            scales = layer.weight.detach().abs().amax(1) / 127
            codes = (layer.weight / scales[:, None]).round().to(torch.int8)
            layer.weight = nn.Parameter(Codes(codes, scales), requires_grad=False)
        return net.eval().requires_grad_(False)

    net, other, before = make(), make(), artifacts()
    fast = compiled(net)
    assert told(lambda: same(fast, net, images(4, 8))) == []
    assert told(lambda: same(fast, net, images(4, 8))) == []
    assert artifacts() == before + 1
    net[0].weight = other[0].weight
    same(fast, net, images(4, 8))
    net[2].weight.scales.mul_(2)  # of what is wrapped
    same(fast, net, images(4, 8))
    # Open sizes are PyTorch's.
    reason, = told(lambda: same(fast, net, images(5, 8)))
    assert "open sizes" in reason, reason


run_tests(globals())
