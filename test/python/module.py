"""Calls modules in every way that the Python package has.

    module.py SOURCE LIB FOLDER

LIB has the test models state_model.so; artifacts are written to FOLDER. Tests of
PyTorch's tensors run where PyTorch is.
"""
import copy
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import types
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

import frit

SOURCE, LIB, FOLDER = map(Path, sys.argv[1:4])
MODELS = SOURCE / "test/models"
IMAGE = np.load(MODELS / "digit_3.npy")
EXPECTED = np.load(MODELS / "digits.npz")
CPU = {"march": "x86-64-v3", "device": "cpu"}

digits = frit.compile(MODELS / "digits.onnx", **CPU)
PROBABILITIES = digits(IMAGE)


def fails(kind, text, call):
    """Checks that a call raises an exception of `kind` whose message has
    `text`."""
    try:
        call()
    except kind as error:
        assert text in str(error), f"{error!r} lacks {text!r}"
        return error
    raise AssertionError(f"nothing was raised; expected {text!r}")


def test_numpy():
    assert type(PROBABILITIES) is np.ndarray
    assert PROBABILITIES.shape == (1, 10) and PROBABILITIES.argmax() == 3
    assert np.array_equal(digits(image=IMAGE), PROBABILITIES)
    named = digits.run({"image": IMAGE})
    assert [*named] == ["probabilities"]
    out = np.zeros((1, 10), np.float32)
    assert digits(IMAGE, out=out) is out
    assert np.array_equal(out, PROBABILITIES)
    out[:] = 0
    digits(IMAGE, out={"probabilities": out})
    assert np.array_equal(out, PROBABILITIES)
    # Lists are arrays too; memory that is not aligned to 64 bytes is copied.
    floats = np.empty(65, np.float32)[1:].reshape(1, 1, 8, 8)
    floats[:] = IMAGE
    assert np.array_equal(digits(floats), PROBABILITIES)
    fails(frit.ArgumentError, "must be 1x1x8x8xf32 and is 1x1x8x8xf64",
          lambda: digits(IMAGE.tolist()))


def test_wrong_calls():
    fails(frit.ArgumentError, "input 'image' must be 1x1x8x8xf32 and is "
          "1x8x8xf32", lambda: digits(IMAGE[0]))
    fails(ValueError, "and is 1x1x8x8xf64",
          lambda: digits(IMAGE.astype(np.float64)))
    fails(frit.ArgumentError, "there is no input 'picture'",
          lambda: digits(picture=IMAGE))
    fails(frit.ArgumentError, "input 'image' is missing", lambda: digits())
    fails(frit.ArgumentError, "given twice", lambda: digits(IMAGE, image=IMAGE))
    fails(frit.ArgumentError, "too many inputs", lambda: digits(IMAGE, IMAGE))
    fails(frit.ArgumentError, "not contiguous", lambda: digits(
        np.empty((1, 1, 8, 16), np.float32)[..., ::2]))
    fails(frit.ArgumentError, "type >f4",
          lambda: digits(IMAGE.astype(">f4")))
    fails(frit.ArgumentError, "there is no output 'p'",
          lambda: digits(IMAGE, out={"p": np.empty((1, 10), np.float32)}))
    fails(frit.ArgumentError, "output 'probabilities' must be 1x10xf32",
          lambda: digits(IMAGE, out=np.empty((1, 9), np.float32)))
    constant = np.zeros((1, 10), np.float32)
    constant.flags.writeable = False
    fails(frit.ArgumentError, "can be written to",
          lambda: digits(IMAGE, out=constant))
    fails(frit.ArgumentError, "model(**arrays)", lambda: digits({"image": IMAGE}))
    fails(frit.ArgumentError, "inputs are given by name, as a dict, not as list",
          lambda: digits.run([IMAGE]))
    fails(frit.ArgumentError, "outputs are given by name",
          lambda: digits.run({"image": IMAGE}, out=[IMAGE]))
    for name in (0, "ima\0ge"):
        fails(frit.ArgumentError, "a tensor's name is a text, not ",
              lambda: digits.run({name: IMAGE}))
    fails(frit.ArgumentError, "there is no input", lambda: digits.run(
        {"\ud800": IMAGE}))
    fails(frit.ArgumentError, "must be 1x1x8x8xf32 and is f32",
          lambda: digits(np.float32(3)))
    # A call that failed leaves nothing behind.
    assert np.array_equal(digits(IMAGE), PROBABILITIES)


