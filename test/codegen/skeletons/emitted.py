#!/usr/bin/env python3
"""Checks emitted memory-bound kernels against NumPy, on the host.

Usage: emitted.py --frit-opt=build/dev/bin/frit-opt [--seed=N]

Shapes are odd, prime, unaligned, of one row or of many, so that every skeleton
meets its tails, and each way to share, keep and read rows is taken. A fusion
stands under the device function that its kernel is to call; another one fails.
"""

import argparse
import ctypes
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from fusions import (Fusion, Tensor, depthwise, layer_norm, normalize, permute,
                     pool, print_cuda, softmax)

HERE = pathlib.Path(__file__).resolve().parent
EMULATE = HERE.parent.parent / "emulator" / "emulate.py"
DTYPES = {"f16": np.float16, "f32": np.float32, "i64": np.int64, "i8": np.int8,
          "ui8": np.uint8}
TOLERANCE = {"f16": 2e-3, "f32": 1e-5, "i8": 0, "ui8": 0}


def half(*shape):
    return Tensor("f16", *shape)


def full(*shape):
    return Tensor("f32", *shape)


def maps():
    for x in (half(3, 64), half(7, 13), full(1, 1)):
        f = Fusion(f"gelu {x}", x)
        yield f.give(f.op("gelu", "%x0"))
        f = Fusion(f"gelu_grad {x}", x, x)
        yield f.give(f.op("gelu_grad", "%x0", "%x1"))
    f = Fusion("cast to more bytes", half(5, 24))
    yield f.give(f.cast("%x0", "f32"))
    # Vectors whose elements are read one by one.
    f = Fusion("image to pixels of 8 channels", full(2, 3, 6, 10))
    value = f.op("transpose", f.cast("%x0", "f16"), to=half(2, 6, 10, 3),
                 attributes="perm = array<i64: 0, 2, 3, 1>",
                 run=lambda a: a.transpose(0, 2, 3, 1))
    yield f.give(f.op("pad", value, to=half(2, 6, 10, 8),
                      run=lambda a: np.pad(a, [(0, 0)] * 3 + [(0, 5)]),
                      attributes="low = array<i64: 0, 0, 0, 0>, "
                      "high = array<i64: 0, 0, 0, 5>"))
    f = Fusion("image to 2x2 pixels of 4 channels", full(11, 3, 59, 2, 61, 2))
    value = f.op("transpose", f.cast("%x0", "f16"),
                 to=half(11, 59, 61, 2, 2, 3),
                 attributes="perm = array<i64: 0, 2, 4, 3, 5, 1>",
                 run=lambda a: a.transpose(0, 2, 4, 3, 5, 1))
    yield f.give(f.op("pad", value, to=half(11, 59, 61, 2, 2, 4),
                      run=lambda a: np.pad(a, [(0, 0)] * 5 + [(0, 1)]),
                      attributes="low = array<i64: 0, 0, 0, 0, 0, 0>, "
                      "high = array<i64: 0, 0, 0, 0, 0, 1>"))


def maps_apart():
    # Four elements per thread, with a tail.
    yield permute("0213, odd", full(3, 41, 271, 33), 0, 2, 1, 3)
    yield permute("0213, no tail", full(2, 64, 256, 33), 0, 2, 1, 3)


def rows():
    for n, m in ((5, 8), (37, 64), (3, 197), (2, 384), (3, 1000), (1, 1024),
                 (4200, 96)):
        yield softmax(f"softmax {n}x{m}", half(n, m))
    yield softmax("softmax read again", full(1, 60004))
    for n, m in ((4, 24), (33, 768), (601, 72)):
        yield layer_norm(f"layer norm {n}x{m}", half(n, m))
    yield layer_norm("residual layer norm", half(9, 256), residual=True)
    f = Fusion("RMS norm", half(5, 520), full(520))
    yield f.give(normalize(f, "%x0", 1, "%x1", None, mean=False))
    for n, m in ((1, 50000), (3, 7)):
        f = Fusion(f"maximum {n}x{m}", half(n, m))
        yield f.give(f.reduce("%x0", "max", 1))
    yield channels(full(5, 6, 24), full(6, 1), full(50))
    yield channels(half(3, 96, 8), full(96, 1), full(50))
    table, out = half(50, 72), half(9, 72)
    f = Fusion("embedding and layer norm", table, Tensor("i64", 9), out,
               full(72), full(72))
    value = f.op("add", f.op("gather", "%x0", "%x1", to=out), "%x2")
    yield f.give(normalize(f, value, 1, "%x3", "%x4"))


