"""Calls that compiled code makes again, and those that it must leave to Python.

    torch_calls.py DEVICE [interpreted]
"""
import contextlib
import gc
import sys
import threading
import time
import warnings
import weakref

import torch
from torch import nn

import frit
from torch_support import (DEVICE, Net, compiled, fails, images, run_tests, same,
                           told)

native = frit._compiled.native
assert bool(native) != ("interpreted" in sys.argv), native
FEW = {"freeze": True, "guard_filter_fn": frit.torch.inputs_only}
CONFIGURATIONS = ({}, FEW, {"freeze": True, "guard_filter_fn": torch.compiler
                            .skip_guard_on_all_nn_modules_unsafe})


class Counted:
    """Counts calls that run the package's code in Python; with `last`, the
    arguments of the last one."""

    def __enter__(self):
        self.count, self.call = 0, frit.torch._Graph.__call__

        def call(graph, *given):
            self.count, self.graph, self.last = self.count + 1, graph, given
            return self.call(graph, *given)
        frit.torch._Graph.__call__ = call
        return self

    def __exit__(self, *error):
        frit.torch._Graph.__call__ = self.call


def first_call(module, x, **options):
    """Compiles a module with one graph. Returns a function that calls the graph
    with an input, and others of its arguments replaced, beside PyTorch's guards;
    and the _Graph."""
    with Counted() as counted, torch.no_grad():
        compiled(module, **options)(x)
    graph, given = counted.graph, counted.last
    function = graph.callable()

    def call(y, replaced={}):
        others = {x: y, **replaced}
        return function(*[others.get(argument, argument) for argument in given])[0]
    return call, graph


def test_without_python():
    """A call like an earlier one of the same sizes runs no code in Python."""
    for options in CONFIGURATIONS:
        net = Net().to(DEVICE).eval()
        fast = compiled(net, **options)
        for batch in (2, 3, 4, 2):  # the size is an argument from 3 on
            same(fast, net, images(batch, 3, 8, 8))
        with Counted() as counted:
            for batch in (2, 3, 4, 3, 2):
                same(fast, net, images(batch, 3, 8, 8))
        assert counted.count == (0 if native else 5), (options, counted.count)


@torch.no_grad()
def test_other_inputs():
    """Inputs that are not like those of the last call, without PyTorch's guards."""
    net, x = nn.Linear(8, 8).to(DEVICE).eval(), images(8, 8)
    call, graph = first_call(net, x, **FEW)
    negated = torch.view_as_complex(images(8, 8, 2)).conj().imag
    row = nn.Linear(8, 8).to(DEVICE).eval()
    with torch.inference_mode():
        inferred = images(8, 8)
    assert negated.is_neg() and inferred.is_inference()
    for y, count in (
            (images(8, 8), 0), (inferred, 0), (nn.Parameter(images(8, 8)), 0),
            (torch.randn(8, 8, device=DEVICE, requires_grad=True), 0),
            (images(8, 8).t(), 1), (images(8, 16)[:, ::2], 1), (negated, 1),
            (images(8, 8).as_subclass(type("Derived", (torch.Tensor,), {})), 1)):
        call(x)
        with Counted() as counted:
            assert torch.allclose(call(y), net(y), atol=1e-5)
        assert not native or counted.count == count, (y, counted.count)
        assert torch.allclose(call(x), net(x), atol=1e-5)
    y = images(65)[1:].view(8, 8)  # not aligned
    assert torch.allclose(call(y), net(y), atol=1e-5)
    for y in (images(4, 8), images(8, 4), images(64), images(1, 8, 8)):
        fails(frit.Error, "must be 8x8xf32 and is", lambda: call(y))
        assert torch.allclose(call(x), net(x), atol=1e-5)
    if native:  # code in Python relies on PyTorch's guards for types
        for y in (images(8, 8).double(), images(8, 8).half(),
                  torch.zeros(8, 8, dtype=torch.int32, device=DEVICE)):
            fails(frit.Error, "must be 8x8xf32 and is", lambda: call(y))
            assert torch.allclose(call(x), net(x), atol=1e-5)
        for y in (images(8, 8).to_sparse(), None):
            fails((RuntimeError, AttributeError), "", lambda: call(y))
    # The stride of a dimension of size 1 does not matter.
    call, graph = first_call(row, images(1, 8), **FEW)
    call(images(1, 8))
    y = images(1, 16)[:, :8]
    assert y.stride() == (16, 1)
    with Counted() as counted:
        assert torch.allclose(call(y), row(y), atol=1e-5)
    assert not native or counted.count == 0