def test_files():
    fails(frit.Error, "cannot open '/no/such.so'",
          lambda: frit.load("/no/such.so"))
    error = fails(frit.CompileError, "No such file",
                  lambda: frit.compile("/no/such.onnx"))
    assert error.exit_status == 1
    error = fails(frit.CompileError, "-march",
                  lambda: frit.compile(MODELS / "digits.onnx", march="sm_1"))
    assert error.exit_status == 2
    # A mistyped keyword is found before the model is compiled.
    fails(TypeError, "compile() got an unexpected keyword argument 'devise'",
          lambda: frit.compile("/no/such.onnx", devise="cpu"))
    fails(FileNotFoundError, "install the wheel that tools/dev/wheel builds",
          lambda: frit._compile.find_tool("no-such-tool"))
    artifact = FOLDER / "kept.so"
    frit.compile(MODELS / "digits.onnx", artifact, **CPU)
    assert np.array_equal(frit.load(artifact, device="cpu", threads=1)(IMAGE),
                          PROBABILITIES)
    # A file that has replaced one that is open is what is loaded then.
    first = frit.load(artifact, device="cpu")
    for batch in 2, 3:
        other = frit.compile(MODELS / "digits-dynamic.onnx", artifact,
                             shape={"batch": batch}, **CPU)
        assert other.info.inputs[0].shape == (batch, 1, 8, 8)
    assert np.array_equal(first(IMAGE), PROBABILITIES)
    first.close()
    frit.compile(MODELS / "digits.onnx", artifact, **CPU)
    fails(frit.ArgumentError, "unknown device 'gpu'",
          lambda: frit.load(artifact, device="gpu"))
    fails(frit.ArgumentError, "cannot be disabled",
          lambda: frit.load(artifact, disable=["cuda"]))
    seen = frit.load(artifact, device="none")
    assert seen.info.device.device == "none"
    fails(frit.ArgumentError, "looked at only", lambda: seen(IMAGE))
    model = (MODELS / "digits.onnx").read_bytes()
    for given in model, memoryview(model), onnx.load_from_string(model):
        assert np.array_equal(frit.compile(given, **CPU)(IMAGE), PROBABILITIES)
    fails(frit.CompileError, "the file is empty", lambda: frit.compile(b"", **CPU))
    # A name is no option, and options ask for an artifact.
    fails(frit.CompileError, "'./--help': No such file",
          lambda: frit.compile("--help", **CPU))
    fails(frit.ArgumentError, "fritc wrote no artifact", lambda: frit.compile(
        MODELS / "digits.onnx", options="--help", **CPU))
    # What fritc says of a model that it compiles is a warning.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frit.compile(MODELS / "digits.onnx", options=["-Wnothing"], **CPU)
    assert [w.category for w in caught] == [frit.CompileWarning], caught
    assert "no such warning" in str(caught[0].message) and \
        caught[0].filename == __file__, caught[0]


def test_names():
    """Names of files and models steer no terminal, and are no options."""
    red = "\x1b[31m"
    fails(frit.Error, r"cannot open '\x1b[31m.so'", lambda: frit.load(f"{red}.so"))
    value = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [2])
             for n in (red, "y\n")]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Relu", [red], ["y\n"])], "g", value[:1], value[1:])
    module = frit.compile(onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 18)]), **CPU)
    assert r"\x1b[31m 2xf32 -> y\n 2xf32" in repr(module), repr(module)
    fails(frit.ArgumentError, r"input '\x1b[31m' must be 2xf32",
          lambda: module(IMAGE))
    (FOLDER / "flags").write_text("--help")
    fails(frit.CompileError, "'./@flags': No such file", lambda: frit.compile(
        "@flags", **CPU))
    fails(frit.ArgumentError, "not to the standard output",
          lambda: frit.compile(MODELS / "digits.onnx", "-", **CPU))


