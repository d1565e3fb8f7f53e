"""Quantizes the tiny ResNet and BERT by onnxruntime.quantization.

    quantized-networks.py MODELS FOLDER

Writes resnet-qdq, resnet-signed (per tensor, signed activations),
resnet-qoperator, bert-dynamic and bert-qdq, whose products with weights are
quantized.
"""
import pathlib
import sys

import numpy as np
import onnx
from onnxruntime import quantization
from onnxruntime.quantization import QuantFormat, QuantType


class Inputs(quantization.CalibrationDataReader):
    def __init__(self, file):
        graph = onnx.load(file).graph
        random = np.random.default_rng(1)
        shape = [d.dim_value for d in graph.input[0].type.tensor_type.shape.dim]
        floats = graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
        draw = (lambda: random.standard_normal(shape).astype(np.float32)) if floats else (
            lambda: random.integers(0, 96, shape))
        self.feeds = iter([{graph.input[0].name: draw()} for _ in range(2)])

    def get_next(self):
        return next(self.feeds, None)


def static(file, to, **options):
    quantization.quantize_static(file, to, Inputs(file), **options)


models, folder = map(pathlib.Path, sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)
resnet, bert = models / "resnet50-dynamo.onnx", models / "bert-large-dynamo.onnx"
static(resnet, folder / "resnet-qdq.onnx", quant_format=QuantFormat.QDQ, per_channel=True,
       activation_type=QuantType.QUInt8)
static(resnet, folder / "resnet-signed.onnx", quant_format=QuantFormat.QDQ, per_channel=True,
       activation_type=QuantType.QInt8)
static(resnet, folder / "resnet-qoperator.onnx", quant_format=QuantFormat.QOperator)
quantization.quantize_dynamic(bert, folder / "bert-dynamic.onnx")
static(bert, folder / "bert-qdq.onnx", quant_format=QuantFormat.QDQ, per_channel=True,
       op_types_to_quantize=["MatMul", "Gemm"], extra_options=dict(MatMulConstBOnly=True))
