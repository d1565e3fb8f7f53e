"""Models with symbolic dimensions, compiled once and called with every size.

    variants.py MODELS WORK [--device cpu|cuda] [--march ARCH] [--only REGEX]
                [--against-cpu]

Every call is compared with ONNX Runtime on the same inputs; without that,
the GPU with the CPU target, for models that are files. MODELS is test/models.
"""
import argparse
import pathlib
import re
import subprocess
import sys

# On ||out - ref|| / ||ref||.
LIMITS = {"cpu": 2e-5, "cuda": 1e-4}

HEADER = '<ir_version: 8, opset_import: ["": 21]>\n'

# A name, -fshape flags, the sizes to call with and the model.
WRITTEN = [
    ("mlp", ["batch=1..9"], [{"batch": n} for n in range(1, 10)], """
m (float[batch,5] x) => (y, z) {
  w = Constant <value = float[5,3] {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6}> ()
  h = MatMul (x, w)
  y = Softmax <axis = -1> (h)
  z = ReduceMax <keepdims = 0> (h, axis)
}""".replace("=> (y, z) {", "=> (y, z) <int64[1] axis = {1}> {")),
    # The batch is not the leading dimension.
    ("time_major", ["batch=1..6"], [{"batch": n} for n in range(1, 7)], """
m (float[4,batch,3] x) => (y, s) <int64[1] axis = {0}> {
  y = Tanh (x)
  s = ReduceSum <keepdims = 0> (x, axis)
}"""),
    # Both dimensions of the result are the batch.
    ("similarity", ["batch=2..5"], [{"batch": n} for n in range(2, 6)], """
m (float[batch,4] x) => (y) {
  t = Transpose <perm = [1, 0]> (x)
  y = MatMul (x, t)
}"""),
    # Looked-up rows stay separate, and padded ids are valid.
    ("embedding", ["batch=1..5"], [{"batch": n} for n in range(1, 6)], """
m (int64[batch,2] x) => (y) <float[3,2] w = {1, 2, 3, 4, 5, 6}> {
  y = Gather <axis = 0> (w, x)
}"""),
    ("fold", ["batch=1..5"], [{"batch": n} for n in range(1, 6)], """
m (float[batch,3,2] x) => (y, r) <int64[2] s = {-1, 2}, int64[3] b = {-1, 3, 2}> {
  f = Reshape (x, s)
  y = Exp (f)
  r = Reshape (y, b)
}"""),
    # Folded with an outer dimension and unfolded again.
    ("inner", ["batch=1..6"], [{"batch": n} for n in range(1, 7)], """
m (float[4,batch,3] x) => (y) <float[3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, int64[2] s = {-1, 3}, int64[3] b = {4, -1, 3}> {
  f = Reshape (x, s)
  h = MatMul (f, w)
  e = Relu (h)
  y = Reshape (e, b)
}"""),
    # Prepared tensors are partly equal for all sizes.
    ("prepared", ["batch=1..6"], [{"batch": n} for n in range(1, 7)], """
m (float[batch,3] x) => (y) <float[1,3] c = {1, 2, 3}, float[3,3] w = {1, 0, 2, 0, 1, 0, 2, 0, 1}> {
  s = Shape (x)
  e = Expand (c, s)
  p = Exp (e)
  v = Exp (w)
  h = MatMul (x, v)
  d = Softmax <axis = 0> (v)
  k = MatMul (h, d)
  y = Add (k, p)
}"""),
    # Rows 0, 2, … of a padded input are not a prefix, so only listed sizes work.
    ("second", ["batch=2,3,8"], [{"batch": n} for n in (2, 3, 8)], """
m (float[batch,4] x) => (y) <int64[1] s = {0}, int64[1] e = {1000}, int64[1] a = {0}, int64[1] t = {2}> {
  y = Slice (x, s, e, a, t)
}"""),
    # Padded keys are masked.
    ("attention", ["batch=1..3", "seq=1..7"],
     [{"batch": b, "seq": s} for b in (1, 3, 2) for s in (7, 6, 5, 3, 1)], """
m (float[batch,seq,4] x) => (y) {
  t = Transpose <perm = [0, 2, 1]> (x)
  s = MatMul (x, t)
  p = Softmax <axis = -1> (s)
  y = MatMul (p, x)
}"""),
    # Both dimensions are padded.
    ("both", ["batch=1..4", "seq=1..5"],
     [{"batch": b, "seq": s} for b in (1, 3, 4) for s in (5, 3, 2)], """
m (float[batch,seq,2] x) => (y) <float[2,3] w = {1, 2, 3, 4, 5, 6}> {
  h = MatMul (x, w)
  y = Relu (h)
}"""),
    # Sums of valid rows, divided by their number.
    ("mean", ["batch=1..9"], [{"batch": n} for n in range(1, 10)], """
m (float[batch,4] x) => (y, s) <int64[1] axes = {0}> {
  m = ReduceMean (x, axes)
  c = Sub (x, m)
  y = Softmax <axis = 0> (c)
  e = Exp (x)
  t = Transpose <perm = [1, 0]> (e)
  s = MatMul (t, e)
}"""),
    # A list of two open sizes: its length is their sum.
    ("lists", ["h=1..9", "w=1..12"],
     [{"h": h, "w": w} for h in (1, 2, 3, 5, 8, 9) for w in (1, 3, 4, 7, 11, 12)], """
m (float[2,h,3] x, float[2,w,3] z) => (y, a, t) <float[3,3] f = {1, 2, -1, 0.5, 3, 1, 2, 1, -2}> {
  c = Concat <axis = 1> (x, z)
  q = MatMul (c, f)
  k = Transpose <perm = [0, 2, 1]> (q)
  s = MatMul (q, k)
  p = Softmax <axis = -1> (s)
  y = MatMul (p, q)
  e = Exp (z)
  b = Concat <axis = 1> (x, e, x)
  a = Sigmoid (b)
  t = Transpose <perm = [0, 2, 1]> (c)
}"""),
    # Images resized by no whole number, with what convolutions leave of them.
    ("enlarged", ["height=4..21", "width=5..9"],
     [{"height": h, "width": w} for h in (*range(4, 10), 15, 16, 20, 21) for w in (5, 6, 9)], """
m (float[1,2,height,width] x) => (y, z, d)
    <float[2,2,3,3] f = {0.5,-1,2,1,3,-2,1,0.25,1,-1,2,0.5,1,-3,1,2,1,-1,1,0.5,-2,1,2,1,-1,1,3,2,-0.5,1,1,-1,2,0.5,1,1},
     float[4] more = {1, 1, 1.5, 1.5}, float[4] less = {1, 1, 0.75, 1.25}> {
  u = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, , more)
  y = Conv <pads = [1, 1, 1, 1]> (u, f)
  l = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (x, , less)
  z = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (l, f)
  d = Sigmoid (u)
}"""),
    # The neutral element of each reduction.
    ("combined", ["n=1..9"], [{"n": n} for n in range(1, 10)], """
m (float[3,n] x) => (sum, product, most, least, logsum, norm, last, first)
    <int64[1] axes = {1}, float one = {1}> {
  a = Add (x, one)
  sum = ReduceSum <keepdims = 0> (a, axes)
  product = ReduceProd <keepdims = 0> (a, axes)
  low = Sub (x, one)
  b = Neg (low)
  h = Mul (b, b)
  n = Neg (h)
  most = ReduceMax <keepdims = 0> (n, axes)
  least = ReduceMin <keepdims = 0> (h, axes)
  logsum = ReduceLogSumExp (x, axes)
  norm = ReduceL2 (a, axes)
  last = ArgMax <axis = 1, select_last_index = 1> (n)
  first = ArgMin <axis = 1> (h)
}"""),
    ("running", ["n=2..6"], [{"n": n} for n in range(2, 7)], """
m (int64[n,3] x) => (y, z, most, all) <int64 axis = {0}, int64[1] axes = {0}, int64 five = {5}> {
  a = Add (x, five)
  y = CumSum <reverse = 1> (a, axis)
  z = CumSum <exclusive = 1> (a, axis)
  n = Neg (a)
  most = ReduceMax (n, axes)
  all = ReduceSum <keepdims = 0> (a)
}"""),
    # Padding becomes infinite, and infinity times zero is not zero.
    ("infinite", ["n=1..5"], [{"n": n} for n in range(1, 6)], """
m (float[n,4] x) => (y) {
  s = Mul (x, x)
  l = Log (s)
  t = Transpose <perm = [1, 0]> (l)
  y = MatMul (t, l)
}"""),
    ("norm", ["wide=1..12"], [{"wide": n} for n in (1, 2, 3, 5, 11, 12)], """
m (float[2,3,4,wide] x) => (y, z) <float[3] s = {1, 2, 3}, float[3] b = {0, 1, 2}> {
  y = InstanceNormalization (x, s, b)
  z = GlobalAveragePool (x)
}"""),
    ("scaled", ["n=2..9"], [{"n": n} for n in range(2, 10)], """
m (float[n,4] x) => (y) <int64 first = {0}, float one = {1}> {
  d = Shape (x)
  n = Gather <axis = 0> (d, first)
  f = Cast <to = 1> (n)
  g = Add (f, one)
  y = Div (x, g)
}"""),
    # One loop serves all lengths, in both directions.
    ("lstm", ["seq=1..9"], [{"seq": n} for n in range(1, 10)], """
m (float[seq,2,2] x) => (y, h, c) <float[2,8,2] w = {0.25, 0.48, 0.59, 0.88, 0.48, 0.84, -0.94, -0.07, 0.89, 0.30, 0.80, -0.77, -0.06, -0.51, 0.09, 0.15, -0.97, -0.57, -0.44, 0.83, 0.53, -0.68, 0.59, -0.72, 0.23, -0.75, -1.00, 0.74, -0.58, -0.57, 0.96, 0.74},
    float[2,8,2] r = {-0.42, 0.92, 0.08, 0.36, -0.59, 0.88, 0.38, 0.93, 0.79, -0.40, -0.28, -0.67, -0.71, -0.87, -0.40, 0.21, -0.99, 0.36, -0.32, -0.38, 0.64, -0.04, -0.37, -0.04, 0.41, -0.89, 0.95, -0.95, 0.50, 0.69, -0.96, 0.58}, float[2,16] b = {-0.27, 0.16, -0.98, -0.91, -0.64, 0.91, -0.61, 0.51, 0.86, 0.88, -0.31, -0.29, 0.05, 0.55, -0.78, 0.50, 0.59, 0.72, -0.93, 0.89, -0.82, -0.32, 0.22, 0.84, -0.32, 0.85, 0.09, -0.38, -0.37, -0.65, -0.84, -0.70}> {
  y, h, c = LSTM <hidden_size = 2, direction = "bidirectional"> (x, w, r, b)
}"""),
    ("gru", ["seq=1..9", "batch=1..3"],
     [{"seq": n, "batch": n % 3 + 1} for n in range(1, 10)], """
m (float[seq,batch,2] x, float[1,batch,2] s) => (y, h) <float[1,6,2] w = {0.38, 0.99, -0.68, -0.90, 0.97, 0.07, -0.19, -0.53, 0.19, 0.65, -0.09, -0.16},
    float[1,6,2] r = {-0.89, 0.83, -0.93, -0.01, 0.68, -0.74, 0.46, 0.90, 0.26, 0.58, -0.79, -0.13}, float[1,12] b = {-0.70, 0.69, -0.41, -0.09, 1.00, 0.70, 0.95, -0.09, -0.02, 0.46, -0.04, -0.42}> {
  y, h = GRU <hidden_size = 2, direction = "reverse", linear_before_reset = 1> (x, w, r, b, , s)
}"""),
    ("rnn", ["seq=1..9"], [{"seq": n} for n in range(1, 10)], """
m (float[seq,2,2] x) => (y, h) <float[1,2,2] w = {-0.19, -0.71, -0.25, 0.98}, float[1,2,2] r = {0.92, 0.25, -0.00, -0.32},
    int32[2] lens = {1, 0}> {
  y, h = RNN <hidden_size = 2> (x, w, r, , lens)
}"""),
    # Listed sizes also serve smaller ones.
    ("list", ["batch=3,8"], [{"batch": n} for n in (1, 3, 5, 8, 2)], """
m (float[batch,4] x, float[batch] b) => (y) <int64[2] s = {-1, 1}> {
  c = Reshape (b, s)
  y = Add (x, c)
}"""),
    ("places", ["batch=1..6"], [{"batch": n} for n in range(1, 7)], """
m (float[batch,4] x) => (y) <float one = {1}, float zero = {0}, int64 first = {0}, int64[2] s = {-1, 1}> {
  d = Shape (x)
  n = Gather <axis = 0> (d, first)
  f = Cast <to = 1> (n)
  i = Range (zero, f, one)
  r = Reshape (i, s)
  y = Mul (x, r)
}"""),
]
FILES = [("digits-dynamic.onnx", 7), ("tiny/resnet50-dynamo-dynamic.onnx", 3),
         ("tiny/vit-b16-torchscript-dynamic.onnx", 3),
         ("tiny/bert-large-dynamo-dynamic.onnx", 3),
         ("tiny/gpt3-small-torchscript-dynamic.onnx", 3)]
