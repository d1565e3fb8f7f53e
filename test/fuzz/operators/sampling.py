"""Resizing and sampling of images."""
import numpy as np

from graphs import F32, I64, Graph

from .contraction import image
from .table import operator


@operator(weight=4)
def resize(g: Graph):
    rank = g.one_of(1, 2, 2, 2, 3)
    x = image(g, rank)
    mode = g.one_of("nearest", "linear", "cubic")
    if mode == "cubic" and rank != 2:
        return False
    attributes = dict(mode=mode, coordinate_transformation_mode=g.one_of(
        "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"))
    if mode == "nearest":
        attributes["nearest_mode"] = g.one_of(
            "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if mode == "cubic":
        attributes["cubic_coeff_a"] = g.one_of(-0.75, -0.5)
        attributes["exclude_outside"] = g.integer(0, 2)
    # Exact ratios only: otherwise the nearest pixel depends on rounding.
    scales = [1.0, 1.0] + [g.one_of(1.0, 2.0, 0.5, 4.0) for _ in range(rank)]
    sizes = [int(s * f) for s, f in zip(x.shape, scales)]
    if min(sizes) < 1 or any(s * f != int(s * f)
                             for s, f in zip(x.shape, scales)):
        return False
    if attributes["coordinate_transformation_mode"] == "align_corners" \
            and mode == "nearest":
        return False
    # For a single result, ONNX Runtime's cubic does not begin at 0.
    if attributes["coordinate_transformation_mode"] == "pytorch_half_pixel" \
            and mode == "cubic" and 1 in sizes[2:]:
        return False
    operands = [x, None, g.constant(scales, F32)]
    if g.chance(0.4):
        operands = [x, None, None, g.constant(sizes)]
    return g.add("Resize", operands, mode != "nearest", **attributes)


@operator()
def upsample(g: Graph):
    """Resize by whole factors, as Upsample was."""
    x = image(g, 2)
    factors = [1.0, 1.0, float(g.integer(1, 4)), float(g.integer(1, 4))]
    return g.add("Resize", [x, None, g.constant(factors, F32)], False,
                 mode="nearest", nearest_mode="floor",
                 coordinate_transformation_mode="asymmetric")


@operator(weight=2)
def grid_sample(g: Graph):
    rank = g.one_of(2, 2, 3)
    x = image(g, rank)
    mode = g.one_of("linear", "nearest", "cubic")
    if mode == "cubic" and rank == 3:
        return False
    shape = [x.shape[0], *(g.integer(1, 6) for _ in range(rank)), rank]
    grid = g.rng.uniform(-1.2, 1.2, shape).astype(F32)
    return g.add("GridSample", [x, g.given(grid)], mode=mode,
                 padding_mode=g.one_of("zeros", "border", "reflection"),
                 align_corners=g.integer(0, 2))


@operator()
def affine_grid(g: Graph):
    rank = g.one_of(2, 3)
    n = g.integer(1, 3)
    theta = g.given(g.draw([n, rank, rank + 1]))
    size = [n, 1] + [g.integer(2, 6) for _ in range(rank)]
    return g.add("AffineGrid", [theta, g.constant(size)],
                 align_corners=g.integer(0, 2))


@operator()
def roi_align(g: Graph):
    x = image(g, 2)
    count = g.integer(1, 4)
    corner = g.rng.uniform(0, 2, (count, 2))
    rois = np.concatenate([corner, corner + g.rng.uniform(1.1, 4, (count, 2))],
                          -1).astype(F32)
    at = g.rng.integers(0, x.shape[0], [count]).astype(I64)
    # Averages only: for a maximum, ONNX Runtime takes the largest weighted corner instead of the
    # largest sample.
    return g.add("RoiAlign", [x, g.given(rois), g.given(at)], mode="avg",
                 output_height=g.integer(1, 4), output_width=g.integer(1, 4),
                 sampling_ratio=g.integer(1, 3),
                 spatial_scale=g.one_of(1.0, 0.5),
                 coordinate_transformation_mode=g.one_of(
                     "half_pixel", "output_half_pixel"))
