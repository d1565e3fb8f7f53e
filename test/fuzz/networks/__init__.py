"""Random networks that train, the file of --train, and inputs.

A network is an image or a sequence that blocks transform one after another, and
a loss. Sizes are odd or small as often as they suit tensor cores. Weights are
scaled so that gradients neither vanish nor grow.
"""
import json

import numpy as np
import onnx
from onnx import helper, numpy_helper

from .images import ImageBlocks
from .nodes import Value

OPSET = 21


class Network(ImageBlocks):
    """Result of `generate`; `model` and `training_file` are for fritc."""

    def image(self) -> Value:
        """Returns rows."""
        rank = self.one_of(2, 2, 2, 2, 1)
        batch = self.one_of(1, 2, 3, 4, 8) * self.scale
        size = self.one_of(5, 7, 8, 8, 12, 16, 16, 17) if rank == 2 else \
            self.one_of(16, 33, 64, 100)
        channels = self.one_of(1, 3, 3, 8, 16, 64)
        x = self.given(self.draw([batch, channels, *[size] * rank]))
        x = self.conv(x, self.width(128))
        for _ in range(self.integer(1, 6)):
            x = self.image_block(x)
        batch, channels, *sizes = x.shape
        area = int(np.prod(sizes))
        how = self.integer(0, 3)
        if how == 0 and area * channels <= 1024:
            return self.reshape(x, [batch, area * channels])
        if how == 1 and area > 1:
            x = self.reshape(x, [batch, channels, area])
            return self.transpose(x, [0, 2, 1])
        x = self.add("GlobalAveragePool", [x],
                     [batch, channels, *[1] * len(sizes)])
        return self.reshape(x, [batch, channels])

    def tokens(self) -> tuple[Value, Value]:
        """Returns embedded tokens and the table."""
        batch, rows = self.one_of(1, 2, 3, 4) * self.scale, self.one_of(
            1, 7, 8, 16, 17, 32, 33, 64)
        words, width = self.width(), self.width(192)
        table = self.weight([words, width], 0.5)
        ids = self.given(self.rng.integers(0, words, [batch, rows]))
        self.blocks.append("embedding")
        x = self.add("Gather", [table, ids], [batch, rows, width], axis=0)
        if self.chance(0.5):
            x = self.same("Add", x, self.weight([rows, width], 0.3))
        return x, table

    def build(self) -> None:
        kind, table = self.integer(0, 10), None
        if kind < 5:
            x = self.image()
        elif kind < 8:
            x, table = self.tokens()
        else:
            shape = [self.one_of(1, 2, 7, 16, 33, 64, 128), self.width()]
            if self.chance(0.5):
                shape.insert(0, self.one_of(1, 2, 3, 4))
            shape[0] *= self.scale
            x = self.given(self.draw(shape))
        least = 1 if kind < 5 else 2
        for _ in range(self.integer(least - 1, least + 3)):
            x = self.rows_block(x)
        if table and table.shape[1] == x.shape[-1] and self.chance(0.5):
            self.blocks.append("tied")
            x = self.linear(x, table.shape[0], table)
        else:
            width = self.width()
            x = self.linear(x, width if self.fits(x, width) else 7)
        self.output = x
        self.add_loss(x)
        self.add_training()

    def add_loss(self, x: Value) -> None:
        kind = self.one_of("cross_entropy", "cross_entropy", "mse",
                           "bce_with_logits")
        if x.shape[-1] < 2 and kind == "cross_entropy":
            kind = "mse"
        loss = self.config["loss"] = {"kind": kind}
        self.blocks.append(kind)
        if kind == "cross_entropy":
            self.target = "labels"
            labels = self.rng.integers(0, x.shape[-1], x.shape[:-1])
            if self.chance(0.3) and labels.size > 1:
                labels.reshape(-1)[self.integer(0, labels.size)] = -100
            if self.chance(0.3):
                loss["label_smoothing"] = 0.125
            self.inputs["labels"] = labels
        elif kind == "mse":
            self.target = "target"
            self.inputs["target"] = self.draw(x.shape)
        else:
            self.target = "target"
            self.inputs["target"] = (self.rng.random(x.shape) < 0.5
                                     ).astype(np.float32)

    def add_training(self) -> None:
        kind = self.one_of("sgd", "sgd", "sgd", "adam", "adamw", "lamb")
        optimizer = self.config["optimizer"] = {"kind": kind,
                                                "learning_rate": 0.125}
        if kind == "sgd" and self.chance(0.4):
            optimizer["momentum"] = 0.5
            optimizer["nesterov"] = self.chance(0.5)
        if kind != "sgd":
            optimizer["learning_rate"] = 1 / 64
        if self.chance(0.3):
            optimizer["weight_decay"] = 0.125
        if self.chance(0.3):
            self.config["clip_norm"] = self.one_of(0.125, 1.0)
        if self.chance(0.2):
            self.config["accumulate"] = 2
        if self.chance(0.2) and len(self.weights) > 2:
            names = [*self.weights]
            self.config["freeze"] = [names[self.integer(0, len(names))]]
        if self.chance(0.2):
            nodes = [n.name for n in self.nodes if n.name and n.op_type in (
                "Gelu", "Relu", "Mul", "Sigmoid", "LayerNormalization",
                "MatMul", "Conv", "Softmax")]
            if nodes:
                self.config["recompute"] = [nodes[self.integer(0, len(nodes))]]

    def model(self) -> onnx.ModelProto:
        def info(name, array):
            return helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        graph = helper.make_graph(
            self.nodes, "network",
            [info(n, a) for n, a in self.inputs.items() if n != self.target],
            [helper.make_tensor_value_info(
                self.output.name, onnx.TensorProto.FLOAT, self.output.shape)],
            [numpy_helper.from_array(a, n) for n, a in self.weights.items()])
        model = helper.make_model(
            graph, ir_version=10,
            opset_imports=[helper.make_opsetid("", OPSET)])
        onnx.checker.check_model(model, full_check=True)
        return model

    def training_file(self) -> str:
        return json.dumps(self.config)


def generate(seed: int, scale=1) -> Network:
    network = Network(np.random.default_rng(seed), scale)
    network.build()
    return network
