"""Runs models through torch.compile(backend="frit") and frit.torch.export.

    torch_backend.py DEVICE
"""
import gc
import threading

import torch
from torch import nn

import frit
import frit.torch
from torch_support import (DEVICE, OPTIONS, Net, artifacts, compiled, fails, images,
                           run_tests, same, told)


def test_compiles():
    net = Net().to(DEVICE).eval()
    fast = compiled(net)
    x = images(2, 3, 8, 8)
    assert told(lambda: same(fast, net, x)) == []
    assert artifacts() == 1
    for _ in range(3):
        same(fast, net, images(2, 3, 8, 8))
    # Memory that the runtime does not take as it is.
    same(fast, net, images(2, 8, 8, 3).permute(0, 3, 1, 2))
    same(fast, net, images(2 * 3 * 64 + 1)[1:].view(2, 3, 8, 8))
    # Other sizes, by PyTorch's symbols from the second on.
    for batch in (3, 5, 7, 5):
        assert told(lambda: same(fast, net, images(batch, 3, 8, 8))) == []
    # Another process finds the compiled graph, and so does another module.
    before = artifacts()
    other = Net().to(DEVICE).eval()
    other.order.copy_(net.order)
    with torch.no_grad():
        other.scale.copy_(net.scale)
    same(compiled(other), other, x)
    assert artifacts() == before


def test_parameters():
    """Parameters that change are the next call's, however they do."""
    net = Net().to(DEVICE).eval()
    fast = compiled(net)
    x = images(2, 3, 8, 8)
    same(fast, net, x)
    with torch.no_grad():
        net.fc.bias += 1  # in place
        same(fast, net, x)
        net.conv.weight.mul_(2)
        same(fast, net, x)
        net.norm.running_mean.add_(0.1)
        same(fast, net, x)
        net.scale.mul_(2)  # a scalar, which is in the code
        same(fast, net, x)
        net.order.copy_(net.order.flip(0))
        same(fast, net, x)
    net.fc.bias.data = torch.randn_like(net.fc.bias)  # other memory
    same(fast, net, x)
    net.scale.data = net.scale.data * 2
    same(fast, net, x)
    net.fc.weight = nn.Parameter(torch.randn_like(net.fc.weight))
    same(fast, net, x)
    net.load_state_dict(Net().to(DEVICE).state_dict())
    same(fast, net, x)


def test_refresh():
    """Writes that PyTorch does not count are seen after `refresh`."""
    graphs = [*frit.torch._graphs]
    for options in {}, {"precision": "fp16"}, {"freeze": True}:
        net = Net().to(DEVICE).eval()
        fast, x = compiled(net, **options), images(2, 3, 8, 8)
        tolerance = 1e-2 if "precision" in options else 1e-5
        same(fast, net, x, tolerance=tolerance)
        graph, = [g for g in frit.torch._graphs
                  if g.compiled and g not in graphs]
        graphs.append(graph)
        first, = graph.compiled.values()
        writes = (lambda: net.fc.weight.data.mul_(2),
                  lambda: net.conv.weight.data.neg_(),
                  lambda: net.fc.bias.data.copy_(torch.arange(10)),
                  lambda: net.scale.data.mul_(2),
                  lambda: net.order.data.copy_(net.order.flip(0)))
        for write in writes:
            write()
            frit.torch.refresh()
            assert told(lambda: same(fast, net, x, tolerance=tolerance)) == []
            if write is writes[2] and "freeze" not in options:
                assert [first] == [*graph.compiled.values()]


def test_frozen():
    """With "freeze", nothing is asked about parameters after a call."""
    net = Net().to(DEVICE).eval()
    fast = compiled(net, freeze=True, guard_filter_fn=torch.compiler
                    .skip_guard_on_all_nn_modules_unsafe)
    for batch in (2, 2, 3, 5, 5):
        assert told(lambda: same(fast, net, images(batch, 3, 8, 8))) == []
    seen, frit._compiled._states = frit._compiled._states, None
    try:
        assert told(lambda: same(fast, net, images(5, 3, 8, 8))) == []
    finally:
        frit._compiled._states = seen


