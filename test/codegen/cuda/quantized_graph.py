"""Nodes and tensors of a quantized network, in the order in which they are added."""
import numpy as np
from onnx import helper, numpy_helper

tensors, nodes = [], []


def tensor(name, value):
    tensors.append(numpy_helper.from_array(value, name))
    return name


def node(kind, inputs, output, **attributes):
    nodes.append(helper.make_node(kind, inputs, [output], **attributes))
    return output


def quantize(x, scale, zero):
    """Quantizes to unsigned bytes and back."""
    numbers = [tensor(f"{x}_scale", np.float32(scale)), tensor(f"{x}_zero", np.uint8(zero))]
    codes = node("QuantizeLinear", [x, *numbers], f"{x}_codes")
    return node("DequantizeLinear", [codes, *numbers], f"{x}_back")
