"""Blocks of rows: values of shape (..., channels)."""
import numpy as np

from .nodes import Builder, Value


class RowBlocks(Builder):
    def linear(self, x: Value, width: int, tied: Value | None = None) -> Value:
        self.blocks.append("linear")
        channels = x.shape[-1]
        if tied:
            turned = self.transpose(tied, [1, 0])
            return self.add("MatMul", [x, turned], [*x.shape[:-1], width])
        if len(x.shape) == 2 and self.chance(0.5):
            operands = [x, self.weight([width, channels])]
            if self.chance(0.8):
                operands.append(self.weight([width], 0.1))
            return self.add("Gemm", operands, [x.shape[0], width], transB=1)
        w = self.weight([channels, width], channels ** -0.5)
        y = self.add("MatMul", [x, w], [*x.shape[:-1], width])
        if self.chance(0.8):
            y = self.same("Add", y, self.weight([width], 0.1))
        return y

    def fits(self, x: Value, width: int) -> bool:
        rows = x.size // x.shape[-1]
        return self.holds(rows * width) and self.computes(x.size * width)

    def norm_rows(self, x: Value) -> Value:
        channels = x.shape[-1]
        if channels < 3:
            return x
        if self.chance(0.6):
            self.blocks.append("layer_norm")
            operands = [x, self.weight([channels], 0.2, 1.0)]
            if self.chance(0.8):
                operands.append(self.weight([channels], 0.1))
            return self.add("LayerNormalization", operands, x.shape, axis=-1,
                            epsilon=1e-3)
        self.blocks.append("rms_norm")
        squares = self.same("Mul", x, x)
        mean = self.add("ReduceMean", [squares, self.constant(np.array([-1]))],
                        [*x.shape[:-1], 1], keepdims=1)
        root = self.same("Sqrt", self.same(
            "Add", mean, self.constant(np.float32(1e-3))))
        normal = self.add("Div", [x, root], x.shape)
        return self.same("Mul", normal, self.weight([channels], 0.2, 1.0))

    def mlp(self, x: Value) -> Value:
        """Norm, linear, activation, linear, and a residual."""
        self.blocks.append("mlp")
        inner = self.width()
        if not self.fits(x, inner):
            return x
        h = self.norm_rows(x) if self.chance(0.7) else x
        h = self.linear(h, inner)
        if self.chance(0.3):  # gated
            h = self.same("Mul", self.activation(h), self.linear(
                x, inner))
        else:
            h = self.activation(h)
        if self.chance(0.2):
            h = self.drop(h)
        h = self.linear(h, x.shape[-1])
        if self.chance(0.3):
            h = self.scale_channels(h, len(x.shape) - 1)
        return self.same("Add", x, h)

    def attention(self, x: Value) -> Value:
        if len(x.shape) != 3 or x.shape[1] > 128:
            return x
        batch, rows, channels = x.shape
        heads = self.one_of(*[h for h in (1, 2, 3, 4) if channels % h == 0])
        size = channels // heads
        # Heads of 40 to 64 elements have a gradient of their own on sm_90a.
        if self.chance(0.5):
            heads, size = self.one_of(1, 2, 3), self.one_of(40, 48, 56, 64)
        width = heads * size
        if not self.fits(x, width):
            return x
        self.blocks.append(f"attention of {heads} heads of {size}")
        h = self.norm_rows(x) if self.chance(0.7) else x

        def head(turned):
            y = self.reshape(self.linear(h, width),
                             [batch, rows, heads, size])
            return self.transpose(y, [0, 2, 3, 1] if turned else [0, 2, 1, 3])
        q, k, v = head(False), head(True), head(False)
        scores = self.add("MatMul", [q, k], [batch, heads, rows, rows])
        scores = self.same("Mul", scores,
                           self.constant(np.float32(size ** -0.5)))
        if self.chance(0.4):
            mask = np.triu(np.full((rows, rows), -1e4, np.float32), 1)
            scores = self.same("Add", scores, self.constant(mask))
        elif self.chance(0.4):
            # The last keys of a batch's sentences are padding.
            length = 1 + np.arange(batch).reshape(batch, 1) * 7 % rows
            mask = np.where(np.arange(rows) < length, 0, -1e4)
            scores = self.same("Add", scores, self.constant(
                mask.astype(np.float32).reshape(batch, 1, 1, rows)))
        weights = self.same("Softmax", scores, axis=-1)
        y = self.add("MatMul", [weights, v], [batch, heads, rows, size])
        y = self.reshape(self.transpose(y, [0, 2, 1, 3]), [batch, rows, width])
        y = self.linear(y, channels)
        return self.same("Add", x, y)

    def rows_block(self, x: Value) -> Value:
        kind = self.integer(0, 12)
        if kind < 3:
            return self.mlp(x)
        if kind < 5:
            return self.attention(x)
        if kind < 7:
            width = self.width()
            return self.linear(x, width) if self.fits(x, width) else x
        if kind == 7:
            return self.norm_rows(x)
        if kind == 8:
            return self.activation(x)
        return self.rows_other(x)

    def normalize(self, x: Value) -> Value:
        """Divides rows by their norm, which is 0 for some of them."""
        self.blocks.append("normalize")
        kept = self.rng.random([*x.shape[:-1], 1]) < 0.9
        x = self.same("Mul", x, self.constant(kept.astype(np.float32)))
        norm = self.add("ReduceL2", [x, self.constant(np.array([-1]))],
                        kept.shape, keepdims=1)
        norm = self.same("Clip", norm, self.constant(np.float32(1e-2)))
        return self.same("Mul", self.same("Div", x, norm), self.weight(
            [x.shape[-1]], 0.2, 1.0))

    def subtract_largest(self, x: Value) -> Value:
        self.blocks.append("largest")
        most = self.add("ReduceMax", [x, self.constant(np.array([-1]))],
                        [*x.shape[:-1], 1], keepdims=1)
        return self.same("Sub", x, most)

    def rows_other(self, x: Value) -> Value:
        kind = self.integer(0, 7)
        if kind == 0:
            return self.drop(x) if x.name.startswith("v") else x
        if kind == 1:
            return self.scale_channels(x, len(x.shape) - 1)
        if kind == 2 and x.shape[0] > 1:  # gather of rows, some of them twice
            self.blocks.append("gather")
            at = self.rng.integers(0, x.shape[0], x.shape[0])
            return self.add("Gather", [x, self.constant(at)], x.shape, axis=0)
        if kind == 3 and x.shape[-1] >= 4:
            self.blocks.append("slice")
            half = x.shape[-1] // 2
            largest = self.chance(0.3)

            def part(start, end):
                return self.add(
                    "Slice", [x, *(self.constant(np.array([i]))
                                   for i in (start, end, -1))],
                    [*x.shape[:-1], half])
            one, other = part(0, half), part(half, 2 * half)
            if largest:
                return self.same("Max", one, other)
            return self.same("Mul", one, self.same("Sigmoid", other))
        if kind == 5:
            return self.normalize(x)
        if kind == 6:
            return self.subtract_largest(x)
        other = [v for v in self.values if v.shape == x.shape
                 and v.name != x.name]
        if other:
            return self.same("Add", x, other[self.integer(0, len(other))])
        return x