def test_few_guards():
    """With guards of inputs alone, and parameters in PyTorch's graph."""
    net = Net().to(DEVICE).eval()
    for freeze in False, True:
        for inside in False, True:
            torch._dynamo.reset()
            with torch._dynamo.config.patch(install_free_tensors=inside):
                fast = torch.compile(
                    lambda x: net(x), backend="frit", dynamic=False,
                    options={**OPTIONS, "freeze": freeze,
                             "guard_filter_fn": frit.torch.inputs_only})
                for batch in (2, 3, 2):
                    assert told(lambda: same(fast, net,
                                             images(batch, 3, 8, 8))) == []
                # Inputs are looked at.
                with torch.no_grad():
                    fails(RuntimeError, "",
                          lambda: fast(images(2, 3, 8, 8).double()))
                if not freeze:
                    with torch.no_grad():
                        net.fc.bias += 1
                        same(fast, net, images(2, 3, 8, 8))
                        net.scale *= 1.5  # a scalar, which is in the code
                        same(fast, net, images(2, 3, 8, 8))
                # Gradients are PyTorch's, wherever parameters are.
                assert fast(images(2, 3, 8, 8))[0].requires_grad


def test_wrong_options():
    fails(torch._dynamo.exc.BackendCompilerFailed, "there is no option 'frozen'",
          lambda: compiled(nn.ReLU(), frozen=True)(images(2)))
    fails(frit.ArgumentError, "export takes a torch.nn.Module",
          lambda: frit.torch.export(torch.relu, (images(2),)))
    fails(TypeError, "export() got an unexpected keyword argument 'marsh'",
          lambda: frit.torch.export(nn.ReLU(), (images(2),), marsh="sm_90a"))


def test_threads():
    net = Net().to(DEVICE).eval()
    fast = compiled(net)
    x = images(2, 3, 8, 8)
    same(fast, net, x)
    wrong = []

    def work():
        try:
            for _ in range(20):
                same(fast, net, x)
        except AssertionError as error:
            wrong.append(error)
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


