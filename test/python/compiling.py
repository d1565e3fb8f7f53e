"""Compiles models from files, bytes and objects, for shapes and types."""
import errno
import io
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import onnx

import frit
from support import (CPU, FOLDER, IMAGE, MODELS, PROBABILITIES, digits, fails,
                     run_tests)


def test_files():
    error = fails(frit.Error, "cannot open '/no/such.so'",
                  lambda: frit.load("/no/such.so"))
    assert isinstance(error, FileNotFoundError), error
    assert error.filename == "/no/such.so" and error.errno == errno.ENOENT
    error = fails(frit.CompileError, "No such file",
                  lambda: frit.compile("/no/such.onnx"))
    assert error.exit_status == 1 and isinstance(error, FileNotFoundError)
    assert error.filename == "/no/such.onnx", error.filename
    assert not isinstance(fails(frit.Error, "", lambda: frit.load(__file__)),
                          FileNotFoundError)
    error = fails(frit.CompileError, "march takes",
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
    # Messages of a successful fritc are warnings.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frit.compile(MODELS / "digits.onnx", options=["-Wnothing"], **CPU)
    assert [w.category for w in caught] == [frit.CompileWarning], caught
    assert "no such warning" in str(caught[0].message) and \
        caught[0].filename == __file__, caught[0]


def test_words():
    """Messages name keywords instead of fritc's options."""
    dynamic = MODELS / "digits-dynamic.onnx"
    fails(frit.CompileError, "fix it with shape={'batch': SIZE} or "
          "shape={'image': (SIZE, 1, 8, 8)}", lambda: frit.compile(dynamic, **CPU))
    fails(frit.CompileError, "shape names 'x', which is no dimension",
          lambda: frit.compile(dynamic, shape={"x": 2}, **CPU))
    fails(frit.CompileError, "precision takes fp32",
          lambda: frit.compile(dynamic, precision="-fp7", **CPU))
    fails(frit.CompileError, "not '-ftype=z'", lambda: frit.compile(
        dynamic, precision="-ftype=z", **CPU))
    for text, python in (
            ("-fshape=a=1..64", "shape={'a': range(1, 65)}"),
            ("as -fshape=a=1,8,64", "as shape={'a': '1,8,64'}"),
            ("-ftype=y:u8; -march=sm_90a", "type={'y': 'u8'}; march='sm_90a'"),
            ("-fbound=n:5 sets it", "options=['-fbound=n:5'] sets it"),
            ("model-fshape.onnx and '-fshape=a'", None)):
        made = frit._compile.in_python(text)
        assert made == (python or text), made
    help_text = subprocess.run([frit._compile.find_tool("fritc"), "--help"],
                               capture_output=True, text=True).stdout
    for names in frit._compile.March, frit._compile.Precision:
        assert ", ".join(names.__args__[:-1]) in " ".join(
            help_text.split()) or set(names.__args__) <= set(
                help_text.replace(",", " ").split()), names
    assert [*frit._load.Feature.__args__] == [*frit._abi.FLAGS]


def test_progress():
    """A terminal shows how long a compilation takes, and nothing when it ends."""
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    before, sys.stderr = sys.stderr, Terminal()
    try:
        frit._compile._SHOWN_AFTER = 0
        process = subprocess.Popen(["sleep", "1.5"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        assert frit._compile._wait(process, None) == b""
        shown = sys.stderr.getvalue()
    finally:
        sys.stderr, frit._compile._SHOWN_AFTER = before, 2
    assert shown == "\rfrit: compiling, 1 s\x1b[K\r\x1b[K", repr(shown)


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
        # A fritc that was interrupted while it started exits by itself.
        end = time.monotonic() + 30
        while {path.name for path in folder.iterdir()} - {"m.so"}:
            assert time.monotonic() < end, [*folder.iterdir()]
            time.sleep(0.01)
    signal.signal(signal.SIGALRM, before)
    assert hits


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


run_tests(globals())
