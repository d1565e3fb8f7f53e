# RUN: %python %s
"""Gradients of products, convolutions, pools, norms, attention and losses."""
import numpy as np

from harness import gradient, ints, random, run


def doubles(*shape, low=-1, high=1, seed=0):
    return random(*shape, dtype=np.float64, low=low, high=high, seed=seed)


def distinct(*shape):
    """Numbers that are far enough apart to have one maximum."""
    size = int(np.prod(shape))
    order = np.random.default_rng(size).permutation(size)
    return order.reshape(shape) / 16.0


# Products.
for a, b, shape, flags in (
        ((3, 4), (4, 5), (3, 5), ""),
        ((4, 3), (5, 4), (3, 5), "transpose_a, transpose_b"),
        ((2, 3, 4), (4, 5), (2, 3, 5), ""),
        ((2, 4, 3), (4, 5), (2, 3, 5), "transpose_a"),
        ((2, 1, 3, 4), (6, 5, 4), (2, 6, 3, 5), "transpose_b"),
        ((4,), (2, 4, 5), (2, 5), ""), ((2, 3, 4), (4,), (2, 3), ""),
        ((4,), (4,), (), "")):
    gradient("matmul", [doubles(*a), doubles(*b, seed=1)], shape, flags)

# Convolutions.
def conv(x, w, strides, pads, dilations, group=1, bias=True):
    rank = len(strides)
    out = [(x[2 + d] + pads[d] + pads[rank + d] - (w[2 + d] - 1) * dilations[d]
            - 1) // strides[d] + 1 for d in range(rank)]
    lists = (f"{ints('strides', strides)}, {ints('pads', pads)}, "
             f"{ints('dilations', dilations)}, group = {group} : i64")
    a, f = doubles(*x), doubles(*w, seed=1)
    rest = [doubles(w[0], seed=2)] if bias else []
    gradient("conv", [a, f, *rest], (x[0], w[0], *out), lists)
    gradient("conv", [np.moveaxis(a, 1, -1), np.moveaxis(f, 1, -1), *rest],
             (x[0], *out, w[0]), lists + ", channels_last")


conv((2, 3, 5), (4, 3, 3), (1,), (1, 1), (1,))
conv((2, 2, 5, 6), (3, 2, 3, 2), (1, 1), (0, 0, 0, 0), (1, 1), bias=False)
conv((1, 2, 7, 6), (2, 2, 3, 3), (2, 3), (1, 0, 2, 1), (1, 1))
conv((1, 2, 8, 7), (2, 2, 2, 3), (2, 1), (3, 2, 1, 0), (2, 2))
conv((2, 4, 5, 5), (6, 2, 3, 3), (2, 2), (1, 1, 1, 1), (1, 1), group=2)
conv((2, 3, 4, 5), (3, 1, 3, 3), (1, 2), (1, 1, 1, 1), (1, 1), group=3)
conv((2, 3, 4, 5), (6, 1, 1, 1), (2, 2), (0, 0, 0, 0), (1, 1), group=3)
conv((1, 2, 4, 3, 4), (2, 2, 2, 2, 3), (1, 2, 1), (0, 1, 1, 1, 0, 1), (1, 1, 1))
conv((1, 4, 70), (4, 2, 66), (2,), (1, 1), (1,), group=2)
# Elements that no window covers, and windows over pads alone.
conv((1, 1, 9), (1, 1, 2), (4,), (0, 0), (1,))
conv((1, 1, 3), (1, 1, 1), (3,), (5, 4), (1,))
conv((1, 1, 2), (1, 1, 2), (4,), (6, 7), (1,))
gradient("conv", [random(2, 3, 6, dtype=np.float16),
                  random(4, 3, 3, dtype=np.float16),
                  random(4, dtype=np.float16)], (2, 4, 6),
         f"{ints('strides', (1,))}, {ints('pads', (1, 1))}, "
         f"{ints('dilations', (1,))}")
# No images, no filters, and an input of pads alone.
conv((0, 2, 4), (3, 2, 2), (1,), (0, 0), (1,))
conv((2, 2, 4), (0, 2, 2), (1,), (0, 0), (1,))
conv((2, 2, 0), (3, 2, 2), (5,), (1, 3), (1,), bias=False)
gradient("depthwise_conv", [doubles(2, 5, 6, 3), doubles(3, 2, 3, seed=1)],
         (2, 3, 5, 3), f"{ints('strides', (2, 1))}, "
         f"{ints('pads', (1, 0, 1, 0))}, {ints('dilations', (1, 1))}")

# Pools.
def pool(op, x, window, strides, pads, dilations, out, flags=""):
    lists = ", ".join((ints("window", window), ints("strides", strides),
                       ints("pads", pads), ints("dilations", dilations),
                       ints("shape", out))) + flags
    gradient(op, [distinct(*x)], (*x[:2], *out), lists)
    gradient(op, [np.moveaxis(distinct(*x), 1, -1)], (x[0], *out, x[1]),
             lists + ", channels_last")


for op, flags in (("max_pool", ("",)), ("avg_pool", ("", ", include_pad"))):
    for flag in flags:
        pool(op, (2, 2, 7), (3,), (2,), (1, 1), (1,), (4,), flag)
        pool(op, (1, 2, 6, 5), (2, 3), (1, 1), (0, 0, 0, 0), (1, 1), (5, 3),
             flag)
        pool(op, (1, 2, 6, 7), (3, 2), (2, 3), (1, 0, 1, 1), (1, 2), (3, 3),
             flag)
        # As a network's stem, and with dilated windows. Strides divide the
        # shape, also of windows that lie apart.
        pool(op, (2, 3, 6, 8), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), (3, 4),
             flag)
        pool(op, (1, 2, 8, 6), (3, 2), (2, 3), (2, 0, 2, 0), (2, 2), (4, 2),
             flag)
        pool(op, (1, 2, 8), (2,), (4,), (0, 0), (1,), (2,), flag)
        # Windows of more elements than are compared one by one.
        pool(op, (1, 1, 12, 12), (6, 6), (2, 2), (2, 2, 2, 2), (1, 1), (6, 6),
             flag)
        # The last window reaches past the pads.
        pool(op, (1, 1, 5, 5), (2, 2), (2, 2), (0, 0, 0, 0), (1, 1), (3, 3),
             flag)
        pool(op, (1, 1, 3, 4, 4), (2, 2, 2), (1, 2, 2), (0,) * 6, (1, 1, 1),
             (2, 2, 2), flag)