def test_threads_and_changes():
    """Threads call while others take new parameters, which are prepared ones: no
    result mixes old and new."""
    net = nn.Sequential(*(nn.Linear(256, 256) for _ in range(4)))
    net = net.to(DEVICE).eval()
    other = nn.Sequential(*(nn.Linear(256, 256) for _ in range(4)))
    other = other.to(DEVICE).eval()
    fast = compiled(net, precision="fp16")
    x = images(4, 256)
    same(fast, net, x, tolerance=3e-2)
    problems = []
    # PyTorch's guards also allow other parameters for the same graph.
    graph, = [g for g in gc.get_objects() if type(g) is frit.torch._Graph
              and g.options.get("precision") == "fp16"]
    calls = {id(m): [*m.parameters()] for m in (net, other)}

    def run(module):
        with torch.no_grad():
            given = iter(calls[id(module)])
            return graph(*(x if i not in graph.weights else next(given)
                           for i in range(len(graph.weights) + 1)))[0]

    def work(modules, start):
        try:
            start.wait()
            for module in modules:
                with torch.no_grad():
                    wanted = module(x)
                error = (run(module) - wanted).norm() / wanted.norm()
                if not error < 3e-2:
                    problems.append(float(error))
        except Exception as error:
            problems.append(error)

    for turn in range(30):
        with torch.no_grad():
            for module in net, other:
                for parameter in module.parameters():
                    parameter.mul_(1.05 if turn % 2 else 1 / 1.05)
        start = threading.Barrier(3)
        threads = [threading.Thread(target=work, args=(modules, start))
                   for modules in ([net] * 3, [net, other] * 2, [net] * 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not problems, problems[:5]


def test_open_sizes():
    """A dimension that is open within bounds is compiled once, for all sizes."""
    class Rows(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 4)
            self.register_buffer("order", torch.randperm(8))

        def forward(self, x):
            y = self.b(torch.relu(self.a(x))[:, self.order])
            return y.view(2 * x.shape[0], 2), y * x.shape[0], x.softmax(0)

    def marked(batch):
        x = images(batch, 8)
        torch._dynamo.mark_dynamic(x, 0, min=2, max=32)
        return x

    for options in {}, {"freeze": True}:
        net = Rows().to(DEVICE).eval()
        fast, before = compiled(net, **options), artifacts()
        assert told(lambda: same(fast, net, marked(4))) == []
        for batch in (5, 2, 32, 31, 4, 5, 5):
            assert told(lambda: same(fast, net, images(batch, 8))) == []
        assert artifacts() == before + 1
        if "freeze" not in options:
            with torch.no_grad():
                net.a.weight.mul_(2)
                same(fast, net, images(7, 8))
                net.order.copy_(net.order.flip(0))
                same(fast, net, images(7, 8))
                same(fast, net, images(8, 8))
            assert artifacts() == before + 2
    # PyTorch's exporter wants its size to be even.
    function = lambda x: x[1::2]
    fast = compiled(function)
    reason, = told(lambda: same(fast, function, marked(4)))
    assert reason.startswith("a graph is compiled for each size anew: "), reason
    assert told(lambda: same(fast, function, images(6, 8))) == []
    fails(torch._dynamo.exc.BackendCompilerFailed,
          "torch._dynamo.mark_dynamic(x, 0, min=2, max=64)",
          lambda: compiled(net, shape={"batch": range(2, 9)})(images(2, 8)))


def test_numbers():
    """Floats that PyTorch passes as tensors are part of the code."""
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.slope = nn.BatchNorm2d(3), 0.25
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            return self.layer(nn.functional.leaky_relu(self.norm(x), self.slope)) * (
                self.slope + 1)

    net = Scaled().to(DEVICE).eval()
    fast = torch.compile(net, backend="frit", options=OPTIONS, dynamic=True)
    for batch in (2, 5, 5):
        assert told(lambda: same(fast, net, images(batch, 3, 4, 4))) == []
    # The second value makes PyTorch pass any.
    function = lambda x, factor: x @ x.T * factor
    fast, x = compiled(function), images(4, 4)
    for factor in (2.0, 0.5, 0.0, -0.0, 0.5):
        assert told(lambda: same(fast, function, x, factor)) == [], factor
    reason, = told(lambda: [same(fast, function, x, 1 + i / 8) for i in range(20)])
    assert reason == ("a graph runs in PyTorch: it was called with more than 16 values "
                      "of its numbers"), reason


def test_types():
    net = Net().to(DEVICE).eval()
    x = images(2, 3, 8, 8)
    assert not told(lambda: same(compiled(net, precision="fp16"), net, x,
                                 tolerance=1e-2))
    half = Net().to(DEVICE, torch.bfloat16).eval()
    assert not told(lambda: same(compiled(half), half, x.bfloat16(),
                                 tolerance=5e-2))


def test_export():
    net = Net().to(DEVICE).eval()
    x = images(2, 3, 8, 8)
    net.conv.train()
    for given in (x,), [x], x:
        module = frit.torch.export(net, given, device=DEVICE, **OPTIONS)
        same(module, net, x)
    assert net.conv.training and not net.norm.training and not net.training
    batch = torch.export.Dim("batch", min=1, max=8)
    module = frit.torch.export(net, (x,), dynamic_shapes=({0: batch},),
                               shape={"batch": range(1, 9)},
                               device=str(DEVICE), **OPTIONS)
    for count in (1, 5, 8):
        same(module, net, images(count, 3, 8, 8))


run_tests(globals())