def channels(x, bias, table):
    """Rows of several channels, whose values the elements of a vector share."""
    f = Fusion(f"channels in rows {x}", x, bias, table, Tensor("i64", *bias.shape))
    value = f.op("add", f.cast("%x0", "f32"), "%x1")
    most = f.reduce(value, "max", *range(1, len(x.shape)))
    value = f.op("sub", value, most)
    rest = f.op("gather", "%x2", "%x3", to=bias)
    return f.give(f.op("mul", value, rest), most)


def shared_rows():
    yield channels(full(1, 12, 2600), full(12, 1), full(50))
    yield channels(half(2, 3, 5000), full(3, 1), full(50))
    yield channels(full(2, 7, 640), full(2, 7, 1), full(50))
    for x in (half(2, 4099), half(1, 16392), half(2, 33000), full(1, 33001)):
        yield softmax(f"softmax {x}", x)
    yield layer_norm("layer norm", half(2, 1023))


def staged_rows():
    # Rows staged in shared memory; the last block has fewer.
    for x in (half(67600, 3), half(135300, 5), half(33793, 30), half(8451, 131),
              half(4225, 519), full(17001, 49), half(8451, 200)):
        yield softmax(f"softmax {x}", x)
    yield softmax("masked softmax", half(23, 769, 99), 2, half(23, 1, 99))
    yield softmax("masked softmax, two rows", half(23, 401, 149), 2,
                  half(23, 1, 149))
    yield layer_norm("residual layer norm", half(16901, 75), residual=True)
    yield layer_norm("layer norm", half(4300, 40))
    # Vectors that start before their row.
    for n, m in ((8477, 149), (17003, 99), (67601, 17), (4229, 517)):
        yield layer_norm(f"skewed layer norm {n}x{m}", half(n, m))
    yield layer_norm("layer norm f32", full(4243, 246))
    f = Fusion("softmax to more bytes", half(16911, 67))
    value = f.op("exp", f.cast("%x0", "f32"))
    yield f.give(f.op("div", value, f.reduce(value, "sum", 1)))
    for n, m in ((34001, 49), (4300, 49)):
        f = Fusion(f"maximum {n}x{m}", half(n, m))
        yield f.give(f.reduce("%x0", "max", 1))


def small_transposes():
    for shape in ((3, 5), (1, 64)):
        for x in (half(*shape), full(*shape)):
            yield permute(f"{x}", x, 1, 0)
    shape = (2, 3, 35, 35)
    yield permute(f"NHWC {shape}", half(*shape), 0, 2, 3, 1)
    yield permute(f"NHWC cast {shape}", full(*shape), 0, 2, 3, 1, to="f16")
    yield permute("runs of one image", half(1, 2, 4099, 35), 0, 2, 1, 3)


def transposes():
    for shape in ((67, 129), (64, 128), (200, 72), (8, 4096)):
        for x in (half(*shape), full(*shape)):
            yield permute(f"{x}", x, 1, 0)
    for shape in ((1, 64, 12, 12), (2, 129, 7, 9)):
        yield permute(f"NHWC {shape}", half(*shape), 0, 2, 3, 1)
        yield permute(f"NHWC cast {shape}", full(*shape), 0, 2, 3, 1, to="f16")
    for shape in ((2, 3, 35, 35), (2, 129, 7, 9)):
        yield permute(f"NCHW {shape}", half(*shape), 0, 3, 1, 2)
    for shape in ((129, 131), (256, 259), (4230, 256)):
        yield permute(f"{shape}", half(*shape), 1, 0)
    for shape in ((5, 144, 761), (4, 165, 1001), (3, 301, 801)):
        yield permute(f"matrices {shape}", half(*shape), 0, 2, 1)
    yield permute("reversed", half(24, 5, 72), 2, 1, 0)
    yield permute("reversed, odd", half(11, 6, 35), 2, 1, 0)
    yield permute("reversed, large", half(168, 5, 1344), 2, 1, 0)
    yield permute("rotated in the middle", full(4, 6, 10, 8), 1, 3, 0, 2)


