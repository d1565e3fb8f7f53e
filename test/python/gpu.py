"""Calls modules with PyTorch's tensors on a GPU, and times a call.

    gpu.py SOURCE FOLDER
"""
import sys
import time
from pathlib import Path

import numpy as np
import torch

import frit
import frit.torch
from checks import fails, run_tests

SOURCE, FOLDER = map(Path, sys.argv[1:3])
MODELS = SOURCE / "test/models"
IMAGE = np.load(MODELS / "digit_3.npy")

digits = frit.compile(MODELS / "digits.onnx", device="cuda:0")
several = frit.compile(MODELS / "digits-dynamic.onnx",
                       shape={"batch": range(1, 9)}, device="cuda:0")
expected = digits(IMAGE)
image = torch.from_numpy(IMAGE).cuda()


def close(made, wanted):
    assert torch.allclose(made.cpu(), torch.from_numpy(wanted), atol=1e-5)


def test_places():
    assert type(expected) is np.ndarray and expected.argmax() == 3
    made = digits(image)
    assert made.is_cuda
    close(made, expected)
    out = torch.zeros(1, 10, device="cuda")
    digits(image, out=out)
    close(out, expected)
    out = torch.zeros(1, 10)
    digits(image, out=out)  # waits, because the result is on the host
    assert np.allclose(out.numpy(), expected, atol=1e-5)
    out = torch.zeros(1, 10, device="cuda")
    digits(IMAGE, out=out)
    close(out, expected)
    batch = image.repeat(3, 1, 1, 1)
    close(several(batch), np.repeat(expected, 3, 0))
    cpu = frit.compile(MODELS / "digits.onnx", march="x86-64-v3", device="cpu")
    fails(frit.ArgumentError, "on cuda:0, and the module runs on the cpu",
          lambda: cpu(image))
    shifted = torch.zeros(65, device="cuda")[1:].view(1, 1, 8, 8)
    fails(frit.ArgumentError, "multiple of 16", lambda: digits(shifted))


def test_streams():
    """Work before and after a call on its stream is ordered with it."""
    stream = torch.cuda.Stream()
    big = torch.ones(4096, 4096, device="cuda")
    for use in (torch.cuda.current_stream(), stream, torch.cuda.Stream()) * 3:
        use.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(use):
            busy = big
            for _ in range(20):  # some milliseconds
                busy = busy @ big * 1e-4
            late = image * 2 + busy[0, 0] * 0
            made = digits(late / 2)
            total = made * 3
        use.synchronize()
        close(total / 3, expected)


def test_pointers():
    """New pointers of a model with library calls, whose graph holds them."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(),
                              torch.nn.Linear(4096, 1024))
    ids = torch.randn(512, 1024)
    model = frit.torch.export(net, (ids,), march="sm_90a", precision="fp16",
                              device="cuda:0")
    ids = ids.cuda()
    wanted = model(ids).cpu()
    calls = sum(t.library_calls for t in model.info.targets if t.chosen)
    sets = [(ids.clone(), torch.full_like(wanted, float("nan"), device="cuda"))
            for _ in range(30)]
    times = []
    for cycle, some in enumerate((sets, sets, sets[:4], sets[:4], sets[:4])):
        spent = []
        for x, y in some:
            y.fill_(float("nan"))
            torch.cuda.synchronize()
            start = time.perf_counter()
            model(x, out=y)
            spent.append((time.perf_counter() - start) * 1e6)
            assert torch.equal(y.cpu(), wanted), cycle
        times.append(f"{np.median(spent):.0f}")
    # Results in own buffers and in place, in any order.
    for index in np.random.default_rng(0).integers(0, 30, 200):
        x, y = sets[index]
        y.zero_()
        model(x, out=y)
        assert torch.equal(y.cpu(), wanted)
    print(f"  {calls} library calls; host us of a call with new pointers "
          f"{times[0]}, with the same again {', '.join(times[1:])}")


def test_dlpack():
    try:
        import cupy
    except ImportError:
        print("no CuPy here")
        return
    made = digits(cupy.asarray(IMAGE))
    assert type(made) is cupy.ndarray, type(made)
    assert np.allclose(made.get(), expected, atol=1e-5)


def test_jax():
    try:
        import jax
        on_gpu = jax.devices()[0].platform == "gpu"
    except Exception:  # not installed, or for another driver
        on_gpu = False
    if not on_gpu:
        print("no JAX here")
        return
    made = digits(jax.numpy.asarray(IMAGE))
    assert np.allclose(np.asarray(made), expected, atol=1e-5)


def microseconds(call, count=20):
    """The host's time for a call, few of which are in the GPU's queue."""
    best = 1e9
    for _ in range(300):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - start) / count)
    return best * 1e6


def show_overhead():
    kept = [digits(image) for _ in range(2)]
    pointers, run = digits._caller.free[-1].repeated.pointers, \
        digits._caller.free[-1].repeated.run
    handle = digits._caller.free[-1].handle

    def alone():
        assert run(handle, *pointers) == 0
    out = torch.zeros(1, 10, device="cuda")
    for name, call in {
            "C call by ctypes": alone, "module(x)": lambda: digits(image),
            "module(x), results kept": lambda: kept.append(digits(image)),
            "module(x, out=y)": lambda: digits(image, out=out)}.items():
        print(f"{name:24} {microseconds(call):.1f} us")
    net = torch.nn.Linear(64, 64).cuda()
    x = torch.randn(8, 64, device="cuda")
    with torch.no_grad():
        for backend in ("frit", "inductor", lambda graph, _: lambda *a: (x,)):
            torch._dynamo.reset()
            fast = torch.compile(net, backend=backend)
            fast(x)
            name = backend if isinstance(backend, str) else "guards alone"
            print(f"torch.compile, {name:10} {microseconds(lambda: fast(x)):.1f}"
                  " us")


run_tests(globals())
show_overhead()