def test_guarded_inputs():
    net, x = nn.Linear(8, 8).to(DEVICE).eval(), images(8, 8)
    negated = torch.view_as_complex(images(8, 8, 2)).conj().imag
    for options in CONFIGURATIONS:
        fast = compiled(net, **options)
        for y in (x, x, x.t(), images(4, 8), images(2, 8, 8), x):
            assert told(lambda: same(fast, net, y)) == []
        for y in (negated, x, negated, x):
            same(fast, net, y)
        # Gradients are PyTorch's, and may be asked for between calls.
        y = fast(x)
        assert y.requires_grad
        y.sum().backward()
        same(fast, net, x)


def test_saved_tensors_hooks():
    """These are not guarded, and work as in eager PyTorch."""
    net, x, packed = nn.Linear(8, 8).to(DEVICE).eval(), images(4, 8), []

    def pack(tensor):
        packed.append(tensor)
        return tensor
    fast, (parameter, *_) = compiled(net, **FEW), net.parameters()
    for count in (0, 1, 0, 2):  # hooks around a call
        same(fast, net, x)
        parameter.grad = None
        before = len(packed)
        with contextlib.ExitStack() as hooks:
            for _ in range(count):
                hooks.enter_context(torch.autograd.graph.saved_tensors_hooks(
                    pack, lambda tensor: 2 * tensor))
            same(fast, net, x)
            made = fast(x)
        made.sum().backward()
        wanted = x.sum(0).expand(8, 8) * (1 if count == 0 else 2)
        assert torch.allclose(parameter.grad, wanted, atol=1e-4)
        assert (len(packed) > before) == (count > 0)


def changes(net):
    """Ways in which the parameters of a Net change, by name."""
    random, weight, bias = torch.randn_like, net.fc.weight, net.fc.bias

    def resize():
        net.fc, net.order = nn.Linear(8 * 64, 10).to(DEVICE), net.order.flip(0)
        net.fc.weight.data = torch.zeros(10, 8 * 64, device=DEVICE)
        net.fc.weight.data.resize_(0)
        net.fc.weight.data = random(weight)

    def swap_inference():
        with torch.inference_mode():
            made = random(bias)
        torch._C._swap_tensor_impl(net.fc.bias, made)
    return {
        "in place": lambda: net.fc.weight.mul_(2),
        "a slice": lambda: net.fc.weight[3].neg_(),
        "replaced": lambda: setattr(net.fc, "bias", nn.Parameter(random(bias))),
        "moved": lambda: setattr(net.fc.weight, "data", weight.data.clone() * 3),
        "other strides": lambda: setattr(
            net.conv.weight, "data",
            random(net.conv.weight).to(memory_format=torch.channels_last)),
        "transposed": lambda: setattr(
            net.fc.weight, "data", random(net.fc.weight.t()).t()),
        "resized": resize,
        "trained": lambda: net.fc.weight.requires_grad_(False).mul_(1.5),
        "swapped": lambda: torch._C._swap_tensor_impl(
            net.fc.bias, nn.Parameter(random(bias))),
        "buffer": lambda: net.norm.running_var.mul_(2),
        "index": lambda: net.order.copy_(net.order.flip(0)),
        "scalar": lambda: net.scale.mul_(2),
        "moved module": lambda: net.to("cpu").to(DEVICE),
        "swapped with one of inference mode": swap_inference}


#: By these, values in the code have changed more than four times, the most that a
#: graph is compiled again for.
IN_PYTHON = "scalar", "moved module", "swapped with one of inference mode"


@torch.no_grad()
def test_changes():
    """Parameters that change between calls that are made again."""
    net, x = Net().to(DEVICE).eval(), images(2, 3, 8, 8)
    fast = compiled(net, precision="fp16")
    for name, change in changes(net).items():
        same(fast, net, x, tolerance=3e-2)
        with Counted() as counted:
            same(fast, net, x, tolerance=3e-2)
        assert counted.count == 0 or not native or name in IN_PYTHON, name
        change()
        try:
            same(fast, net, x, tolerance=3e-2)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


@torch.no_grad()
def test_changes_cost_two_calls():
    """Compiled code notices a change after its call, which is made once more."""
    net, x = nn.Linear(8, 8).to(DEVICE).eval(), images(4, 8)
    call, graph = first_call(net, x)
    compiled_graph, = graph.compiled.values()
    call(x)
    net.weight.mul_(2)
    count, replay = 0, compiled_graph.module.call_list

    def counted(inputs):
        nonlocal count
        count += 1
        return replay(inputs)
    compiled_graph.module.call_list = counted
    assert torch.allclose(call(x), net(x), atol=1e-5)
    assert not native or count <= 1, count


def test_inference_parameters():
    """PyTorch counts no writes to these; other memory is still noticed."""
    with torch.inference_mode():
        net = nn.Linear(8, 8).to(DEVICE).eval()
        x = images(4, 8)
        fast = compiled(net)
        same(fast, net, x)
        with Counted() as counted:
            same(fast, net, x)
        assert not native or counted.count == 0
        net.weight.data = torch.randn_like(net.weight)
        same(fast, net, x)