def skewed_transposes():
    for shape in ((1021, 1061), (8192, 135), (319, 4001), (353, 3301)):
        yield permute(f"{shape}", half(*shape), 1, 0)
    yield permute("matrices", half(5, 401, 541), 0, 2, 1)
    yield permute("reversed", half(131, 3, 2757), 2, 1, 0)


def skewed_flat_transposes():
    yield permute("(257, 4211)", half(257, 4211), 1, 0)
    for shape in ((9, 129, 959), (2, 257, 2505), (33, 131, 255),
                  (4, 288, 1001)):
        yield permute(f"matrices {shape}", half(*shape), 0, 2, 1)


def byte_transposes():
    for shape in ((1552, 1568), (16, 33792)):
        yield permute(f"bytes {shape}", Tensor("i8", *shape), 1, 0)
    yield permute("bytes of matrices", Tensor("i8", 12, 528, 400), 0, 2, 1)


def flat_transposes():
    # Short sides.
    for n, m in ((45608, 3), (26952, 5), (22000, 6), (66560, 2), (11144, 49),
                 (15064, 36), (27112, 20)):
        for x, perm in ((half(2, n, m), (0, 2, 1)), (half(3, m, n), (0, 2, 1)),
                        (full(2, n, m), (0, 2, 1))):
            yield permute(f"{x}", x, *perm)
    yield permute("cast", full(2, 3, 224, 224), 0, 2, 3, 1, to="f16")
    yield permute("NCHW", half(1, 64, 12, 12), 0, 3, 1, 2)


def runs():
    # Permutations that keep inner runs: runs of whole vectors and others, elements of two to eight
    # bytes, partial tiles, all orders.
    for shape in ((3, 41, 271, 33), (2, 64, 256, 33), (5, 67, 131, 17),
                  (2, 96, 64, 34), (3, 33, 77, 36), (7, 1201, 35, 3),
                  (3, 17, 29, 197), (2, 9, 15, 1001)):
        yield permute(f"{shape}", half(*shape), 0, 2, 1, 3)
    yield permute("f32", full(2, 61, 73, 34), 0, 2, 1, 3)
    yield permute("reversed", half(37, 9, 41, 21), 2, 1, 0, 3)
    yield permute("rotated", half(31, 12, 36, 21), 2, 0, 1, 3)


def pools():
    for x in (half(2, 13, 14, 16), half(1, 9, 9, 3), full(2, 7, 8, 4)):
        for kind in ("max", "avg"):
            yield pool(f"{kind} last {x}", kind, x, 3, 2, 1, True)
            yield pool(f"{kind} first {x}", kind, x, 2, 2, 0, False)
    # Strips of bytes, four at a time.
    for element in ("i8", "ui8"):
        yield pool(f"max strips {element}", "max",
                   Tensor(element, 22, 112, 112, 64), 3, 2, 1, True)
        yield pool(f"max strips {element}, dense", "max",
                   Tensor(element, 20, 35, 35, 288), 5, 1, 2, True)
    # Several outputs per thread, whose windows overlap, with pads.
    for kind in ("max", "avg"):
        for x in (half(16, 64, 16, 32), half(24, 72, 14, 24)):
            yield pool(f"{kind} first {x}", kind, x, 3, 2, 1, False)
            yield pool(f"{kind} of pairs, first {x}", kind, x, 2, 2, 0, False)
        # Windows that share vectors, of all widths, with and without pads.
        for x in (half(32, 64, 16, 64), half(4, 260, 9, 128),
                  full(16, 64, 8, 64)):
            yield pool(f"{kind} shared, first {x}", kind, x, 3, 2, 1, False)
            yield pool(f"{kind} shared pairs {x}", kind, x, 2, 2, 0, False)
        yield pool(f"{kind} shared, dense", kind, half(8, 64, 16, 80), 3, 1, 1,
                   False)
        # Strips of vertically adjacent outputs, with and without a last strip
        # that overlaps, in two precisions, with several windows and strides.
        yield pool(f"{kind} last, dense", kind, half(20, 35, 35, 288), 3, 1,
                   1, True)
        yield pool(f"{kind} strips of 4", kind, half(22, 112, 112, 64), 3, 2, 1,
                   True)
        yield pool(f"{kind} strips, overlapping", kind, half(20, 71, 73, 192), 3,
                   2, 0, True)
        yield pool(f"{kind} strips f32", kind, full(9, 17, 31, 516), 3, 1, 1,
                   True)
        yield pool(f"{kind} strips of 5x5", kind, half(7, 19, 47, 520), 5, 1, 2,
                   True)
        # Blocks that cover part of a line.
        yield pool(f"{kind} strips, split", kind, half(19, 17, 33, 512), 3, 1,
                   1, True)
        yield pool(f"{kind} strips, split f32", kind, full(11, 19, 31, 352), 5,
                   1, 2, True)


