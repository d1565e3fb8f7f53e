"""Runs operators of the nn dialect on the host and compares with NumPy.

A test is a list of cases and a call of `run`:

    case("add", [x, y], x + y)
    case("transpose", [x], x.T, "perm = array<i64: 1, 0>")
    gradient("mul", [x, y], x.shape)
    run()

All cases become functions of one module, which goes through `differentiate`,
`lower-nn` and upstream's passes into a shared library. This tests the semantics
that all targets share; their code generation has its own tests.
"""
import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

NAMES = {"float32": "f32", "float64": "f64", "float16": "f16",
         "bfloat16": "bf16", "bool": "i1", "uint8": "ui8", "uint16": "ui16",
         "uint32": "ui32", "uint64": "ui64", "int8": "i8", "int16": "i16",
         "int32": "i32", "int64": "i64", "float8_e4m3fn": "f8E4M3FN",
         "float8_e5m2": "f8E5M2", "float8_e4m3fnuz": "f8E4M3FNUZ",
         "float8_e5m2fnuz": "f8E5M2FNUZ", "float8_e8m0fnu": "f8E8M0FNU",
         "float4_e2m1fn": "f4E2M1FN", "int4": "i4", "uint4": "ui4",
         "int2": "i2", "uint2": "ui2"}
TOLERANCE = {"float32": 1e-5, "float64": 1e-12, "float16": 2e-3,
             "bfloat16": 1.6e-2}

LOWER = """--canonicalize --cse
--one-shot-bufferize=bufferize-function-boundaries
function-boundary-type-conversion=identity-layout-map
--buffer-results-to-out-params=modify-public-functions
--convert-linalg-to-loops --convert-scf-to-cf
--expand-strided-metadata --lower-affine --arith-expand=include-bf16=true
--convert-math-to-llvm --convert-math-to-libm
--convert-arith-to-llvm --finalize-memref-to-llvm --convert-func-to-llvm
--convert-cf-to-llvm --reconcile-unrealized-casts"""

cases = []
gradients = []


def type_of(array):
    dims = "".join(f"{d}x" for d in array.shape)
    return f"tensor<{dims}{NAMES[array.dtype.name]}>"


def case(op, inputs, expected, attributes="", tolerance=None):
    """Adds a case: `nn.op` of `inputs` must equal `expected`, in value and type."""
    expected = np.asarray(expected)
    cases.append((op, [np.asarray(x) for x in inputs], expected, attributes,
                  tolerance))


def gradient(op, inputs, shape, attributes="", of=None, tolerance=None):
    """Adds a case: the gradients of `nn.op`, whose result has `shape`, with
    respect to its f64 inputs (those numbered in `of`) must equal central
    differences. Inputs of 16 or 32 bits are computed so and compared with f64.
    No input may be within 1e-4 of a kink."""
    inputs = [np.asarray(x) for x in inputs]
    if of is None:
        of = [i for i, x in enumerate(inputs) if is_float(x)]
    gradients.append((op, inputs, tuple(shape), attributes, of, tolerance))


def is_float(array):
    return array.dtype.name in ("float64", "float32", "float16", "bfloat16")


def text(name, op, inputs, expected, attributes):
    """A function of one operator. Unknown bits of inputs stay inputs, so that
    nothing is folded."""
    types = [type_of(x) for x in inputs]
    result = type_of(expected)
    arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types))
    names = ", ".join(f"%a{i}" for i in range(len(types)))
    braces = f" {{{attributes}}}" if attributes else ""
    return (f"func.func @{name}({arguments}) -> {result} "
            f"attributes {{llvm.emit_c_interface}} {{\n"
            f"  %y = nn.{op} {names}{braces} : ({', '.join(types)}) -> "
            f"{result}\n  return %y : {result}\n}}\n")