@torch.no_grad()
def test_derived_parameters():
    """DLPack is not asked about these, so their calls are left to Python."""
    class Derived(nn.Parameter):
        pass
    net, x = nn.Linear(8, 8).to(DEVICE).eval(), images(4, 8)
    call, graph = first_call(net, x)
    call(x)
    compiled_graph, = graph.compiled.values()
    assert bool(compiled_graph.calls) == bool(native)
    for weight in Derived(net.weight * 2), nn.Parameter(net.weight * 3):
        wanted = nn.functional.linear(x, weight, net.bias)
        for _ in range(3):
            assert torch.allclose(call(x, {net.weight: weight}), wanted, atol=1e-5)
        assert bool(compiled_graph.calls) == (
            bool(native) and type(weight) is nn.Parameter)


@torch.no_grad()
def test_refresh():
    """A write that PyTorch does not count, and a graph that is dropped for it."""
    for options in {}, FEW:
        net, x = nn.Linear(8, 8).to(DEVICE).eval(), images(4, 8)
        call, graph = first_call(net, x, precision="fp16", **options)
        call(x)
        net.weight.data.neg_()
        frit.torch.refresh()
        assert torch.allclose(call(x), net(x), atol=3e-2)


@torch.no_grad()
def test_closed():
    net, x = nn.Linear(8, 8).to(DEVICE).eval(), images(4, 8)
    call, graph = first_call(net, x, **FEW)
    call(x)
    compiled_graph, = graph.compiled.values()
    compiled_graph.module.close()
    fails(frit.ArgumentError, "the module is closed", lambda: call(x))


@torch.no_grad()
def test_remarks():
    """Remarks of the runtime become warnings, or exceptions."""
    net, x = nn.Linear(8, 8).to(DEVICE).eval(), images(4, 8)
    call, graph = first_call(net, x, **FEW)
    compiled_graph, = graph.compiled.values()
    caller = compiled_graph.caller
    for action in "always", "error":
        caller.handles.remarks.pending.append("a remark")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter(action)
            if action == "error":
                fails(frit.RuntimeRemark, "a remark", lambda: call(x))
            else:
                call(x)
                assert [str(w.message) for w in caught] == ["a remark"]
        assert torch.allclose(call(x), net(x), atol=1e-5)
    assert len(caller.free) == len(caller.handles.contexts)


@torch.no_grad()
def test_freed():
    """A graph that PyTorch drops is freed with its parameters."""
    net, x = nn.Linear(8, 8).to(DEVICE).eval(), images(4, 8)
    call, graph = first_call(net, x)
    call(x)
    kept = [*map(weakref.ref, (graph, graph.compiled[()], net.weight))]
    net.weight = nn.Parameter(torch.zeros_like(net.weight))
    call = graph = None
    torch._dynamo.reset()
    gc.collect()
    assert [k() for k in kept] == [None] * 3, kept


@torch.no_grad()
def test_streams():
    """Work before and after a call on PyTorch's current stream is ordered with it,
    and results can be used on another one."""
    if DEVICE.type != "cuda":
        return
    net, x = nn.Linear(8, 8).to(DEVICE).eval(), images(4, 8)
    call, graph = first_call(net, x, **FEW)
    big, wanted = torch.ones(4096, 4096, device=DEVICE), net(x)
    with Counted() as counted:
        for stream in (torch.cuda.current_stream(), torch.cuda.Stream(),
                       torch.cuda.Stream()) * 3:
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                busy = big
                for _ in range(20):  # some milliseconds
                    busy = busy @ big * 1e-4
                late = x * 2 + busy[0, 0] * 0
                result = call(late / 2)
                total = result * 3
            stream.synchronize()
            result.record_stream(torch.cuda.current_stream())
            assert torch.allclose(total / 3, wanted, atol=1e-5)
    assert counted.count == (0 if native else 9), counted.count


def test_threads():
    """Threads call one graph, with other sizes, while another changes it."""
    net = Net().to(DEVICE).eval()
    fast, problems, ends = compiled(net), [], time.monotonic() + 2
    for batch in (2, 3, 4):
        same(fast, net, images(batch, 3, 8, 8))

    def work(batch):
        try:
            while time.monotonic() < ends:
                same(fast, net, images(batch, 3, 8, 8))
        except BaseException as error:
            problems.append(error)

    def refresh():
        while time.monotonic() < ends:
            frit.torch.refresh()
            time.sleep(0.01)
    threads = [threading.Thread(target=work, args=(batch,))
               for batch in (2, 3, 4, 2)] + [threading.Thread(target=refresh)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems


def test_availability():
    """The compiled module is used if Python and PyTorch have what it needs."""
    arrays = frit._arrays
    assert arrays._native(torch) is native
    kept, sys.abiflags = sys.abiflags, "t"  # as a free-threaded Python
    assert arrays._native(torch) is None
    sys.abiflags = kept


run_tests(globals())