def depthwises():
    same = (1, 1, 1, 1)
    yield depthwise("depthwise", half(2, 9, 7, 24), (3, 3), pads=same)
    yield depthwise("depthwise, strips", half(3, 57, 33, 144), (3, 3), pads=same,
                    after="gelu", residual=True)
    yield depthwise("depthwise, halved", half(2, 33, 30, 128), (3, 3), (2, 2),
                    (0, 1, 1, 1))
    yield depthwise("depthwise, long strips", half(13, 47, 31, 192), (5, 5),
                    pads=(2, 2, 2, 2))
    yield depthwise("depthwise, large", half(1, 14, 15, 66), (7, 7),
                    pads=(3, 3, 3, 3), residual=True)
    yield depthwise("depthwise, odd", half(1, 8, 21, 5), (1, 4), (1, 3))
    yield depthwise("depthwise, apart", full(2, 13, 12, 20), (3, 2), (2, 1),
                    (2, 1, 2, 0), (2, 3))


def columns():
    for shape in ((1, 7, 7, 64), (3, 5, 5, 24), (2, 3, 3, 7)):
        x = half(*shape)
        f = Fusion(f"mean of pixels {x}", x)
        total = f.reduce(f.cast("%x0", "f32"), "sum", 1, 2)
        mean = f.op("div", total, f.constant(shape[1] * shape[2]))
        yield f.give(f.cast(mean, "f16"))
    for shape in ((1000, 3), (4099, 8), (70, 2048)):
        f = Fusion(f"column sum {shape}", full(*shape))
        yield f.give(f.reduce("%x0", "sum", 0))
    for shape in ((2, 11, 40), (1, 257, 24), (3, 5, 13), (1, 3000, 8)):
        yield softmax(f"softmax of the middle {shape}", half(*shape))
    weights = full(30, 1, 1)
    f = Fusion("layer norm of channels", half(2, 30, 4, 6), weights, weights)
    yield f.give(normalize(f, "%x0", 1, "%x1", "%x2"))


def shared_columns():
    # Blocks of 256 threads, and of 512.
    yield softmax("softmax of the middle", half(3, 130, 8 * 709))
    yield softmax("softmax of the middle by more", half(1, 450, 16904))
    yield softmax("softmax of the middle, f32", full(2, 257, 4244))
    weights = full(131, 1, 1)
    f = Fusion("layer norm of channels", half(2, 131, 8, 1057), weights,
               weights)
    yield f.give(normalize(f, "%x0", 1, "%x1", "%x2"))


# Generators by the skeletons that their schedules must have.
GROUPS = (
    ("map generic", maps), ("map generic", small_transposes),
    ("strips windows generic", pools),
    ("map generic", maps_apart), ("row row_streamed", rows), ("row_shared", shared_rows),
    ("row_staged", staged_rows), ("column", columns),
    ("column_shared", shared_columns), ("transpose", transposes),
    ("transpose_skewed", skewed_transposes),
    ("transpose_skewed_flat", skewed_flat_transposes),
    ("transpose_bytes", byte_transposes),
    ("transpose_flat", flat_transposes), ("transpose_runs", runs),
    ("depthwise", depthwises))


