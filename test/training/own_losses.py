"""Losses that models compute themselves, in 16 bits beside f64: own_losses.py FOLDER

A network of two products gives y = relu(x · w1) · w2, of which each loss is a
formula. Rounding y to 16 bits hardly moves the mean of many; rounding the sums
behind it would.
"""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import parser
from onnx.reference import ReferenceEvaluator
from runtime import Step

FOLDER = Path(sys.argv[1])
ROWS, WIDTH = 64, 64
random = np.random.default_rng(0)
INPUTS = {"x": random.standard_normal((ROWS, 32)).astype(np.float32),
          "t": random.standard_normal((ROWS, WIDTH)).astype(np.float32),
          "k": random.integers(0, WIDTH, (ROWS, 1))}
WEIGHTS = {"w1": random.normal(0, 0.2, (32, 48)).astype(np.float32),
           "w2": random.normal(0, 0.2, (48, WIDTH)).astype(np.float32)}
LOSSES = {
    "squares": "d = Sub (y, t) q = Mul (d, d) s = ReduceSum <keepdims=0> (q, one) loss = ReduceMean <keepdims=0> (s)",
    "absolute": "d = Sub (y, t) a = Abs (d) loss = ReduceMean <keepdims=0> (a)",
    "huber": """d = Sub (y, t) a = Abs (d) q = Mul (d, d) h = Mul (half, q) l = Sub (a, half) c = Less (a, unit)
        e = Where (c, h, l) s = ReduceSum <keepdims=0> (e, one) loss = ReduceMean <keepdims=0> (s)""",
    "kl": """p = Softmax <axis=-1> (t) lp = Log (p) ly = LogSoftmax <axis=-1> (y) d = Sub (lp, ly) e = Mul (p, d)
        s = ReduceSum <keepdims=0> (e, one) loss = ReduceMean <keepdims=0> (s)""",
    "contrastive": """l = LpNormalization <axis=-1, p=2> (y) r = LpNormalization <axis=-1, p=2> (t) rt = Transpose <perm=[1, 0]> (r)
        z = MatMul (l, rt) zs = Mul (z, ten) m = ReduceLogSumExp <axes=[1], keepdims=0> (zs)
        diagonal = Mul (l, r) d = ReduceSum <keepdims=0> (diagonal, one) ds = Mul (d, ten) e = Sub (m, ds) loss = ReduceMean <keepdims=0> (e)""",
    "triplet": """d = Sub (y, t) q = Mul (d, d) s = ReduceSum <keepdims=0> (q, one) a = Sqrt (s)
        n = Neg (t) f = Sub (y, n) g = Mul (f, f) gs = ReduceSum <keepdims=0> (g, one) b = Sqrt (gs)
        u = Sub (a, b) v = Add (u, unit) r = Relu (v) loss = ReduceMean <keepdims=0> (r)""",
    "focal": """l = LogSoftmax <axis=-1> (y) g = GatherElements <axis=1> (l, k) p = Exp (g) n = Sub (unit, p) q = Mul (n, n)
        e = Mul (q, g) m = Neg (e) loss = ReduceMean <keepdims=0> (m)""",
    "dice": """p = Sigmoid (y) b = Sigmoid (t) i = Mul (p, b) s = ReduceSum <keepdims=0> (i, one) c = ReduceSum <keepdims=0> (p, one)
        d = ReduceSum <keepdims=0> (b, one) u = Add (c, d) uu = Add (u, unit) ss = Add (s, s) sss = Add (ss, unit)
        r = Div (sss, uu) n = Sub (unit, r) loss = ReduceMean <keepdims=0> (n)""",
    "vae": """e = Exp (y) q = Mul (t, t) u = Add (unit, y) v = Sub (u, q) w = Sub (v, e) s = ReduceSum <keepdims=0> (w, one)
        h = Mul (half, s) n = Neg (h) loss = ReduceMean <keepdims=0> (n)""",
    "cosine": """i = Mul (y, t) s = ReduceSum <keepdims=0> (i, one) a = ReduceL2 <axes=[1], keepdims=0> (y)
        b = ReduceL2 <axes=[1], keepdims=0> (t) c = Mul (a, b) r = Div (s, c) n = Sub (unit, r) loss = ReduceMean <keepdims=0> (n)""",
    "tower": """d = Sub (y, t) f = Flatten <axis=1> (d) tr = Transpose <perm=[1, 0]> (f) q = Mul (tr, tr) s = ReduceMean <axes=[0], keepdims=0> (q)
        r = Reshape (s, many) g = Mul (r, ten) m = ReduceMax <axes=[1], keepdims=0> (g) loss = ReduceMean <keepdims=0> (m)""",
}


def model(formula, element="float"):
    text = f"""<ir_version: 8, opset_import: ["": 17]> g ({element}[{ROWS}, 32] x, {element}[{ROWS}, {WIDTH}] t, int64[{ROWS}, 1] k) => ({element} loss)
        <{element}[32, 48] w1, {element}[48, {WIDTH}] w2> {{
        one = Constant <value_ints: ints = [1]> () many = Constant <value_ints: ints = [8, 8]> ()
        half = Constant <value = {element} {{0.5}}> () unit = Constant <value = {element} {{1}}> () ten = Constant <value = {element} {{10}}> ()
        h1 = MatMul (x, w1) h2 = Relu (h1) y = MatMul (h2, w2)
        {formula} }}"""
    parsed = parser.parse_model(text)
    dtype = np.float64 if element == "double" else np.float32
    for name, value in WEIGHTS.items():
        parsed.graph.initializer.append(onnx.numpy_helper.from_array(value.astype(dtype), name))
    return parsed


for precision, limit in ("amp-bf16", 1e-3), ("amp-fp16", 2e-4):
    worst = 0
    for name, formula in LOSSES.items():
        wide = {n: v.astype(np.float64) if v.dtype == np.float32 else v for n, v in INPUTS.items()}
        expected = float(ReferenceEvaluator(model(formula, "double")).run(None, wide)[0])
        onnx.save(model(formula), FOLDER / f"{name}.onnx")
        (FOLDER / "own.json").write_text(json.dumps(
            {"loss": {"kind": "output"}, "optimizer": {"kind": "sgd", "learning_rate": 0}}))
        subprocess.run(["fritc", FOLDER / f"{name}.onnx", f"--train={FOLDER}/own.json", "-march=x86-64-v3",
                        f"-fprecision={precision}", "-o", FOLDER / "own.so"], check=True)
        step = Step(FOLDER / "own.so")
        for got in step.train(**INPUTS)["loss"], step.evaluate(**INPUTS)["loss"]:
            apart = abs(float(got) / expected - 1)
            assert apart < limit, (precision, name, float(got), expected)
            worst = max(worst, apart)
        step.close()
    print(f"{precision}: {len(LOSSES)} losses, at most {worst:.0e} off")