def test_interrupts():
    """fritc ends with the call that it belongs to, and leaves nothing."""
    def interrupt(number, frame):
        raise KeyboardInterrupt

    folder = FOLDER / "interrupted"
    folder.mkdir()
    before = signal.signal(signal.SIGALRM, interrupt)
    hits = 0
    for wait in range(20):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.02 + 0.02 * wait)
            frit.compile(MODELS / "digits.onnx", folder / "m.so", **CPU)
        except KeyboardInterrupt:
            hits += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        # One that was interrupted while it was being started ends by itself.
        end = time.monotonic() + 30
        while {path.name for path in folder.iterdir()} - {"m.so"}:
            assert time.monotonic() < end, [*folder.iterdir()]
            time.sleep(0.01)
    signal.signal(signal.SIGALRM, before)
    assert hits


def test_shapes():
    fixed = frit.compile(MODELS / "digits-dynamic.onnx", shape={"batch": 2},
                         **CPU)
    two = np.concatenate([IMAGE, IMAGE])
    expected = np.concatenate([PROBABILITIES] * 2)
    assert np.allclose(fixed(two), expected, atol=1e-6)
    by_input = frit.compile(MODELS / "digits-dynamic.onnx",
                            shape={"image": (2, 1, 8, 8)}, **CPU)
    assert np.allclose(by_input(two), expected, atol=1e-6)
    several = frit.compile(MODELS / "digits-dynamic.onnx",
                           shape={"batch": range(1, 9)}, **CPU)
    for count in (1, 3, 8, 3):
        batch = np.repeat(IMAGE, count, 0)
        assert np.allclose(several(batch), np.repeat(PROBABILITIES, count, 0),
                           atol=1e-6)
    # Large results lie where kernels write them, small ones are copied.
    many = frit.compile(MODELS / "digits-dynamic.onnx", shape={"batch": 300}, **CPU)
    for _ in range(8):
        result = many(np.repeat(IMAGE, 300, 0))
        assert result.ctypes.data % 64 == 0
        assert np.allclose(result, np.repeat(PROBABILITIES, 300, 0), atol=1e-6)
    symbol, = several.info.symbols
    assert (symbol.name, symbol.least, symbol.most) == ("batch", 1, 8)
    assert several.info.inputs[0].shape == ("batch", 1, 8, 8)
    assert several.info.inputs[0].dims == (8, 1, 8, 8)
    fails(frit.ArgumentError, "batch 9, and the model holds 1..8",
          lambda: several(np.repeat(IMAGE, 9, 0)))
    fails(ValueError, "no range of sizes",
          lambda: frit.compile(MODELS / "digits-dynamic.onnx",
                               shape={"batch": range(1, 9, 2)}))


def test_types():
    """Types by frit's names, NumPy's, and as objects; bfloat16 of ml_dtypes."""
    for kind in "u8", "uint8", np.uint8, np.dtype("u1"):
        model = frit.compile(MODELS / "digits.onnx", type={"image": kind}, **CPU)
        assert model.info.inputs[0].dtype == "u8"
    fails(frit.CompileError, "image:f7", lambda: frit.compile(
        MODELS / "digits.onnx", type={"image": "f7"}, **CPU))
    model = frit.compile(MODELS / "digits.onnx", type={
        "image": "bf16", "probabilities": "bf16"}, **CPU)
    try:
        from ml_dtypes import bfloat16
    except ImportError:
        return
    made = model(IMAGE.astype(bfloat16))
    assert made.dtype == bfloat16 and made.argmax() == 3
    fails(frit.ArgumentError, "must be 1x1x8x8xbf16", lambda: model(IMAGE))


