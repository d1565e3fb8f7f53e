"""Holds torch.compile(backend="frit") to eager PyTorch where PyTorch's ONNX exporter
would write another function.

    torch_operators.py DEVICE
"""
import math

import torch
import torch.nn.functional as F
from torch import nn

import frit._graphs
import frit._replacements
from torch_support import DEVICE, compiled, fails, flat, run_tests, told

R, T, inf, nan = torch.randn, torch.tensor, math.inf, math.nan
PLACES = T([0, 0, 2, 3, 3])
LABELS = T([0, 1, 2, 2])
ROWS = T([[1, 0, 0], [0, 0, 0], [1, 1, 1]]).bool()


def hold(*cases, falls=False, **options):
    """Compiles functions as one graph. They must give eager PyTorch's results, by
    frit unless it `falls`."""
    functions = [f for f, *_ in cases]
    inputs = [[t.to(DEVICE) for t in tensors] for _, *tensors in cases]

    def together(*given):
        left, made = [*given], []
        for function, tensors in zip(functions, inputs):
            taken, left = left[:len(tensors)], left[len(tensors):]
            made += flat(function(*taken))
        return made

    given = [t for tensors in inputs for t in tensors]
    results = []
    with torch.no_grad():
        wanted = together(*[t.clone() for t in given])
        fast = compiled(together, **options)
        reasons = told(lambda: results.extend(fast(*given)))
    assert bool(reasons) == falls, reasons
    for place, (a, b) in enumerate(zip(wanted, results)):
        assert a.dtype == b.dtype and a.shape == b.shape, (
            place, a.dtype, b.dtype, a.shape, b.shape)
        close = torch.allclose(a.double(), b.double(), 1e-4, 1e-5, True) if \
            a.is_floating_point() and a.dtype.itemsize > 2 else \
            torch.allclose(a.double(), b.double(), 2e-2, 2e-2, True)
        assert close, (place, a, b)
    return reasons


def right(*cases):
    """Holds graphs that are right even if no result is checked."""
    hold(*cases, check=False)


def test_pools():
    pools = [(lambda x, ceil=ceil, pad=pad: F.avg_pool2d(
        x, 3, 2, pad, ceil_mode=ceil, divisor_override=5), R(1, 2, 6, 7))
        for ceil in (False, True) for pad in (0, 1)]
    right(*pools,
          (lambda x: F.avg_pool3d(x, 2, divisor_override=3), R(1, 2, 4, 4, 4)),
          (lambda x: F.avg_pool2d(x, (3, 2), ceil_mode=True), R(1, 2, 6, 7)))


def test_scatter():
    reduced = [
        (lambda x, i, s, how=how, own=own: x.scatter_reduce(
            0, i, s, how, include_self=own), R(5), PLACES, R(5))
        for how in ("sum", "prod", "mean", "amax", "amin") for own in (False, True)]
    few = T([[0, 2], [1, 4]])
    right(*reduced,
          (lambda x, i, s: x.scatter_reduce(0, i, s, "mean"),
           T([1, 2, 3, -4, 5]), PLACES, T([2, 5, -7, 1, 3])),
          (lambda x, i, s: x.index_reduce(0, i, s, "mean"), R(5, 2), PLACES,
           R(5, 2)),
          (lambda x, i, s: (x.scatter(1, i, s), x.scatter_add(1, i, s),
                            x.scatter_reduce(1, i, s, "mean"),
                            x.scatter(1, i, s, reduce="multiply")),
           R(3, 5), few, R(3, 4)))


def test_losses():
    weight = T([.2, .5, .9])
    probabilities = R(4, 3).softmax(1)
    right((lambda x, y, w: [F.cross_entropy(x, y, v, ignore_index=skip,
                                            label_smoothing=.1, reduction=how)
                            for v in (None, w) for skip in (1, -100)
                            for how in ("mean", "sum", "none")],
           R(4, 3), LABELS, weight),
          (lambda x, y, w: (F.cross_entropy(x, y),
                            F.cross_entropy(x, y, w, label_smoothing=.2),
                            F.cross_entropy(x, y, reduction="none")),
           R(4, 3), probabilities, weight),
          (lambda x, y: F.cross_entropy(x, y, label_smoothing=.3),
           R(2, 3, 4), torch.randint(0, 3, (2, 4))),
          (lambda x, y, w: (
              F.binary_cross_entropy_with_logits(x, y),
              F.binary_cross_entropy_with_logits(x, y, w, pos_weight=w)),
           T([-200., 200., .3]), T([0., 0., 1.]), weight),
          (lambda x: F.logsigmoid(x), T([-200., -1., 0., 200.])))


