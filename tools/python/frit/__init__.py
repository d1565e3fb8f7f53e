"""Compile neural networks ahead of time, and run them.

    import frit
    model = frit.compile("model.onnx", march="sm_90a", precision="fp16")
    scores = model(image)              # arrays of NumPy, PyTorch or DLPack

`compile` runs the compiler, `load` opens what it wrote, and both return a
`Module`, to be called like a function. `frit.torch` is the backend of
`torch.compile`. The package is a thin layer over the runtime's C interface.
"""
from __future__ import annotations

from ._abi import lib as _lib
from ._compile import compile
from ._errors import (ArgumentError, CompileError, CompileWarning, Error,
                      MissingFileError, MissingModelError, RuntimeRemark)
from ._generate import Session, lookup
from ._info import (DeviceInfo, Info, Step, SymbolInfo, TargetInfo, TensorInfo)
from ._load import load
from ._module import Module
from ._pretrained import LanguageModel, from_pretrained

__all__ = ["ArgumentError", "CompileError", "CompileWarning", "DeviceInfo",
           "Error", "Info", "LanguageModel", "MissingFileError",
           "MissingModelError", "Module", "RuntimeRemark", "Session", "Step",
           "SymbolInfo", "TargetInfo", "TensorInfo", "compile",
           "from_pretrained", "load", "lookup"]

__version__ = _lib.frit_version().decode()

# Tracebacks and reprs show the public names.
for _name in ("ArgumentError", "CompileError", "CompileWarning", "Error",
              "LanguageModel", "MissingFileError", "MissingModelError", "Module",
              "RuntimeRemark", "Session", "compile", "from_pretrained", "load",
              "lookup"):
    globals()[_name].__module__ = "frit"
