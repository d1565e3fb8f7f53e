"""Products by codes of few bits on the CPU target, beside NumPy: codes.py WORK"""
import itertools
import json
import sys
from pathlib import Path

import numpy as np
from programs import NEEDS, TYPES, run
from safetensors.numpy import save_file

sys.path.insert(0, str(Path(__file__).parents[2] / "ops"))
from codes import numbers_of, packed, random_codes  # noqa: E402

work = Path(sys.argv[1])


def product(arch, name, shape, rows, element="f32", scale="f2", offsets=False):
    """Returns the rows of the product, and what they should be."""
    n, k, block = shape
    rng = np.random.default_rng(n + k)
    codes = random_codes(rng, name, (n, k))
    factors = [(rng.standard_normal((n, k // block)) / 8).astype(scale) for _ in range(1 + offsets)]
    matrix = numbers_of(name, codes) * np.repeat(factors[0].astype("f8"), block, 1)
    if offsets:
        matrix += np.repeat(factors[1].astype("f8"), block, 1)
    weights = dict(zip(["codes", "scales", "offsets"], [packed(name, codes), *factors]))
    save_file(weights, work / "w.safetensors")
    nodes = [{"op": "dequantize", "inputs": list(weights), "outputs": ["w"],
              "attributes": {"code": name, "to": element}},
             {"op": "matmul", "inputs": ["x", "w"], "outputs": ["y"],
              "attributes": {"transpose_b": True}}]
    (work / "m.json").write_text(json.dumps({
        "frit": 1, "inputs": [{"name": "x", "type": element, "shape": ["rows", k]}],
        "weights": "w.safetensors", "nodes": nodes, "outputs": ["y"]}))
    sizes = ",".join(map(str, rows))
    for count in rows:
        fused = run("fritc", work / "m.json", f"-march={arch}", f"-fshape=rows={count}",
                    "--emit=fused", "-o", "-")
        assert fused.count("#cpu.coded_gemm") == 1, fused
    run("fritc", work / "m.json", f"-march={arch}", f"-fshape=rows={sizes}", "-o", work / "m.so")
    assert (work / "m.so").stat().st_size < 6 * sum(x.nbytes for x in weights.values()) + 200_000
    x = rng.standard_normal((max(rows), k)).astype(TYPES[element])
    results = []
    for count in rows:
        save_file({"x": np.ascontiguousarray(x[:count])}, work / "x.safetensors")
        run("frit-run", work / "m.so", f"--input=@{work}/x.safetensors", f"--output=@{work}/y.npz")
        y = np.load(work / "y.npz")["y"]
        results.append(y.view(TYPES[element]) if y.dtype.itemsize == 2 else y)
    return results, x.astype("f8") @ matrix.T


def check(arch, *arguments, **options):
    results, want = product(arch, *arguments, **options)
    alone = results[0].astype("f8")
    for y in results:
        y = y.astype("f8")
        assert (y[:len(alone)] == alone).all(), "rows differ by their number"
        off = np.linalg.norm(y - want[:len(y)]) / np.linalg.norm(want[:len(y)])
        tolerance = {"f32": 2e-6, "f16": 1e-3, "bf16": 8e-3}[options.get("element", "f32")]
        assert off < tolerance, (arguments, options, off)
    return len(results)


flags = Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n")[0].split()
for arch, needs in NEEDS.items():
    if not set(needs) <= set(flags):
        continue
    count = 0
    for name, offsets in itertools.product(("int4", "int8", "e2m1", "e4m3"), (False, True)):
        count += check(arch, name, (48, 192, 32), [1, 7], offsets=offsets)
    # Tiles of many rows with a rest, rows of the matrix that are no whole item, one block per row.
    count += check(arch, "int4", (36, 256, 64), [2, 15], element="bf16", scale="f4")
    count += check(arch, "int8", (64, 96, 96), [1, 53], element="f16")
    count += check(arch, "int8", (5, 64, 16), [3, 4], scale="f4")
    # Columns in pieces, of which the last is shorter, or which are parts of a block; rows in two parts.
    count += check(arch, "int4", (32, 1824, 32), [1, 2, 8, 9, 50, 205])
    count += check(arch, "int8", (6, 2560, 2560), [1, 10, 384], offsets=True)
    print(f"{arch}: {count} products agree")