def test_counts():
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("NonZero", ["x"], ["where"])], "nonzero",
        [onnx.helper.make_tensor_value_info("x", 1, [6])],
        [onnx.helper.make_tensor_value_info("where", 7, [1, "n"])])
    where = frit.compile(onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 17)],
        ir_version=8).SerializeToString(), **CPU)
    x = np.array([0, 1, 0, 2, 0, 0], np.float32)
    assert np.array_equal(where(x), [[1, 3]])
    assert where(np.zeros(6, np.float32)).shape == (1, 0)


def test_info():
    info = digits.info
    assert (info.name, info.function, info.functions) == (
        "digits", "main", ("main",))
    assert info.inputs == (frit.TensorInfo(
        "image", "f32", (1, 1, 8, 8), (1, 1, 8, 8), 256),)
    assert info.state == () and info.weight_bytes > 30000
    target, = info.targets
    assert target.arch == "x86-64-v3" and target.chosen
    assert info.device.device == digits.device == "cpu"
    assert info.device.context_bytes > 0
    steps = digits.profile(IMAGE)
    assert len(steps) == target.steps
    assert sum(step.duration for step in steps) > 0
    assert any("Gemm" in step.node for step in steps), steps


def test_state():
    step = frit.load(LIB / "state_model.so", device="cpu")
    look = step.function("look")
    assert look.function("step") is step and step.function("look") is look
    assert step.info.functions == ("step", "look")
    fails(frit.ArgumentError, "there is no function 'jump'",
          lambda: step.function("jump"))
    state = step.read_state()
    assert [*state] == [info.name for info in step.info.state]
    w = np.arange(4, dtype=np.float32)
    step.write_state(w=w, rate=0.5)
    assert np.array_equal(look()[1], w)
    assert np.array_equal(look.read_state("w")["w"], w)
    step(*[np.ones([*info.dims], bool if info.dtype == "bool" else np.float32)
           for info in step.info.inputs])
    count, w = look()
    assert count == 1 and np.array_equal(w, np.ones(4)), (count, w)
    fails(frit.ArgumentError, "there is no state 'q'",
          lambda: step.read_state("q"))
    fails(frit.ArgumentError, "there is no state 'q'",
          lambda: step.write_state(q=1.0))
    fails(frit.ArgumentError, "state 'w' must be 4xf32",
          lambda: step.write_state(w=w[:2]))
    fails(frit.ArgumentError, "a group's id has 128 bytes, not 3",
          lambda: step.join(0, 1, b"abc"))
    fails(frit.ArgumentError, "'step' averages nothing over several ranks",
          lambda: step.join(0, 1, step.group_id()))
    step.close()
    fails(frit.ArgumentError, "closed", look)


def test_group():
    """A training step joins a group of its own."""
    folder = SOURCE / "test/training/digits"
    step = frit.compile(folder / "model.onnx", **CPU, options=[
        f"--train={folder / 'train.json'}", "-fdata-parallel"])
    step.join(0, 1, step.group_id())
    image, labels = (np.zeros(info.dims, kind) for info, kind in
                     zip(step.info.inputs, (np.float32, np.int64)))
    assert step(image, labels) > 0 and step.read_state("step")["step"] == 1


def test_weights():
    artifact = FOLDER / "weights.so"
    frit.compile(MODELS / "digits.onnx", artifact,
                 options=["-fexternal-weights"], **CPU)
    weights = {i.name: numpy_helper.to_array(i) for i in
               onnx.load(MODELS / "digits.onnx").graph.initializer
               if not i.name.startswith("val")}
    module = frit.load(artifact, device="cpu")
    assert {i.name: i.dims for i in module.info.weights} == {
        name: array.shape for name, array in weights.items()}
    # Every prediction is 7 with such a bias; and as before without.
    bias = np.zeros(10, np.float32)
    bias[7] = 100
    module.set_weights({"6.bias": bias})
    assert module(IMAGE).argmax() == 7
    bias[7], bias[2] = 0, 100
    module.set_weights({"6.bias": bias})
    assert module(IMAGE).argmax() == 2
    module.set_weights(weights)
    assert np.allclose(module(IMAGE), PROBABILITIES, atol=1e-6)
    # Weights that nobody else holds.
    module.set_weights({n: w * 0 for n, w in weights.items()})
    gc.collect()
    even = module(IMAGE)
    assert np.allclose(even, 0.1)
    assert np.array_equal(module(IMAGE), even)
    # The file is not needed for those that are given.
    (FOLDER / "weights.safetensors").unlink()
    fails(frit.Error, "cannot open the weights",
          lambda: frit.load(artifact, device="cpu"))
    given = frit.load(artifact, device="cpu", weights=weights)
    assert np.allclose(given(IMAGE), PROBABILITIES, atol=1e-6)
    fails(frit.ArgumentError, "weight '6.bias' must be 10xf32 and is 9xf32",
          lambda: given.set_weights({"6.bias": bias[:9]}))
    fails(frit.ArgumentError, "there is no weight 'b'",
          lambda: given.set_weights({"b": bias}))
    assert np.allclose(given(IMAGE), PROBABILITIES, atol=1e-6)
    step = frit.load(LIB / "state_model.so", device="cpu")
    fails(frit.ArgumentError, "are set by frit_state_write",
          lambda: step.set_weights({"w": bias}))