def test_types():
    """Results have the types of eager PyTorch's."""
    for dtype in torch.float16, torch.bfloat16:
        right((lambda x: (x.sum(), x.sum(1), x.cumsum(0), x.prod(1), x.mean(),
                          (x.sum(1) * 2).exp(), F.mse_loss(x, x * 2),
                          (x @ x.T).sum(), x.norm(), x.var(1), x.amax()),
               R(3, 4).to(dtype)))
    right((lambda x: (x.mean(dtype=torch.float64), x.sum(dtype=torch.float64)),
           T([1e8, 1, -1e8])),
          (lambda x: (x.mean(0, dtype=torch.float32), x.sum(0), x.cumsum(0),
                      x.prod(1)), T([[1, 2], [2, 5]])),
          (lambda x: (x >> 1, x << 2, x // 3, ~x),
           T([5, 250, 255], dtype=torch.uint8)))


def test_norms():
    """Norms of 16 bits may have parameters in f32, as under autocast."""
    s, b, m, v = R(4), R(4), R(4), torch.rand(4) + 0.5
    w = R(4, 4, 1, 1)
    for dtype in torch.float16, torch.bfloat16:
        x = R(2, 4, 5, 6).to(dtype)
        hold((lambda x, w, s, b, m, v: (
            F.batch_norm(F.conv2d(x, w), m, v, s, b),
            F.batch_norm(x, m, v, s, b),
            F.batch_norm(F.linear(x[0, 0, :, :4], w[:, :, 0, 0]), m, v, s, b)),
            x, w.to(dtype), s, b, m, v),
            (lambda x, s, b: F.instance_norm(x, None, None, s, b), x, s, b))
    with torch.autocast(DEVICE.type, torch.bfloat16):
        hold((lambda x, w, s, b, m, v: (
            F.batch_norm(F.conv2d(x, w), m, v, s, b), F.group_norm(x, 2, s, b),
            F.instance_norm(F.conv2d(x, w), None, None, s, b)),
            R(2, 4, 5, 6), w, s, b, m, v))
    # The exporter gives a convolution of volumes without a bias one that is none.
    hold((lambda x, w: F.conv3d(x, w, padding=1, groups=2), R(2, 4, 5, 6, 3),
          R(6, 2, 3, 3, 3)))


def test_elements():
    a = T([1., .9, -1., 5., -5., 0., 7.5, -1e-8])
    b = T([.1, .3, .3, -2., 2., 1., -3., 1.])
    right((lambda a, b: (torch.div(a, b, rounding_mode="floor"), a // b, a // 3,
                         torch.div(a, b, rounding_mode="trunc"), a % b,
                         a % -3, torch.remainder(5, b), torch.fmod(a, b)), a, b),
          (lambda a, b: (a // b, a // 3, a % b,
                         torch.div(a, b, rounding_mode="trunc"),
                         torch.div(a, 7, rounding_mode="trunc")),
           T([2**53 + 1, -2**53 - 1, 7, -7]), T([3, 3, -3, 2])),
          (lambda y, x: (torch.atan2(y, x), torch.signbit(x), x.sign()),
           T([0., 0., -0., 0., 1., -1., -0., 2., inf, nan, -3.]),
           T([-1., 1., -1., -0., 0., 0., 0., -3., -inf, 1., nan])),
          (lambda a, b: (torch.logaddexp(a, b), torch.logaddexp2(a, b)),
           T([-1e4, 200., 5., -inf, inf]), T([-1e4, 200., 3., -inf, 1.])),
          (lambda a, b: (torch.xlogy(a, b), torch.xlogy(a, 0.)),
           T([0., 0., 1., nan, 2.]), T([0., nan, 2., 1., 3.])),
          (lambda x: torch.ops.aten.elu(x, 1.5, 2., .5), R(7)),
          (lambda x: x.sort(dim=0, stable=True), T([3, 1, 3, 1, 2, 1])))


def test_products():
    """A term with factor 0 does not count, even if it is NaN."""
    a, b, c = R(2, 3, 5), R(2, 5, 4), torch.full((3, 4), nan)
    right((lambda c, a, b: (
        torch.baddbmm(c, a, b, beta=0), torch.addbmm(c, a, b, beta=0, alpha=2),
        torch.addmm(c, a[0], b[0], beta=0), torch.addmv(
            c[:, 0], a[0], b[0, :, 0], beta=0),
        torch.addr(c, a[0, :, 0], b[0, 0], beta=0)), c, a, b),
        (lambda c, a, b: (torch.addmm(c, a[0], b[0], beta=.5, alpha=3),
                          torch.baddbmm(c, a, b, beta=2)), R(3, 4), a, b))


def test_attention():
    """A query whose keys are all masked attends to nothing."""
    q = R(1, 2, 3, 8)
    mask = torch.zeros(3, 3).masked_fill(~ROWS, -inf)
    attend = F.scaled_dot_product_attention
    right((lambda q, m, f: (attend(q, q, q, m), attend(q, q, q, f, scale=.3),
                            attend(q[0], q[0], q[0], m),
                            attend(q[0], q[0], q[0], is_causal=True)),
           q, ROWS, mask),
          (lambda q, k, m: attend(q, k, k, m, enable_gqa=True),
           R(1, 4, 3, 8), R(1, 2, 3, 8), ROWS))


def test_open_sizes():
    """The same holds for graphs with open sizes."""
    mask = torch.ones(3, 3, dtype=torch.bool, device=DEVICE)
    mask[1] = False
    q = R(5, 2, 3, 8, device=DEVICE)
    torch._dynamo.mark_dynamic(q, 0, min=2, max=8)

    def function(q, m):
        y = F.scaled_dot_product_attention(q, q, q, attn_mask=m)
        return torch.atan2(y, q), y.half().sum(1), F.avg_pool2d(
            y, 2, divisor_override=3)

    fast = compiled(function, check=False)
    with torch.no_grad():
        for batch in 5, 3:
            results = []
            assert told(lambda: results.extend(fast(q[:batch], mask))) == []
            for a, b in zip(function(q[:batch], mask), results):
                assert a.dtype == b.dtype and torch.allclose(a, b, 1e-3, 1e-3)


def test_refused():
    """PyTorch runs what no other operators stand for."""
    reason, = hold((lambda x: x.logcumsumexp(0), T([-1e4, 1., 500., 3.])),
                   falls=True)
    assert reason == ("a graph runs in PyTorch: PyTorch exports 'aten.logcumsumexp."
                      "default' to ONNX as another function"), reason
    hold((lambda x: F.interpolate(x, scale_factor=.6, mode="bilinear",
                                  antialias=True), R(1, 2, 7, 9)), falls=True)


def test_export():
    """Exported models are corrected, too."""
    class Model(nn.Module):
        def forward(self, x, y):
            return F.avg_pool1d(torch.atan2(x, y), 2), x.half().sum(1)

    batch = torch.export.Dim("batch")
    x, y = -torch.ones(3, 4), torch.zeros(3, 4)
    module = frit.torch.export(Model(), (x, y), march="x86-64-v3", dynamic_shapes=(
        {0: batch}, {0: batch}), shape={"batch": range(1, 9)})
    for a, b in zip(module(x, y), Model()(x, y)):
        assert a.dtype == b.dtype and torch.allclose(a, b), (a, b)

    class Refused(nn.Module):
        def forward(self, x):
            return x.logcumsumexp(0)

    fails(frit.Error, "'aten.logcumsumexp.default' to ONNX as another function; "
          "leave it out", lambda: frit.torch.export(Refused(), (x,)))


def test_checked():
    """The first results are compared with PyTorch's."""
    table = dict(frit._replacements.TABLE)
    cast = frit._graphs._cast_results
    divided = (lambda x: F.avg_pool2d(x + 1, 2, divisor_override=5), R(1, 1, 4, 4))
    summed = (lambda x: x.sum(), torch.ones(4).half())
    signs = (lambda x: torch.signbit(x * 1), T([-0., 0., -1.]))
    try:
        frit._replacements.TABLE.clear()
        frit._graphs._cast_results = lambda *_: None
        reason, = hold(divided, falls=True)
        assert reason.startswith("a graph runs in PyTorch: 4 of 4 elements of its "
                                 "result 0 would be others, such as "), reason
        assert "options={'check': False}" in reason, reason
        assert "1 of 3 elements" in hold(signs, falls=True)[0]
        reason, = hold(summed, falls=True)
        assert reason.endswith("its result 0 would be torch.float32 of one element "
                               "instead of torch.float16 of one element"), reason
        # Types are looked at even so.
        assert hold(summed, falls=True, check=False) == [reason]
        x = divided[1].to(DEVICE)
        fast = compiled(divided[0], check=False)
        with torch.no_grad():
            assert told(lambda: fast(x)) == []
            assert not torch.allclose(fast(x), divided[0](x))
    finally:
        frit._replacements.TABLE.update(table)
        frit._graphs._cast_results = cast
    # It takes roundings, and results that are nothing but roundings.
    for dtype in torch.float32, torch.float16, torch.bfloat16:
        x = R(8, 64).to(dtype)
        hold((lambda x: (x @ x.T) * 3, x))
    hold((lambda x: x - x.mean(1, keepdim=True), torch.full((4, 7), 3.3)))


run_tests(globals())
