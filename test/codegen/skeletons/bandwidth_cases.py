"""The fusions that bandwidth.py times, in groups."""

import numpy as np

from fusions import (Fusion, Tensor, depthwise, layer_norm, normalize, permute,
                     pool, softmax)


def maps():
    big = Tensor("f16", 65536, 1024)
    f = Fusion("relu f16", big)
    yield f.give(f.op("relu", "%x0"))
    f = Fusion("add f16, 2 inputs", big, big)
    yield f.give(f.op("add", "%x0", "%x1"))
    f = Fusion("add add relu f16, 3 inputs", big, big, big)
    yield f.give(f.op("relu", f.op("add", f.op("add", "%x0", "%x1"), "%x2")))
    f = Fusion("add f32, 2 inputs", big.like("f32"), big.like("f32"))
    yield f.give(f.op("add", "%x0", "%x1"))
    f = Fusion("bias of the last dimension, relu f16", big, Tensor("f16", 1024))
    yield f.give(f.op("relu", f.op("add", "%x0", "%x1")))
    image = Tensor("f16", 128, 256, 56, 56)
    f = Fusion("bias of a middle dimension f16", image,
               Tensor("f16", 256, 1, 1))
    yield f.give(f.op("add", "%x0", "%x1"))
    f = Fusion("gelu f16", big)
    yield f.give(f.op("gelu", "%x0"))
    f = Fusion("gelu by tanh f16", big)
    yield f.give(f.op("gelu", "%x0", attributes='approximate = "tanh"'))
    f = Fusion("cast f16 to f32", big)
    yield f.give(f.cast("%x0", "f32"))
    f = Fusion("cast f32 to f16", big.like("f32"))
    yield f.give(f.cast("%x0", "f16"))
    f = Fusion("gelu f16 1x384x4096", Tensor("f16", 1, 384, 4096))
    yield f.give(f.op("gelu", "%x0"))


def rows():
    f = Fusion("row sum f32 65536x4096", Tensor("f32", 65536, 4096))
    yield f.give(f.reduce("%x0", "sum", 1))
    f = Fusion("row maximum f16 16384x12000", Tensor("f16", 16384, 12000))
    yield f.give(f.reduce("%x0", "max", 1))
    for n, m in ((2 << 20, 64), (196608, 384), (131072, 1024), (75648, 197),
                 (32768, 4096), (8192, 16384), (4096, 50304)):
        yield softmax(f"softmax f16 {n}x{m}", Tensor("f16", n, m))
    # Rows that start in the middle of a vector.
    for n, m in ((75648, 198), (75648, 196), (150000, 99), (300007, 49),
                 (1000003, 17), (30011, 517), (16387, 1001)):
        yield softmax(f"softmax f16 {n}x{m}", Tensor("f16", n, m))
    for m in (197, 198):
        yield softmax(f"softmax f32 37825x{m}", Tensor("f32", 37825, m))
    for m in (196, 197, 198, 200):
        x = Tensor("f16", 75648, m)
        yield layer_norm(f"layer norm f16 75648x{m}", x)
        yield layer_norm(f"residual layer norm f16 75648x{m}", x,
                         residual=True)
    for n, m in ((300007, 49), (150000, 99), (30011, 517), (16387, 1001)):
        yield layer_norm(f"layer norm f16 {n}x{m}", Tensor("f16", n, m))
    yield layer_norm("layer norm f32 37825x197", Tensor("f32", 37825, 197))
    for kind, x in (("max", Tensor("f16", 151303, 197)),
                    ("sum", Tensor("f32", 75648, 197))):
        f = Fusion(f"row {kind} {x.element} {x.shape[0]}x197", x)
        yield f.give(f.reduce("%x0", kind, 1))
    yield softmax("softmax bf16 4096x50304", Tensor("bf16", 4096, 50304))
    yield softmax("softmax f32 4096x50304", Tensor("f32", 4096, 50304))
    yield softmax("masked softmax f16 196608x384", Tensor("f16", 32, 6144, 384),
                  2, Tensor("f16", 32, 1, 384))
    for n, m in ((131072, 768), (131072, 1024), (32768, 4096), (8192, 16384)):
        yield layer_norm(f"layer norm f16 {n}x{m}", Tensor("f16", n, m))
    yield layer_norm("layer norm f32 65536x1024", Tensor("f32", 65536, 1024))
    yield layer_norm("residual layer norm f16 131072x1024",
                     Tensor("f16", 131072, 1024), residual=True)
    x = Tensor("f16", 32768, 4096)
    f = Fusion("RMS norm f16 32768x4096", x, Tensor("f32", 4096))
    yield f.give(normalize(f, "%x0", 1, "%x1", None, mean=False))
    for n, m in ((197, 768), (384, 1024), (1024, 768), (12288, 1024)):
        yield layer_norm(f"layer norm f16 {n}x{m}", Tensor("f16", n, m))