def random_inputs(fusion, generator):
    for tensor in fusion.inputs:
        if tensor.element in ("i8", "ui8"):
            limits = np.iinfo(DTYPES[tensor.element])
            yield generator.integers(limits.min, limits.max, tensor.shape,
                                     limits.dtype, endpoint=True)
        elif tensor.element == "i64":
            yield generator.integers(0, 50, tensor.shape,
                                     DTYPES[tensor.element])
        else:
            yield generator.uniform(-2, 2, tensor.shape).astype(
                DTYPES[tensor.element])


def aligned(shape, dtype):
    """Poisoned memory, 256-byte aligned like device memory, followed by a guard."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.full(size + 512, 0xC7, np.uint8)
    start = -memory.ctypes.data % 256
    return (memory[start:start + size].view(dtype).reshape(shape),
            memory[start + size:])


def run_kernel(library, name, fusion, launch, inputs):
    """Returns the outputs, or None if something was written past an end."""
    _, grid, block, shared, scalars = launch
    buffers, guards = [], []
    for x in inputs:
        buffer, _ = aligned(x.shape, x.dtype)
        buffer[...] = x
        buffers.append(buffer)
    for value in fusion.outputs:
        tensor = fusion.types[value]
        buffer, guard = aligned(tensor.shape, DTYPES[tensor.element])
        buffers.append(buffer)
        guards.append(guard)
    numbers = (ctypes.c_uint64 * len(scalars))(*scalars)
    arguments = (ctypes.c_void_p * (len(buffers) + len(scalars)))(
        *[b.ctypes.data for b in buffers],
        *[ctypes.addressof(numbers) + 8 * i for i in range(len(scalars))])
    dims = ctypes.c_uint * 3
    getattr(library, f"emu0_{name}")(
        arguments, dims(*map(int, grid.split("x"))), dims(int(block), 1, 1),
        ctypes.c_uint(int(shared or 0)))
    if any((guard != 0xC7).any() for guard in guards):
        return None
    return buffers[len(inputs):]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--frit-opt", required=True)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    wanted_skeletons, fusions = zip(*((skeleton, fusion)
                                      for skeleton, group in GROUPS
                                      for fusion in group()))
    text, launches = print_cuda(args.frit_opt, fusions)
    generator = np.random.default_rng(args.seed)
    failures = 0
    seen = set()
    for fusion, want, (schedule, *_) in zip(fusions, wanted_skeletons, launches,
                                            strict=True):
        got = schedule.split("<")[0]
        seen.add((want, got))
        if got not in want.split():
            print(f"FAIL {want}, {fusion.name}: its skeleton is {got}")
            failures += 1
    for want, name in {(want, name) for want in wanted_skeletons
                       for name in want.split()} - seen:
        print(f"FAIL {want}: no fusion has the skeleton {name}")
        failures += 1
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "kernels.cu"
        source.write_text(text)
        library = pathlib.Path(folder) / "kernels.so"
        subprocess.run([sys.executable, EMULATE, source, "-o", library],
                       check=True)
        library = ctypes.CDLL(str(library))
        library.emu_set_seed(ctypes.c_ulong(args.seed))
        for at, (fusion, skeleton, launch) in enumerate(
                zip(fusions, wanted_skeletons, launches)):
            inputs = list(random_inputs(fusion, generator))
            outputs = run_kernel(library, f"k{at}", fusion, launch, inputs)
            if outputs is None:
                print(f"FAIL {skeleton}, {fusion.name}: wrote past the end")
                failures += 1
                continue
            wanted = fusion.evaluate(inputs)
            for value, got, want in zip(fusion.outputs, outputs, wanted):
                wide = np.float64
                error = np.abs(got.astype(wide) - want).max() / np.abs(
                    want.astype(wide)).max()
                if not error <= TOLERANCE[fusion.types[value].element]:
                    print(f"FAIL {skeleton}, {fusion.name}: error {error:.2e} "
                          f"<{launch[0]}>")
                    failures += 1
        failures += library.emu_failures()
    print(f"{failures} of {len(fusions)} fusions failed")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