def gradient_text(name, op, inputs, shape, attributes, of):
    """A function that adds the products of an operator's result and %w; its
    results are the sum, 1 number, and the gradients."""
    kind = NAMES[next(inputs[i] for i in of).dtype.name]
    dims = "".join(f"{d}x" for d in shape)
    types = [type_of(x) for x in inputs]
    result, wide = f"tensor<{dims}{kind}>", f"tensor<{dims}f64>"
    arguments = ", ".join(
        f"%a{i}: {t}{' {nn.differentiate}' if i in of else ''}"
        for i, t in enumerate(types))
    names = ", ".join(f"%a{i}" for i in range(len(types)))
    braces = f" {{{attributes}}}" if attributes else ""
    rank = len(shape)
    ones = f"tensor<{'1x' * rank}f64>"
    return (f"func.func @{name}({arguments}, %w: {wide}) -> tensor<f64> "
            f"attributes {{llvm.emit_c_interface}} {{\n"
            f"  %y = nn.{op} {names}{braces} : ({', '.join(types)}) -> {result}\n"
            f"  %z = nn.cast %y {{to = f64}} : ({result}) -> {wide}\n"
            f"  %p = nn.mul %z, %w : ({wide}, {wide}) -> {wide}\n"
            f"  %s = nn.reduce %p {{kind = #nn<combiner sum>, "
            f"{ints('axes', range(rank))}}} : ({wide}) -> {ones}\n"
            f"  %l = nn.reshape %s {{shape = array<i64>}} : ({ones}) -> "
            f"tensor<f64>\n  return %l : tensor<f64>\n}}\n")


def gradient_texts():
    """Each case, and where it is not in f64 the same in f64."""
    for index, (op, inputs, shape, attributes, of, _) in enumerate(gradients):
        yield gradient_text(f"g{index}", op, inputs, shape, attributes, of)
        # The values of a result, which differences are taken of.
        wide = [x.astype(np.float64) if is_float(x) else x for x in inputs]
        yield text(f"v{index}", op, wide, np.empty(shape), attributes)


def drop_rounding_modes(path):
    """Removes rounding modes, which upstream's passes do not lower for bf16;
    every conversion rounds to nearest even."""
    path.write_text(path.read_text().replace(" to_nearest_even", ""))


def build(folder):
    module = "".join(text(f"f{i}", *c[:4]) for i, c in enumerate(cases))
    module += "".join(gradient_texts())
    (folder / "m.mlir").write_text(module)
    steps = [["frit-opt", "m.mlir", "--differentiate", "--lower-nn", "-o",
              "l.mlir"],
             ["mlir-opt", "l.mlir", *arguments(), "-o", "b.mlir"],
             ["mlir-translate", "--mlir-to-llvmir", "b.mlir", "-o", "m.ll"],
             ["llc", "-O1", "--relocation-model=pic", "-filetype=obj", "m.ll",
              "-o", "m.o"],
             ["cc", "-shared", "m.o", "-lm", "-o", "m.so"]]
    for step in steps:
        done = subprocess.run(step, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(step[:2])}:\n{done.stderr[:4000]}")
        if step[-1] == "l.mlir":
            drop_rounding_modes(folder / "l.mlir")
    return ctypes.CDLL(str(folder / "m.so"))


def arguments():
    """LOWER as arguments: options of a pass are one argument with spaces."""
    words = []
    for word in LOWER.split():
        if word.startswith("--"):
            words.append(word)
        else:
            words[-1] += " " + word
    return words


