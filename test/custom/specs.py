"""Writes files of --custom-op for tests into a folder: the example's, changed.

    specs.py FOLDER
"""
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

HERE = Path(__file__).resolve().parent
DOMAIN = "com.example"

# A kernel with a second output and a workspace, which needs no header of CUDA.
MOMENTS_CU = """
extern "C" __global__ void moments(const float *x, float *mean, FRIT_COUNT *count,
                                   float *sums, int columns, float scale) {
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = 0;
    for (int i = 0; i < columns; ++i)
      sums[blockIdx.x] += x[blockIdx.x * columns + i];
    mean[blockIdx.x] = sums[blockIdx.x] * scale / columns;
    count[blockIdx.x] = columns;
  }
}
"""
MOMENTS_C = """
static void moments(const float *x, float *mean, FRIT_COUNT *count, float *sums,
                    int columns, float scale) {
  for (int r = 0; r < ROWS; ++r) {
    sums[r] = 0;
    for (int i = 0; i < columns; ++i)
      sums[r] += x[r * columns + i];
    mean[r] = sums[r] * scale / columns;
    count[r] = columns;
  }
}
"""
MOMENTS = {
    "domain": DOMAIN, "name": "Moments", "batched": True,
    "attributes": {"scale": 1.0},
    "inputs": [{"name": "x", "type": "f32", "shape": [None, None]}],
    "outputs": [{"name": "mean", "type": "f32", "shape": ["x.0"]},
                {"name": "count", "type": "i32", "shape": ["x.0"]}],
    "workspace_bytes": "4 * x.0",
    "arguments": [{"value": "x.1", "type": "i32"}, "scale"],
    "cuda": {"file": "moments.cu", "function": "moments", "grid": ["x.0"], "block": 32},
    "host": {"file": "moments.c", "function": "moments"},
}

# A kernel with two outputs and dynamic shared memory, also in 16 bits.
NORM_CU = """
#include <cuda_fp16.h>

// sum = x + r, y = sum / sqrt(mean(sum^2) + epsilon) * w; a block for each row
extern "C" __global__ void add_norm(const FRIT_T *x, const FRIT_T *r, const FRIT_T *w, FRIT_T *y,
                                    FRIT_T *sum, long long rows, int columns, float epsilon) {
  extern __shared__ float squares[];
  const long long first = (long long)blockIdx.x * columns;
  float square = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    float value = float(x[first + i]) + float(r[first + i]);
    sum[first + i] = FRIT_T(value);
    square += value * value;
  }
  squares[threadIdx.x] = square;
  __syncthreads();
  for (int half = blockDim.x / 2; half; half /= 2) {
    if (threadIdx.x < half)
      squares[threadIdx.x] += squares[threadIdx.x + half];
    __syncthreads();
  }
  float scale = rsqrtf(squares[0] / columns + epsilon);
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[first + i] = FRIT_T((float(x[first + i]) + float(r[first + i])) * scale * float(w[i]));
}
"""
NORM_C = """
#include <math.h>

static void add_norm(const FRIT_T *x, const FRIT_T *r, const FRIT_T *w, FRIT_T *y, FRIT_T *sum,
                     long long rows, int columns, float epsilon) {
  for (long long row = 0; row < rows; ++row, x += columns, r += columns) {
    float square = 0;
    for (int i = 0; i < columns; ++i) {
      float value = (float)x[i] + (float)r[i];
      *sum++ = value;
      square += value * value;
    }
    float scale = 1 / sqrtf(square / columns + epsilon);
    for (int i = 0; i < columns; ++i)
      *y++ = ((float)x[i] + (float)r[i]) * scale * (float)w[i];
  }
}
"""
NORM = {
    "domain": DOMAIN, "name": "AddNorm", "batched": True,
    "types": {"T": ["f16", "f32"]},
    "attributes": {"epsilon": 1e-6},
    "inputs": [{"name": "x", "type": "T", "shape": [None, None, None]},
               {"name": "r", "type": "T", "shape": "x"},
               {"name": "w", "type": "T", "shape": ["x.2"]}],
    "outputs": [{"name": "y", "type": "T", "shape": "x"},
                {"name": "sum", "type": "T", "shape": "x"}],
    "arguments": ["x.0 * x.1", {"value": "x.2", "type": "i32"}, "epsilon"],
    "cuda": {"file": "norm.cu", "function": "add_norm", "grid": ["x.0 * x.1"], "block": 64,
             "shared_bytes": "4 * 64"},
    "host": {"file": "norm.c", "function": "add_norm"},
}


