"""Shares memory with other libraries, and modules between threads.

Tests of PyTorch's tensors run where PyTorch is.
"""
import gc
import os
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import numpy as np

import frit
from support import (CPU, FOLDER, IMAGE, LIB, MODELS, PROBABILITIES, digits,
                     fails, run_tests)


class Foreign:
    """An array of a library that the package does not know."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack():
    assert np.array_equal(digits(Foreign(IMAGE)), PROBABILITIES)
    out = np.zeros((1, 10), np.float32)
    digits(Foreign(IMAGE), out=Foreign(out))
    assert np.array_equal(out, PROBABILITIES)
    fails(frit.ArgumentError, "elements are not contiguous (shape 8, 1, 1, 8, "
          "strides ", lambda: digits(Foreign(IMAGE.transpose(3, 0, 1, 2))))
    fails(frit.ArgumentError, "is 2xi8",
          lambda: digits(Foreign(np.zeros(2, np.int8))))
    fails(frit.ArgumentError, "type that frit lacks: code 5, 64 bits",
          lambda: digits(Foreign(np.zeros(2, np.complex64))))
    # A result is of the array's library, if that has from_dlpack.
    library = types.ModuleType("library")
    library.from_dlpack = lambda array: (library, np.from_dlpack(array))
    Foreign.__module__, sys.modules["library"] = "library", library
    made, array = digits(Foreign(IMAGE))
    assert made is library and np.array_equal(array, PROBABILITIES)
    Foreign.__module__ = __name__
    # References of the array are released after the call.
    before = sys.getrefcount(IMAGE)
    for _ in range(10):
        digits(Foreign(IMAGE))
    assert sys.getrefcount(IMAGE) == before
    # Memory of the runtime, handed over.
    from frit._arrays import DeviceArray
    made = np.from_dlpack(DeviceArray((2, 3), 1, digits._handle))
    assert made.shape == (2, 3) and made.dtype == np.float32
    fails(frit.Error, "a tensor",
          lambda: DeviceArray((1 << 50,), 1, digits._handle))
    fails(frit.ArgumentError, "a tensor cannot be",
          lambda: DeviceArray((1 << 62, 8), 1, digits._handle))


def test_torch():
    try:
        import torch
    except ImportError:
        print("no PyTorch here: its tensors are not tested")
        return
    image = torch.from_numpy(IMAGE)
    made = digits(image)
    assert isinstance(made, torch.Tensor)
    assert np.array_equal(made.numpy(), PROBABILITIES)
    out = torch.zeros(1, 10)
    assert digits(image, out=out) is out and out.argmax() == 3
    assert type(digits(IMAGE)) is np.ndarray
    fails(frit.ArgumentError, "not contiguous",
          lambda: digits(torch.zeros(1, 8, 8, 2).permute(0, 3, 1, 2)[:, :1]))
    fails(frit.ArgumentError, "torch.complex64",
          lambda: digits(torch.zeros(2, dtype=torch.complex64)))
    fails(frit.ArgumentError, "and is 2xbf16",
          lambda: digits(torch.zeros(2, dtype=torch.bfloat16)))
    fails(frit.ArgumentError, "meta", lambda: digits(image.to("meta")))


def test_closing_while_called():
    """Closing waits for calls of other threads, which then find it closed."""
    artifact = FOLDER / "closed.so"
    frit.compile(MODELS / "digits.onnx", artifact, **CPU).close()
    for path, function in ((artifact, "main"), (LIB / "state_model.so", "look")):
        for delay in range(8):
            module = frit.load(path, device="cpu")
            called = module.function(function)
            inputs, ends = [IMAGE] * len(called.info.inputs), []

            def repeat():
                try:
                    while True:
                        called(*inputs)
                        called.info
                except Exception as error:
                    ends.append(repr(error))

            threads = [threading.Thread(target=repeat) for _ in range(4)]
            for thread in threads:
                thread.start()
            time.sleep(delay * 1e-3)
            module.close()
            for thread in threads:
                thread.join()
            assert ends == 4 * ["ArgumentError('the module is closed')"], ends
    # The process may end while threads call.
    subprocess.run([sys.executable, "-c", f"""if True:
        import frit, numpy, threading, time
        module, image = frit.load({str(artifact)!r}), numpy.load({str(MODELS / "digit_3.npy")!r})
        def repeat():
            try:
                while True:
                    module(image)
            except frit.ArgumentError:  # printed at exit, it may abort CPython
                pass
        for _ in range(4):
            threading.Thread(target=repeat, daemon=True).start()
        time.sleep(0.1)"""], check=True, stderr=subprocess.DEVNULL)


def test_threads():
    module = frit.compile(MODELS / "digits.onnx", **CPU)
    wrong = []

    def work():
        for _ in range(50):
            if not np.array_equal(module(IMAGE), PROBABILITIES):
                wrong.append(1)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_weights_while_called():
    """Weights change between calls of other threads."""
    module = frit.compile(MODELS / "digits.onnx", **CPU)
    bias = np.zeros(10, np.float32)
    module.set_weights({"6.bias": bias})
    results = {False: module(IMAGE)}
    high = np.float32([9] + 9 * [0])
    module.set_weights({"6.bias": high})
    results[True] = module(IMAGE)
    wrong, ended = [], threading.Event()

    def work():
        while not ended.is_set():
            made = module(IMAGE)
            if not any(np.array_equal(made, r) for r in results.values()):
                wrong.append(made)
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(100):
        module.set_weights({"6.bias": high if turn % 2 else bias})
        if not np.array_equal(module(IMAGE), results[bool(turn % 2)]):
            wrong.append(turn)
    ended.set()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:3]


def test_gil():
    """Another thread goes on while the model runs."""
    graph = FOLDER / "slow.json"
    graph.write_text('{"frit": 1, "inputs": [{"name": "x", "type": "f32", '
                     '"shape": [1024, 1024]}], "nodes": [{"op": "matmul", '
                     '"inputs": ["x", "x"], "outputs": ["y"]}], '
                     '"outputs": ["y"]}')
    slow = frit.compile(graph, **CPU)
    x = np.zeros((1024, 1024), np.float32)
    slow(x)
    running, most = True, 0.0

    def watch():
        nonlocal most
        last = time.perf_counter()
        while running:
            time.sleep(0)
            now = time.perf_counter()
            most = max(most, now - last)
            last = now
    # A call that held the GIL would stop the other thread for all its time.
    start = time.perf_counter()
    slow(x)
    alone = time.perf_counter() - start
    counted = 0
    thread = threading.Thread(target=watch)
    thread.start()
    for _ in range(5):
        slow(x)
        counted += 1
    running = False
    thread.join()
    assert counted == 5 and (most < alone or alone < 0.02), (most, alone)


def test_memory():
    """Calls and modules that come and go leave nothing."""
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * \
            os.sysconf("SC_PAGE_SIZE")
    artifact = FOLDER / "kept.so"

    def repeat(count):
        for _ in range(count):
            module = frit.load(artifact, device="cpu", threads=1)
            module(IMAGE)
            module(Foreign(IMAGE))
        del module
        gc.collect()
    repeat(20)
    before = resident()
    repeat(100)
    assert resident() - before < 8 << 20, resident() - before


def test_allocator():
    """Memory comes from the program's functions, which may raise."""
    artifact = FOLDER / "allocated.so"
    frit.compile(MODELS / "digits.onnx", artifact, **CPU).close()
    blocks, left = {}, [1 << 30]

    def allocate(size):
        left[0] -= 1
        if left[0] < 0:
            raise LookupError("nothing left")
        memory = np.empty(size + 256, np.uint8)
        address = -(-memory.ctypes.data // 256) * 256
        blocks[address] = memory, size
        return address

    def release(address, size):
        assert blocks.pop(address)[1] == size

    def load():
        return frit.load(artifact, device="cpu", allocator=(allocate, release))

    with load() as module:
        assert np.array_equal(module(IMAGE), PROBABILITIES) and blocks
    assert not blocks
    taken = (1 << 30) - left[0]
    # Whichever allocation fails, its exception is the cause, and nothing stays.
    for count in range(taken):
        left[0] = count
        def run():
            with load() as module:
                module(IMAGE)
        try:
            run()
            # A small result that is aligned by chance needs no copy.
            assert left[0] == 0 and count == taken - 1 and not blocks
            break
        except frit.Error as failed:
            error = failed
        assert error.status == "out of memory"
        assert isinstance(error.__cause__, LookupError), count
        assert not blocks, (count, blocks)
    # A context that does not come leaves the module as it was.
    left[0] = 1 << 30
    with load() as module:
        left[0] = 0
        fails(frit.Error, "not enough memory", lambda: module(IMAGE))
        left[0] = 1 << 30
        assert np.array_equal(module(IMAGE), PROBABILITIES)
    assert not blocks
    for wrong, kind in (("x", TypeError), (3, frit.ArgumentError)):
        error = fails(frit.Error, "not enough memory", lambda: frit.load(
            artifact, device="cpu", allocator=(
                lambda size: wrong, lambda address, size: None)))
        assert isinstance(error.__cause__, kind), error.__cause__
    # An exception in `release` is reported and harms nothing else.
    caught = []
    hook = sys.unraisablehook
    sys.unraisablehook = lambda told: caught.append(told.exc_type)
    try:
        with frit.load(artifact, device="cpu",
                       allocator=(allocate, lambda *_: 1 / 0)) as module:
            module(IMAGE)
    finally:
        sys.unraisablehook = hook
    assert caught and {*caught} == {ZeroDivisionError}
    fails(frit.Error, "of the limit of 1 B",
          lambda: frit.load(artifact, device="cpu", memory_limit=1))


run_tests(globals())