# Norms.
x = doubles(3, 4, 5)
for op in ("softmax", "log_softmax"):
    for axis in (0, -1):
        gradient(op, [x], x.shape, f"axis = {axis} : si64")
for dtype, far in ((np.float64, 0), (np.float64, 1e3), (np.float32, 1e3),
                   (np.float16, 0)):
    a = (x + far).astype(dtype)
    for axis, shape in ((-1, (5,)), (1, (4, 5))):
        scale, bias = doubles(*shape, seed=1), doubles(*shape, seed=2)
        operands = [a, scale.astype(dtype), bias.astype(dtype)]
        rest = f"axis = {axis} : si64, epsilon = 1.0e-3 : f32"
        tolerance = 1e-3 if far and dtype == np.float32 else None
        gradient("layer_norm", operands, x.shape, rest, tolerance=tolerance)
        gradient("layer_norm", operands[:2], x.shape, rest,
                 tolerance=tolerance)
        if not far:
            gradient("rms_norm", operands[:2], x.shape, rest)
gradient("batch_norm", [x, doubles(4), doubles(4, seed=1), doubles(4, seed=2),
                        doubles(4, low=0.5, high=2)], x.shape)
gradient("batch_norm", [x, doubles(5), doubles(5, seed=1), doubles(5, seed=2),
                        doubles(5, low=0.5, high=2)], x.shape, "channels_last")
for dim, flag in ((1, ""), (-1, "channels_last")):
    channels = x.shape[dim]
    gradient("batch_mean", [x], (channels,), flag)
    gradient("batch_variance", [x, doubles(channels)], (channels,), flag)
images = doubles(2, 3, 2, 6)
for groups in (1, 3, 6):
    attribute = f"groups = {groups} : si64"
    gradient("group_norm", [images, doubles(6, seed=1), doubles(6, seed=2)],
             images.shape, attribute + ", epsilon = 1.0e-3 : f32")
    gradient("group_mean", [images], (2, groups, 1), attribute)
    gradient("group_variance", [images, doubles(2, groups, 1, seed=1)],
             (2, groups, 1), attribute)
for last, rank, parts in ((3, 2, 1), (5, 1, 3)):
    inner = (4, 3) if rank == 2 else (6,)
    gradient("conv_batch_norm",
             [doubles(2, *inner, 3), doubles(last, *[1] * rank, 3, seed=1),
              doubles(last, seed=2), doubles(last, seed=3)], (2, *inner, last),
             f"parts = {parts} : si64, epsilon = 1.0e-3 : f32")
parts = doubles(3, 2, 2, low=0.5)
gradient("merge_moments", [parts], (3, 1, 2), "width = 4 : si64")

# Attention.
def attention(heads, groups, queries, keys, mask=None, flags="", dtype=np.float64,
              scale=0.6, values=3):
    q, k, v = (doubles(2, n, rows, size, seed=i).astype(dtype)
               for i, (n, rows, size) in enumerate((
                   (heads, queries, 4), (groups, keys, 4), (groups, keys, values))))
    gradient("attention", [q, k, v] + ([] if mask is None else [mask]),
             (2, heads, queries, values), f"scale = {scale} : f32{flags}")


allowed = np.random.default_rng(1).random((5, 6)) > 0.4
allowed[2] = False  # A query that sees no key.
for heads, groups in ((1, 1), (4, 2), (3, 1)):
    attention(heads, groups, 5, 6)
    attention(heads, groups, 5, 6, allowed)
    attention(heads, groups, 5, 6, doubles(heads, 1, 6), ", causal")
    attention(heads, groups, 3, 3, flags=", causal", scale=1.0)
attention(2, 2, 4, 5, doubles(2, 1, 4, 5))
attention(4, 2, 5, 6, allowed, dtype=np.float16)
attention(4, 2, 5, 6, dtype=np.float32)
# By attention_grad, whose result is one tensor.
attention(4, 2, 5, 6, allowed, dtype=np.float16, values=4)
attention(4, 2, 5, 5, flags=", causal", dtype=np.float16, values=4)
# Ranges of keys, which attention_grad takes with ranges of queries.
ranges = np.array([[0, 1], [0, 2], [1, 3], [1, 3], [4, 5]], np.int32)[None, None]
attention(4, 2, 5, 5, ranges, dtype=np.float16, values=4)
attention(2, 2, 5, 6, ranges, dtype=np.float32)

# Losses.
logits = doubles(5, 7, low=-4, high=4)
labels = np.array([0, 6, -100, 3, 3])
gradient("cross_entropy", [logits, labels], (5,))
gradient("cross_entropy", [logits, np.array([0, 6, 3, 5, 1])], (5,),
         "ignore_index = 3 : si64, label_smoothing = 0.125 : f32")
gradient("bce_with_logits", [logits * 8, doubles(5, 1, low=0.1, high=0.9)],
         logits.shape)
gradient("squared_error", [logits, doubles(5, 1, seed=3)], logits.shape)
run()