def changed(spec: dict, changes: dict) -> dict:
    """A copy with members replaced, by paths such as "cuda.grid"; None removes one."""
    spec = json.loads(json.dumps(spec))
    for path, value in changes.items():
        at = spec
        *parents, last = (int(p) if p.isdigit() else p for p in path.split("."))
        for parent in parents:
            at = at[parent]
        if value is None:
            del at[last]
        else:
            at[last] = value
    return spec


def model(path: Path, name: str, inputs: list, outputs: list, **attributes) -> None:
    """A model of one node, after an Abs."""
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Abs", [inputs[0][0]], ["abs"]),
             helper.make_node(name, ["abs", *(i[0] for i in inputs[1:])],
                              [o[0] for o in outputs], "mine", domain=DOMAIN, **attributes)]
    graph = helper.make_graph(nodes, "one", [value(*i) for i in inputs],
                              [value(*o) for o in outputs])
    onnx.save(helper.make_model(graph, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]), path)


def main(folder: Path) -> None:
    softcap = json.loads((HERE / "softcap.json").read_text())
    del softcap["gradient"]
    scan = json.loads((HERE / "scan.json").read_text())
    del scan["gradient"]
    half = {**softcap, "name": "Half", "types": {"T": ["i8"]}, "attributes": {},
            "cuda": {"file": "narrow.cu", "function": "half"}, "host": {"file": "narrow.c", "function": "half"}}
    for file in [*HERE.glob("*.cu"), *HERE.glob("*.c")]:
        shutil.copy(file, folder)
    count = {"FRIT_COUNT": "int"}
    for name, text in {"moments.cu": MOMENTS_CU, "moments.c": MOMENTS_C}.items():
        for macro, value in count.items():
            text = text.replace(macro, value)
        (folder / name).write_text(text.replace("ROWS", "3"))
    (folder / "norm.cu").write_text(NORM_CU)
    (folder / "norm.c").write_text(NORM_C)
    (folder / "broken.cu").write_text(
        "__device__ float softcap(float x, float limit) {\n  return limits;\n}\n")
    (folder / "broken.c").write_text(
        "static float softcap(float x, float limit) {\n  return limits;\n}\n")
    (folder / "int.c").write_text(
        "static void linear_scan(const int *x, const float *a, float *h, int b, int s, int c) {}\n")
    kernel = (HERE / "scan.cu").read_text()
    (folder / "other.cu").write_text(kernel.replace("linear_scan", "other"))
    (folder / "fewer.cu").write_text(kernel.replace(",\n                                       int channels", "")
                                     .replace("channels", "batch"))
    (folder / "pointees.cu").write_text(kernel.replace("const FRIT_T *x", "const int *x")
                                        .replace("FRIT_T *h", "double *h").replace("FRIT_T(", "double("))
    (folder / "plain.cu").write_text(MOMENTS_CU.replace("const float *x", "float *x")
                                     .replace("FRIT_COUNT *count", "float *count"))
    for ending in ("cu", "c"):
        static = "__device__" if ending == "cu" else "static"
        (folder / f"whole.{ending}").write_text(f"{static} int softcap(int x, float limit) {{ return x; }}\n")
        (folder / f"narrow.{ending}").write_text(f"{static} signed char half(signed char x) {{ return x / 2; }}\n")
        (folder / f"double.{ending}").write_text(f"{static} float half(float x) {{ return x / 2; }}\n")
    (folder / "wide.cu").write_text(kernel.replace("int steps", "long steps"))

    specs = {
        "moments": (MOMENTS, {}),
        "norm": (NORM, {}),
        "softcap": (softcap, {}),
        "scan": (scan, {}),
        "domain": (scan, {"domain": "ai.onnx"}),
        "unnamed": (scan, {"name": None}),
        "field": (scan, {"cuda.grids": 1}),
        "missing": (scan, {"cuda.file": "nowhere.cu"}),
        "folder": (scan, {"cuda.file": "."}),
        "identifier": (scan, {"cuda.function": "a b"}),
        "type": (scan, {"inputs.0.type": "f8"}),
        "twice": (scan, {"inputs.1.name": "x"}),
        "unbound": (scan, {"types.U": ["f32"], "outputs.0.type": "U"}),
        "shapeless": (scan, {"outputs.0.shape": None}),
        "like": (scan, {"outputs.0.shape": "b"}),
        "syntax": (scan, {"cuda.grid": ["x.0 * (x.1"]}),
        "unknown": (scan, {"cuda.grid": ["y.0"]}),
        "attribute": (scan, {"attributes": {"scale": 1.0}, "cuda.grid": ["scale"]}),
        "nested": (scan, {"cuda.grid": ["(" * 100 + "1" + ")" * 100]}),
        "four": (scan, {"cuda.grid": [1, 2, 3, 4]}),
        "nothing": (scan, {"cuda": None, "host": None}),
        "scratch": (softcap, {"workspace_bytes": 8}),
        "two": (softcap, {"outputs": [*softcap["outputs"], {"name": "z", "type": "T"}]}),
        "gradients": (scan, {"gradient": ["A"]}),
        # Faults that only a node's shapes show.
        "zero": (scan, {"cuda.grid": ["x.0 / (x.1 - x.1)"]}),
        "overflow": (scan, {"cuda.grid": ["x.0 * 9223372036854775807"]}),
        "dimension": (scan, {"cuda.grid": ["x.7"]}),
        "negative": (scan, {"outputs.0.shape": ["x.0 - 10", 1, 1]}),
        "threads": (scan, {"cuda.block": [1024, 2]}),
        "shared": (scan, {"cuda.shared_bytes": "170000 + x.0"}),
        "rank": (scan, {"inputs.0.shape": [None]}),
        "size": (scan, {"inputs.1.shape": ["x.0", "x.1", "x.2 + 1"]}),
        "integers": (scan, {"types.T": ["i32"]}),
        "one": (scan, {"inputs": scan["inputs"][:1]}),
        # Faults that only compiling shows.
        "device": (softcap, {"host": None}),
        "host": (softcap, {"cuda": None}),
        "broken": (softcap, {"cuda.file": "broken.cu", "host.file": "broken.c"}),
        "call": (softcap, {"cuda.function": "softcup", "host.function": "softcup"}),
        "arguments": (softcap, {"arguments": []}),
        "pointer": (scan, {"host.file": "int.c"}),
        "other": (scan, {"cuda.file": "other.cu"}),
        "fewer": (scan, {"cuda.file": "fewer.cu"}),
        "wide": (scan, {"cuda.file": "wide.cu"}),
        "pointees": (scan, {"cuda.file": "pointees.cu"}),
        "plain": (MOMENTS, {"cuda.file": "plain.cu"}),
        "whole": (softcap, {"cuda.file": "whole.cu", "host.file": "whole.c"}),
        "narrow": (half, {}),
        "fraction": (half, {"cuda.file": "double.cu", "host.file": "double.c"}),
    }
    for name, (spec, changes) in specs.items():
        (folder / f"{name}.json").write_text(json.dumps(changed(spec, changes)))

    f32, i32, i8 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT8
    cube = [2, 9, 24]
    model(folder / "scan.onnx", "LinearScan", [("x", f32, cube), ("a", f32, cube)],
          [("h", f32, cube)])
    model(folder / "softcap.onnx", "Softcap", [("x", f32, cube)], [("y", f32, cube)], limit=2.0)
    model(folder / "half.onnx", "Half", [("x", i8, cube)], [("y", i8, cube)])
    model(folder / "axis.onnx", "Softcap", [("x", f32, cube)], [("y", f32, cube)], axis=1)
    model(folder / "moments.onnx", "Moments", [("x", f32, ["rows", 5])],
          [("mean", f32, ["rows"]), ("count", i32, ["rows"])], scale=2.0)
    model(folder / "norm.onnx", "AddNorm", [("x", f32, ["batch", 3, 40]), ("r", f32, ["batch", 3, 40]),
                                            ("w", f32, [40])],
          [("y", f32, ["batch", 3, 40]), ("sum", f32, ["batch", 3, 40])], epsilon=1e-5)
    rng = np.random.default_rng(0)
    x, r = rng.standard_normal((2, 3, 3, 40), dtype=np.float32)
    w = rng.uniform(0.5, 1.5, 40).astype(np.float32)
    total = abs(x) + r
    np.savez(folder / "norm.npz", x=x, r=r, w=w, sum=total,
             y=total / np.sqrt((total**2).mean(-1, keepdims=True) + 1e-5) * w)
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    np.save(folder / "rows.npy", x)
    np.savez(folder / "moments.npz", mean=2 * x.mean(axis=1), count=np.full(3, 5, np.int32))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