def test_closing():
    with frit.compile(MODELS / "digits.onnx", **CPU) as module:
        module(IMAGE)
    fails(frit.ArgumentError, "closed", lambda: module(IMAGE))
    assert "closed" in repr(module)
    fails(frit.ArgumentError, "closed", module.__enter__)
    module.close()
    # Results live on without their module.
    made = frit.load(FOLDER / "kept.so", device="cpu")(IMAGE)
    gc.collect()
    assert np.array_equal(made, PROBABILITIES)


def test_copying():
    """Modules have memory that a copy would share; errors can be sent."""
    for way in copy.copy, copy.deepcopy, pickle.dumps:
        fails(TypeError, "cannot be copied or pickled", lambda: way(digits))
    for error in (frit.CompileError("wrong", 2), frit.Error("none", "no device"),
                  frit.ArgumentError("wrong")):
        made = pickle.loads(pickle.dumps(error))
        assert type(made) is type(error) and vars(made) == vars(error), made
    info = digits.info
    assert pickle.loads(pickle.dumps(info)) == info


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


def test_wrong_options():
    artifact = LIB / "state_model.so"
    for text, options in (
            ("threads must be a whole number from 0 to 4294967295, not -1",
             {"threads": -1}),
            ("4294967295, not 1099511627776", {"threads": 1 << 40}),
            ("4294967295, not '4'", {"threads": "4"}),
            ("memory_limit must be a whole number", {"memory_limit": 1e9}),
            ("18446744073709551615, not -5", {"memory_limit": -5}),
            ("weights are given by name", {"weights": [IMAGE]}),
            ("'cuda' cannot be disabled", {"disable": "cudnn,cuda"}),
            ("device must be a text such as 'cuda:1', not 0", {"device": 0}),
            ("an allocator is a pair of functions", {"allocator": len})):
        fails(frit.ArgumentError, text, lambda: frit.load(artifact, **options))
    for text, options in (
            ("march is a text such as 'sm_90a'", {"march": 90}),
            ("shape is a dict such as", {"shape": [1, 2]}),
            ("type is a dict such as", {"type": "u8"})):
        fails(frit.ArgumentError, text,
              lambda: frit.compile(MODELS / "digits.onnx", **options))
    module = frit.load(artifact, device="cpu")
    fails(frit.ArgumentError, "rank -1 is not one of 2",
          lambda: module.join(-1, 2, b"0" * 128))


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
    # What the array holds is freed with the call.
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
        with frit.load(artifact, device="cpu", allocator=(
                lambda size: wrong, lambda address, size: None)) as module:
            error = fails(frit.Error, "not enough memory", lambda: module(IMAGE))
        assert isinstance(error.__cause__, kind), error.__cause__
    # One that releases badly is told, and harms nothing else.
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
    with frit.load(artifact, device="cpu", memory_limit=1) as module:
        fails(frit.Error, "of the limit of 1 B", lambda: module(IMAGE))


for name, test in [*globals().items()]:
    if name.startswith("test_"):
        test()
        print(f"{name}: ok")