def transposes():
    half = lambda *shape: Tensor("f16", *shape)
    full = lambda *shape: Tensor("f32", *shape)
    yield permute("f32 16384x8192", full(16384, 8192), 1, 0)
    yield permute("f16 16384x8192", half(16384, 8192), 1, 0)
    yield permute("f16 16381x8191", half(16381, 8191), 1, 0)
    yield permute("NCHW to NHWC f16 256x256x56x56", half(256, 256, 56, 56),
                  0, 2, 3, 1)
    yield permute("NHWC to NCHW f16 256x56x56x256", half(256, 56, 56, 256),
                  0, 3, 1, 2)
    yield permute("NCHW to NHWC f16 256x1024x7x7", half(256, 1024, 7, 7),
                  0, 2, 3, 1)
    yield permute("NHWC to NCHW f16 256x7x7x1024", half(256, 7, 7, 1024),
                  0, 3, 1, 2)
    yield permute("NCHW to NHWC f32 128x1024x7x7", full(128, 1024, 7, 7),
                  0, 2, 3, 1)
    yield permute("NCHW to NHWC f16 96x129x97x97", half(96, 129, 97, 97),
                  0, 2, 3, 1)
    for n, channels in ((60, 201), (80, 161), (48, 257), (40, 289), (38, 319)):
        yield permute(f"NCHW to NHWC f16 {n}x{channels}x97x97",
                      half(n, channels, 97, 97), 0, 2, 3, 1)
    yield permute("021 f16 512x197x769", half(512, 197, 769), 0, 2, 1)
    yield permute("021 f16 64x1021x1021", half(64, 1021, 1021), 0, 2, 1)
    yield permute("heads f16 64x512x16x64", half(64, 512, 16, 64), 0, 2, 1, 3)
    yield permute("reversed f16 512x384x520", half(512, 384, 520), 2, 1, 0)
    yield permute("reversed f32 512x384x260", full(512, 384, 260), 2, 1, 0)
    for n, rows, cols, run in ((64, 512, 64, 33), (64, 511, 63, 33),
                               (128, 512, 64, 17), (48, 512, 64, 49),
                               (32, 512, 64, 65), (12, 512, 64, 197),
                               (8, 128, 64, 1001), (96, 512, 512, 3),
                               (64, 512, 64, 34), (64, 512, 64, 36),
                               (24, 512, 64, 100)):
        yield permute(f"0213 f16 {n}x{rows}x{cols}x{run}",
                      half(n, rows, cols, run), 0, 2, 1, 3)
    for run in (33, 34, 49):
        yield permute(f"0213 f32 32x512x64x{run}", full(32, 512, 64, run),
                      0, 2, 1, 3)
    for n in (1, 32, 128):
        yield permute(f"image to NHWC f32 to f16 {n}x3x224x224",
                      full(n, 3, 224, 224), 0, 2, 3, 1, to="f16")
    yield permute("image to NHWC f32 512x3x224x224", full(512, 3, 224, 224),
                  0, 2, 3, 1)
    yield permute("image to NCHW f16 512x224x224x3", half(512, 224, 224, 3),
                  0, 3, 1, 2)
    yield permute("f16 8388608x5", half(8388608, 5), 1, 0)
    yield permute("f16 5x8388608", half(5, 8388608), 1, 0)
    yield permute("f16 8388608x6", half(8388608, 6), 1, 0)
    yield permute("f16 6x8388608", half(6, 8388608), 1, 0)
    yield permute("f16 4194304x7", half(4194304, 7), 1, 0)
    yield permute("f16 1048576x25", half(1048576, 25), 1, 0)