def descriptor(array):
    """MLIR's ranked memref: two pointers, an offset, sizes and strides."""
    fields = [array.ctypes.data, array.ctypes.data, 0, *array.shape,
              *(s // max(array.itemsize, 1) for s in array.strides)]
    return (ctypes.c_int64 * len(fields))(*fields)


def differs(actual, expected, tolerance):
    """Returns why `actual` is not `expected`, or nothing."""
    if expected.dtype.name not in TOLERANCE:
        if expected.dtype.name.startswith("float"):  # NaN has several codes.
            actual, expected = (x.astype(np.float32)
                                for x in (actual, expected))
            same = np.array_equal(actual, expected, equal_nan=True)
        else:
            same = np.array_equal(actual, expected)
        return None if same else "it differs"
    tolerance = tolerance or TOLERANCE[expected.dtype.name]
    a, e = actual.astype(np.float64), expected.astype(np.float64)
    if np.allclose(a, e, rtol=tolerance, atol=tolerance, equal_nan=True):
        return None
    return f"it is off by {np.nanmax(np.abs(a - e))}"


def call(function, inputs, results):
    """Calls a function on copies: it may write to its arguments."""
    buffers = [np.array(x, order="C") for x in inputs] + results
    descriptors = [descriptor(x) for x in buffers]
    function(*(ctypes.byref(d) for d in descriptors))


def check_case(library, index, op, inputs, expected, attributes, tolerance):
    """Returns why a case fails, or nothing."""
    actual = np.zeros(expected.shape, expected.dtype)
    call(library[f"_mlir_ciface_f{index}"], inputs, [actual])
    why = differs(actual, expected, tolerance)
    return why and (f"{why}\n  is        {actual.ravel()[:12]}\n"
                    f"  should be {expected.ravel()[:12]}")


def differences(value, inputs, which, weights):
    """The gradient with respect to an input, by central differences."""
    step = 1e-5
    result = np.zeros(inputs[which].shape)
    for place in np.ndindex(result.shape):
        ends = []
        for sign in (1, -1):
            moved = [x.copy() for x in inputs]
            moved[which][place] += sign * step
            ends.append(value(moved))
        result[place] = ((ends[0] - ends[1]) * weights).sum() / (2 * step)
    return result


def check_gradient(library, index, op, inputs, shape, attributes, of,
                   tolerance):
    """Returns why a gradient is wrong, or nothing."""
    wide = [x.astype(np.float64) if is_float(x) else x for x in inputs]
    weights = random(*shape, dtype=np.float64, seed=77)

    def value(moved):
        y = np.zeros(shape)
        call(library[f"_mlir_ciface_v{index}"], moved, [y])
        return y

    results = [np.zeros(())] + [np.zeros(inputs[i].shape, np.float32 if
                                         inputs[i].dtype.itemsize < 8 else
                                         np.float64) for i in of]
    call(library[f"_mlir_ciface_g{index}"], [*inputs, weights], results)
    for i, actual in zip(of, results[1:]):
        expected = differences(value, wide, i, weights)
        size = max(1, abs(expected).max(initial=0))
        limit = tolerance or {8: 1e-7, 4: 1e-4, 2: 2e-2}[inputs[i].itemsize]
        worst = abs(actual - expected).max(initial=0) / size
        if not worst < limit:
            return (f"the gradient of operand {i} is off by {worst}\n"
                    f"  is        {actual.ravel()[:12]}\n"
                    f"  should be {expected.ravel()[:12]}")
    return None


def run():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        library = build(Path(folder))
        for check, what in ((check_case, cases), (check_gradient, gradients)):
            for index, (op, inputs, *rest) in enumerate(what):
                why = check(library, index, op, inputs, *rest)
                if why:
                    failures += 1
                    kinds = ", ".join(type_of(x) for x in inputs)
                    print(f"nn.{op} {{{rest[1]}}} ({kinds}): {why}")
    print(f"{len(cases) + len(gradients)} cases, {failures} failures")
    sys.exit(1 if failures else 0)


def random(*shape, dtype=np.float32, low=-3, high=3, seed=0):
    """Uniform numbers, the same in every run."""
    values = np.random.default_rng(seed + sum(shape)).uniform(low, high, shape)
    return values.astype(dtype)


def ints(name, values):
    """An attribute that is a list of integers."""
    values = list(values)
    body = f": {', '.join(map(str, values))}" if values else ""
    return f"{name} = array<i64{body}>"
