"""Blocks of images: values of shape (batch, channels, height, width), or
without height."""
import numpy as np

from .nodes import Value
from .rows import RowBlocks


class ImageBlocks(RowBlocks):
    def conv(self, x: Value, channels: int, kernel=None, stride=None,
             groups=1) -> Value:
        batch, before, *sizes = x.shape
        kernel = kernel or self.one_of(1, 3, 3, 3, 5)
        stride = stride or self.one_of(1, 1, 1, 2)
        pad = self.one_of(kernel // 2, kernel // 2, 0)
        if min(sizes) + 2 * pad < kernel:
            pad = kernel // 2
        after = [(s + 2 * pad - kernel) // stride + 1 for s in sizes]
        cost = batch * channels * np.prod(after) * before // groups \
            * kernel ** len(sizes)
        if not self.computes(cost) or \
                not self.holds(batch * channels * np.prod(after)):
            return x
        self.blocks.append(f"conv {kernel}/{stride}/{pad} of {groups}")
        operands = [x, self.weight([channels, before // groups]
                                   + [kernel] * len(sizes))]
        if self.chance(0.5):
            operands.append(self.weight([channels], 0.1))
        return self.add("Conv", operands, [batch, channels, *after],
                        kernel_shape=[kernel] * len(sizes),
                        strides=[stride] * len(sizes),
                        pads=[pad] * 2 * len(sizes), group=groups)

    def grouped(self, x: Value) -> Value:
        channels = x.shape[1]
        groups = self.one_of(*[g for g in (2, 4, 8, channels)
                               if channels % g == 0] or [1])
        return self.conv(x, channels * self.one_of(1, 1, 2), None, None, groups)

    def norm_image(self, x: Value) -> Value:
        batch, channels, *sizes = x.shape
        area = int(np.prod(sizes))
        kind = self.one_of("batch", "batch", "group", "group", "instance",
                           "layer")
        vector = [channels]
        if kind == "batch" and batch * area > 4:
            self.blocks.append("batch_norm")
            return self.add("BatchNormalization", [
                x, self.weight(vector, 0.2, 1.0), self.weight(vector, 0.1),
                self.weight(vector, 0.0), self.weight(vector, 0.0, 1.0)],
                x.shape, epsilon=1e-3)
        groups = self.one_of(*[g for g in (1, 2, 3, 4, 8, 16, 32)
                               if channels % g == 0])
        if kind == "group" and area * channels // groups > 4:
            self.blocks.append(f"group_norm of {groups}")
            if self.chance(0.5):
                return self.add("GroupNormalization", [
                    x, self.weight(vector, 0.2, 1.0), self.weight(vector, 0.1)],
                    x.shape, num_groups=groups, epsilon=1e-3)
            ones = [self.constant(np.full(groups, c, np.float32))
                    for c in (1, 0)]
            y = self.reshape(x, [batch, groups, -1])
            y.shape = (batch, groups, x.size // batch // groups)
            y = self.add("InstanceNormalization", [y, *ones], y.shape,
                         epsilon=1e-3)
            y = self.reshape(y, x.shape)
            spread = [channels] + [1] * len(sizes)
            y = self.same("Mul", y, self.weight(spread, 0.2, 1.0))
            return self.same("Add", y, self.weight(spread, 0.1))
        if kind == "instance" and area > 4:
            self.blocks.append("instance_norm")
            return self.add("InstanceNormalization", [
                x, self.weight(vector, 0.2, 1.0), self.weight(vector, 0.1)],
                x.shape, epsilon=1e-3)
        if kind == "layer" and len(sizes) == 2:
            return self.transpose(self.norm_rows(
                self.transpose(x, [0, 2, 3, 1])), [0, 3, 1, 2])
        return x

    def pool(self, x: Value) -> Value:
        sizes = x.shape[2:]
        if min(sizes) < 4:
            return x
        op = self.one_of("MaxPool", "AveragePool")
        kernel, stride, pad = self.one_of((2, 2, 0), (3, 2, 1), (3, 1, 1))
        self.blocks.append(f"{op} {kernel}/{stride}/{pad}")
        rank = len(sizes)
        more = {} if op == "MaxPool" else {
            "count_include_pad": self.integer(0, 2)}
        return self.add(
            op, [x], [*x.shape[:2],
                      *((s + 2 * pad - kernel) // stride + 1 for s in sizes)],
            kernel_shape=[kernel] * rank, strides=[stride] * rank,
            pads=[pad] * 2 * rank, **more)

    def residual_image(self, x: Value) -> Value:
        """Conv, norm, activation, conv, norm, and a residual."""
        self.blocks.append("residual")
        width = self.width(128)
        h = self.conv(x, width, None, 1)
        h = self.activation(self.norm_image(h))
        h = self.conv(h, x.shape[1], self.one_of(1, 3), 1)
        if self.chance(0.5):
            h = self.norm_image(h)
        if self.chance(0.3):
            h = self.scale_channels(h, 1)
        if h.shape == x.shape:
            h = self.same("Add", h, x) if self.chance(0.5) else \
                self.same("Add", x, h)
        return self.activation(h) if self.chance(0.6) else h

    def squeeze_excite(self, x: Value) -> Value:
        self.blocks.append("squeeze_excite")
        one = [*x.shape[:2], *[1] * (len(x.shape) - 2)]
        y = self.add("GlobalAveragePool", [x], one)
        y = self.conv(self.activation(self.conv(y, self.width(32), 1, 1)),
                      x.shape[1], 1, 1)
        return self.same("Mul", x, self.same("Sigmoid", y))

    def image_block(self, x: Value) -> Value:
        kind = self.integer(0, 16)
        if kind < 3:
            return self.conv(x, self.width(128))
        if kind < 6:
            return self.residual_image(x)
        if kind < 9:
            return self.norm_image(x)
        if kind == 9:
            return self.activation(x)
        if kind == 10:
            return self.grouped(x)
        if kind == 11:
            return self.pool(x)
        if kind == 12:
            return self.squeeze_excite(x)
        if kind == 13:
            return self.rows_other(x) if self.chance(0.5) else \
                self.scale_channels(x, 1)
        if kind == 14:
            return self.concatenate(x)
        return self.enlarge(x)

    def concatenate(self, x: Value) -> Value:
        other = [v for v in self.values if len(v.shape) == len(x.shape)
                 and v.name != x.name and v.shape[0] == x.shape[0]
                 and v.shape[2:] == x.shape[2:]]
        if not other:
            return x
        y = other[self.integer(0, len(other))]
        channels = x.shape[1] + y.shape[1]
        if channels > 300 or not self.holds(x.size + y.size):
            return x
        self.blocks.append("concat")
        return self.add("Concat", [x, y], [x.shape[0], channels,
                                           *x.shape[2:]], axis=1)

    def enlarge(self, x: Value) -> Value:
        rank = len(x.shape) - 2
        if not self.holds(x.size << rank):
            return x
        after = [*x.shape[:2], *(2 * s for s in x.shape[2:])]
        if self.chance(0.5):
            self.blocks.append("resize")
            scales = self.constant(np.array([1, 1] + [2] * rank, np.float32))
            return self.add("Resize", [x, "", scales], after, mode="nearest",
                            coordinate_transformation_mode="asymmetric",
                            nearest_mode="floor")
        width = self.width(64)
        after[1] = width
        if not self.computes(x.size * width << rank) or \
                not self.holds(np.prod(after)):
            return x
        self.blocks.append("conv_transpose")
        w = self.weight([x.shape[1], width] + [2] * rank,
                        x.shape[1] ** -0.5)
        return self.add("ConvTranspose", [x, w], after,
                        kernel_shape=[2] * rank, strides=[2] * rank)