# Files whose second dimension becomes symbolic too.
SEQUENCES = [("tiny/bert-large-torchscript-dynamic.onnx", 20),
             ("tiny/gpt3-small-torchscript-dynamic.onnx", 24)]
# Text encoders with masks: constants of 64 tokens are not folded, those of 63 are.
ENCODERS = ["encoder-bert-dynamo.onnx", "encoder-bert-torchscript.onnx",
            "encoder-deberta-dynamo.onnx", "encoder-deberta-v1-torchscript.onnx"]


def open_sequence(path, work):
    import onnx
    model = onnx.load(path)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[1].dim_param = "seq"
    del model.graph.value_info[:]
    opened = work / f"{path.stem}-seq.onnx"
    onnx.save(model, opened)
    return opened


def models(folder, work, written):
    """Path, flags and sizes of each model."""
    for name, flags, sizes, text in WRITTEN if written else []:
        import onnx.parser
        path = work / f"{name}.onnx"
        onnx.save(onnx.parser.parse_model(HEADER + text), path)
        yield path, flags, sizes
    for name, most in FILES:
        yield (folder / name, [f"batch=1,2,{most + 1}"],
               [{"batch": n} for n in range(1, most + 2)])
    for name, most in SEQUENCES if written else []:
        yield (open_sequence(folder / name, work),
               ["batch=1..2", f"seq=1..{most}"],
               [{"batch": b, "seq": s} for b in (1, 2)
                for s in (most, 1, 2, 3, most // 2, most - 1)])
    for name in ENCODERS:
        yield (folder / name, ["batch=1..2", "seq=2..80"],
               [{"batch": b, "seq": s} for b in (1, 2)
                for s in (80, 70, 2, 3, 16, 33, 63)])


class Reference:
    """Random inputs, and ONNX Runtime's results."""

    def __init__(self):
        import numpy
        self.numpy = numpy
        self.generator = numpy.random.default_rng(3)

    def open(self, path):
        import onnx
        import onnxruntime
        self.model = onnx.load(path, load_external_data=False)
        self.type = onnx.helper.tensor_dtype_to_np_dtype
        self.session = onnxruntime.InferenceSession(str(path))

    def make_inputs(self, sizes):
        inputs = {}
        for value in self.model.graph.input:
            tensor = value.type.tensor_type
            shape = [sizes[d.dim_param] if d.dim_param else d.dim_value
                     for d in tensor.shape.dim]
            dtype = self.type(tensor.elem_type)
            inputs[value.name] = (
                self.generator.integers(0, 3, shape) if dtype.kind == "i"
                else self.generator.standard_normal(shape)).astype(dtype)
            if value.name == "mask":
                inputs["mask"][:, 0] = 1
        return inputs

    def write(self, sizes, work):
        inputs = self.make_inputs(sizes)
        names = [output.name for output in self.session.get_outputs()]
        outputs = dict(zip(names, self.session.run(None, inputs)))
        self.numpy.savez(work / "in.npz", **inputs)
        self.numpy.savez(work / "out.npz", **{
            name: self.numpy.array(value, order="C")
            for name, value in outputs.items()})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--march", default="x86-64-v3")
    parser.add_argument("--only", default=".")
    parser.add_argument("--against-cpu", action="store_true")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    failures = count = calls = 0

    def failed(done, what):
        nonlocal failures
        if done.returncode:
            print(f"{what}\n{done.stdout}{done.stderr}")
            failures += 1
        return done.returncode

    def call(*command):
        return subprocess.run(command, capture_output=True, text=True)

    def call_against_cpu(library, size):
        """The GPU and CPU targets on the same random inputs."""
        shape = "--shape=" + ",".join(f"{k}={v}" for k, v in size.items())
        expected = options.work / "out.npz"
        if not failed(call("frit-run", library, "--device=cpu", shape,
                           f"--output=@{expected}"), f"{library} {size}"):
            failed(call("frit-run", library, f"--device={options.device}",
                        shape, f"--compare={expected}", "--l2=1e-3"),
                   f"{library} {size}")

    if not options.against_cpu:
        reference = Reference()
    for path, flags, sizes in models(options.folder, options.work,
                                     not options.against_cpu):
        if not re.search(options.only, path.stem):
            continue
        count += 1
        library = options.work / f"{path.stem}.so"
        march = options.march + (",x86-64-v3" if options.against_cpu else "")
        if failed(call("fritc", path, f"-march={march}",
                       *(f"-fshape={flag}" for flag in flags), "-o", library),
                  path.stem):
            continue
        if not options.against_cpu:
            reference.open(path)
        for size in sizes:
            calls += 1
            if options.against_cpu:
                call_against_cpu(library, size)
                continue
            reference.write(size, options.work)
            failed(call("frit-run", library, f"--device={options.device}",
                        f"--input=@{options.work / 'in.npz'}",
                        f"--compare={options.work / 'out.npz'}",
                        f"--l2={LIMITS[options.device]}"), f"{path.stem} {size}")
    print(f"{count} models, {calls} calls:",
          f"{failures} failed" if failures else "all agree")
    sys.exit(failures > 0)


main()