def image_padded():
    for n in (1, 32, 128):
        f = Fusion(f"image to NHWC, 8 channels, f32 to f16 {n}x3x224x224",
                   Tensor("f32", n, 3, 224, 224))
        value = f.op("transpose", f.cast("%x0", "f16"),
                     to=Tensor("f16", n, 224, 224, 3),
                     attributes="perm = array<i64: 0, 2, 3, 1>",
                     run=lambda a: a.transpose(0, 2, 3, 1))
        yield f.give(f.op("pad", value, to=Tensor("f16", n, 224, 224, 8),
                          run=lambda a: np.pad(a, [(0, 0)] * 3 + [(0, 5)]),
                          attributes="low = array<i64: 0, 0, 0, 0>, "
                          "high = array<i64: 0, 0, 0, 5>"))


def images_folded():
    for n in (1, 32, 128):
        f = Fusion(f"image to 2x2 pixels of 4 channels, f32 to f16 {n}",
                   Tensor("f32", n, 3, 112, 2, 112, 2))
        value = f.op("transpose", f.cast("%x0", "f16"),
                     to=Tensor("f16", n, 112, 112, 2, 2, 3),
                     attributes="perm = array<i64: 0, 2, 4, 3, 5, 1>",
                     run=lambda a: a.transpose(0, 2, 4, 3, 5, 1))
        yield f.give(f.op("pad", value, to=Tensor("f16", n, 112, 112, 2, 2, 4),
                          run=lambda a: np.pad(a, [(0, 0)] * 5 + [(0, 1)]),
                          attributes="low = array<i64: 0, 0, 0, 0, 0, 0>, "
                          "high = array<i64: 0, 0, 0, 0, 0, 1>"))


def pools():
    for n in (1, 32, 128):
        yield pool(f"max 3x3/2 NHWC f16 {n}x112x112x64", "max",
                   Tensor("f16", n, 112, 112, 64), 3, 2, 1, True)
    yield pool("max 3x3/2 NHWC f32 128x112x112x64", "max",
               Tensor("f32", 128, 112, 112, 64), 3, 2, 1, True)
    yield pool("max 3x3/2 NCHW f16 128x64x112x112", "max",
               Tensor("f16", 128, 64, 112, 112), 3, 2, 1, False)
    yield pool("max 3x3/2 NCHW f32 64x64x112x112", "max",
               Tensor("f32", 64, 64, 112, 112), 3, 2, 1, False)
    yield pool("max 2x2/2 NCHW f32 64x64x112x112", "max",
               Tensor("f32", 64, 64, 112, 112), 2, 2, 0, False)
    yield pool("average 3x3/1 NHWC f16 128x35x35x288", "avg",
               Tensor("f16", 128, 35, 35, 288), 3, 1, 1, True)
    yield pool("average 3x3/1 NHWC f32 128x35x35x192", "avg",
               Tensor("f32", 128, 35, 35, 192), 3, 1, 1, True)
    yield pool("average 3x3/1 NHWC f16 128x17x17x768", "avg",
               Tensor("f16", 128, 17, 17, 768), 3, 1, 1, True)
    yield pool("average 3x3/1 NHWC f16 128x8x8x2048", "avg",
               Tensor("f16", 128, 8, 8, 2048), 3, 1, 1, True)
    yield pool("average 5x5/1 NHWC f16 64x35x35x192", "avg",
               Tensor("f16", 64, 35, 35, 192), 5, 1, 2, True)
    yield pool("max 5x5/1 NHWC f16 64x20x20x512", "max",
               Tensor("f16", 64, 20, 20, 512), 5, 1, 2, True)
    yield pool("average 2x2/2 NCHW f16 128x128x56x56", "avg",
               Tensor("f16", 128, 128, 56, 56), 2, 2, 0, False)


