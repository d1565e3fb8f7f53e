"""Runs models through torch.compile(backend="frit") and frit.torch.export.

    torch_backend.py DEVICE [EXTRA]

With EXTRA, "models" runs models of torchvision and transformers, at small sizes.
"""
import gc
import json
import tempfile
import threading
import time
from pathlib import Path

import torch
from torch import nn

import frit
import frit.torch
from torch_support import (CACHE, DEVICE, OPTIONS, Net, artifacts, compiled, fails,
                           images, run_tests, same, told)


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


def test_cache():
    """What artifacts are kept by, and that damaged ones are replaced."""
    keys = set()

    def is_new(*options):
        key = frit._cache._key_of(b"model", options)
        keys_before = len(keys)
        keys.add(key)
        return len(keys) > keys_before

    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder, name)
                 for name in ("op.json", "op.cu", "op.c", "op.h", "keep", "all")}
        for path in files.values():
            path.write_text("1")
        files["op.json"].write_text(json.dumps(
            {"cuda": {"file": "op.cu"}, "host": {"file": "op.c"}}))
        files["op.cu"].write_text('#include <math.h>\n #include "op.h"\n')
        for named in (f"--custom-op={files['op.json']}",
                      f"-fkeep-fp32={files['keep']}",
                      f"-fconst-input=x=@{files['all']}"):
            assert is_new(named) and not is_new(named)
        for changed in files:
            with open(files[changed], "a") as file:
                file.write(" ")
            assert is_new(*(f"--custom-op={files['op.json']}",
                            f"-fkeep-fp32={files['keep']}",
                            f"-fconst-input=x=@{files['all']}")), changed
        # "native" is another processor elsewhere.
        machine = frit._cache._machine
        assert is_new("-march=native") and not is_new("-march=native")
        try:
            frit._cache._machine = lambda: ["another"]
            assert is_new("-march=native") and is_new("-march=x86-64")
        finally:
            frit._cache._machine = machine

        net, x = nn.Linear(16, 8).to(DEVICE).eval(), images(3, 16)
        errors = []
        for kept in "", "*\n":
            files["keep"].write_text(kept)
            fast = compiled(net, precision="fp16",
                            options=[f"-fkeep-fp32={files['keep']}"])
            with torch.no_grad():
                errors.append(float((fast(x) - net(x)).abs().max()))
        assert errors[1] < 1e-5 < errors[0], errors

    before = {*CACHE.glob("*/graph.so")}
    net, x = nn.Linear(16, 24).to(DEVICE).eval(), images(3, 16)
    same(compiled(net), net, x)
    made, = {*CACHE.glob("*/graph.so")} - before
    whole = made.read_bytes()
    plan = whole.index(b"FRITPLAN")
    other_version = whole[:plan + 8] + bytes([1, 0, 0, 0]) + whole[plan + 12:]
    for damaged in b"", whole[:len(whole) // 2], b"no library" * 100, \
            other_version:
        made.unlink()
        made.write_bytes(damaged)
        assert told(lambda: same(compiled(net), net, x)) == []
        assert made.read_bytes() == whole

    # Constants lie beside it.
    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(16, 24)

        def forward(self, x):
            return self.fc(x) + torch.linspace(0, 1, 24).to(x)

    before = {*CACHE.glob("*/graph.safetensors")}
    net = Shifted().to(DEVICE).eval()
    same(compiled(net), net, x)
    beside, = {*CACHE.glob("*/graph.safetensors")} - before
    whole = beside.read_bytes()
    for damaged in None, b"", whole[:20], whole[:-1]:
        beside.unlink()
        if damaged is not None:
            beside.write_bytes(damaged)
        assert told(lambda: same(compiled(net), net, x)) == []
        assert beside.read_bytes() == whole


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


def test_models():
    import torchvision.models as vision
    import transformers as text
    small = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                 intermediate_size=128, vocab_size=200)
    ids = torch.randint(0, 200, (2, 16), device=DEVICE)
    image = images(1, 3, 64, 64)
    models = {
        "resnet18": (lambda: vision.resnet18(), image),
        "mobilenet_v3_small": (lambda: vision.mobilenet_v3_small(), image),
        "efficientnet_b0": (lambda: vision.efficientnet_b0(), image),
        "densenet121": (lambda: vision.densenet121(), image),
        "convnext_tiny": (lambda: vision.convnext_tiny(), image),
        "swin_t": (lambda: vision.swin_t(), image),
        "bert": (lambda: text.BertModel(text.BertConfig(**small)), ids),
        "gpt2": (lambda: text.GPT2LMHeadModel(text.GPT2Config(
            n_embd=64, n_layer=2, n_head=4, vocab_size=200, use_cache=False)),
            ids),
        "llama": (lambda: text.LlamaForCausalLM(text.LlamaConfig(
            **small, num_key_value_heads=2, use_cache=False)), ids),
        "t5 encoder": (lambda: text.T5EncoderModel(text.T5Config(
            d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4,
            vocab_size=200)), ids),
    }
    for name, (build, x) in models.items():
        model = build().to(DEVICE).eval()
        fast = compiled(model)
        start = time.time()
        reasons = told(lambda: same(fast, model, x, tolerance=2e-3))
        print(f"  {name}: {time.time() - start:.1f} s, "
              f"{'; '.join(reasons) or 'compiled'}", flush=True)
        assert not reasons


run_tests(globals())
