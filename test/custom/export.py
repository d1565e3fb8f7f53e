"""Exports a PyTorch module with operators of its own to ONNX (PyTorch 2.8 and later).

    export.py MODEL.onnx INPUT.npy EXPECTED.npz
"""
import sys

import numpy as np
import torch
from torch import Tensor


def node(name: str, *inputs: Tensor, **attributes: float) -> Tensor:
    """An ONNX node whose result is like the first input."""
    x = inputs[0]
    return torch.onnx.ops.symbolic(f"com.example::{name}", inputs, attributes,
                                   dtype=x.dtype, shape=x.shape, version=1)


def softcap(x: Tensor, limit: float) -> Tensor:
    if torch.onnx.is_in_onnx_export():
        return node("Softcap", x, limit=limit)
    return limit * torch.tanh(x / limit)


def linear_scan(x: Tensor, a: Tensor) -> Tensor:
    if torch.onnx.is_in_onnx_export():
        return node("LinearScan", x, a)
    h, state = torch.empty_like(x), torch.zeros_like(x[:, 0])
    for t in range(x.shape[1]):
        state = a[:, t] * state + x[:, t]
        h[:, t] = state
    return h


class Recurrent(torch.nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.gate = torch.nn.Linear(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        u = self.gate(x)
        return softcap(linear_scan(x, torch.sigmoid(u)) + u, 2.0) * u


def main(model: str, given: str, expected: str) -> None:
    torch.manual_seed(0)
    module, x = Recurrent(64).eval(), torch.randn(8, 128, 64)
    torch.onnx.export(module, (x,), model, dynamo=True, input_names=["x"],
                      output_names=["y"])
    np.save(given, x.numpy())
    with torch.no_grad():
        np.savez(expected, y=module(x).numpy())


if __name__ == "__main__":
    main(*sys.argv[1:])