def depthwises():
    # MobileNet's, EfficientNet's, ConvNeXt's and ConvMixer's.
    for n in (1, 32):
        for size, c, k, stride in (
                (112, 32, 3, 1), (112, 96, 3, 2), (56, 144, 3, 1),
                (28, 240, 5, 1), (14, 576, 3, 1), (14, 672, 5, 1),
                (7, 960, 3, 1), (7, 1152, 5, 1), (56, 96, 7, 1),
                (14, 384, 7, 1), (7, 768, 7, 1), (32, 768, 9, 1)):
            pad = k // 2
            yield depthwise(f"depthwise f16 {k}x{k}/{stride} {n}x{size}x{size}x{c}",
                            Tensor("f16", n, size, size, c), (k, k),
                            (stride, stride), (pad,) * 4)


def columns():
    for n in (1, 32, 128, 1024):
        f = Fusion(f"mean of 7x7 NHWC f16 {n}x7x7x2048",
                   Tensor("f16", n, 7, 7, 2048))
        total = f.reduce(f.cast("%x0", "f32"), "sum", 1, 2)
        mean = f.op("div", total, f.constant(49))
        yield f.give(f.cast(mean, "f16"))
    f = Fusion("mean of 7x7 NCHW f16 1024x2048x7x7",
               Tensor("f16", 1024, 2048, 7, 7))
    total = f.reduce(f.cast("%x0", "f32"), "sum", 2, 3)
    yield f.give(f.cast(f.op("div", total, f.constant(49)), "f16"))
    f = Fusion("column sum f32 65536x1024", Tensor("f32", 65536, 1024))
    yield f.give(f.reduce("%x0", "sum", 0))
    f = Fusion("column sum f16 64x4096x512", Tensor("f16", 64, 4096, 512))
    yield f.give(f.reduce("%x0", "sum", 1))
    yield softmax("softmax of a middle dimension f16 64x256x3136",
                  Tensor("f16", 64, 256, 3136))
    yield softmax("softmax of a middle dimension f32 64x21x128x128",
                  Tensor("f32", 64, 21, 16384))
    for n in (1, 64):
        x = Tensor("f16", n, 256, 56, 56)
        weights = Tensor("f32", 256, 1, 1)
        f = Fusion(f"layer norm of channels NCHW f16 {n}x256x56x56", x,
                   weights, weights)
        yield f.give(normalize(f, "%x0", 1, "%x1", "%x2"))


def gathers():
    for n in (384, 12288):
        table = Tensor("f16", 30522, 1024)
        out = Tensor("f16", n, 1024)
        f = Fusion(f"gather f16 {n} rows of 1024", table, Tensor("i64", n))
        f.read = out.bytes + 8 * n
        yield f.give(f.op("gather", "%x0", "%x1", to=out))
        weights = Tensor("f32", 1024)
        f = Fusion(f"embedding and layer norm f16 {n}x1024", table,
                   Tensor("i64", n), out, weights, weights)
        f.read = 2 * out.bytes + 8 * n
        value = f.op("add", f.op("gather", "%x0", "%x1", to=out), "%x2")
        yield f.give(normalize(f, value, 1, "%x3", "%x4"))


GROUPS = {"map": maps, "row": rows, "transpose": transposes,
          "padded": image_padded, "folded": images_folded,
          "pool": pools, "depthwise": depthwises, "column": columns,
          "gather": gathers}
