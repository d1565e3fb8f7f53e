"""Shared by the tests of the backend of torch.compile, whose arguments are

    DEVICE [EXTRA]

With EXTRA "interpreted", PyTorch lacks DLPack's C functions, as before version
2.10. Results are held to eager PyTorch's, in float32. FRIT_CACHE names an empty
folder.
"""
import os
import sys
import warnings
from pathlib import Path

import torch
from torch import nn

from checks import fails, run_tests  # noqa: F401

if "interpreted" in sys.argv and hasattr(torch.Tensor,
                                         "__dlpack_c_exchange_api__"):
    del torch.Tensor.__dlpack_c_exchange_api__
import frit.torch  # noqa: E402

DEVICE = torch.device(sys.argv[1])
CACHE = Path(os.environ["FRIT_CACHE"])
torch.manual_seed(0)
torch.backends.cudnn.allow_tf32 = False
OPTIONS = {"march": "x86-64-v3"} if DEVICE.type == "cpu" else {}


class Net(nn.Module):
    """Convolution, batch norm, an index table, and two outputs."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8 * 64, 10)
        self.scale = nn.Parameter(torch.tensor(1.5))
        self.register_buffer("order", torch.randperm(10))

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        y = self.fc(x.flatten(1)) * self.scale
        return y[:, self.order], y.softmax(-1)


def compiled(module, **options):
    torch._dynamo.reset()
    frit.torch._told.clear()
    return torch.compile(module, backend="frit",
                         options={**OPTIONS, **options})


def flat(result):
    if isinstance(result, torch.Tensor):
        return [result]
    if hasattr(result, "to_tuple"):
        result = result.to_tuple()
    if isinstance(result, (tuple, list)):
        return [t for part in result for t in flat(part)]
    return []


@torch.no_grad()
def same(function, module, *arguments, tolerance=1e-5):
    made, wanted = flat(function(*arguments)), flat(module(*arguments))
    assert len(made) == len(wanted)
    for a, b in zip(made, wanted):
        assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape)
        assert a.device == b.device
        error = (a - b).abs().max() / b.abs().max().clamp(min=1e-20)
        assert error < tolerance, float(error)


def artifacts():
    return len([*CACHE.glob("*/graph.so")])


def images(*shape):
    return torch.randn(*shape, device=DEVICE)


def told(call):
    """Reasons that the backend gives for running a graph in PyTorch."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in caught
            if w.category is frit.torch.Fallback]
