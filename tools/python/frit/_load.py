"""Opening compiled models."""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from ctypes import byref, sizeof
from typing import Any, Literal

from . import _abi, _arrays
from ._abi import lib
from ._calls import Allocator, Remarks, c_text, weight_tensors
from ._errors import ArgumentError, Error, MissingFileError
from ._module import Module

#: What `disable` takes.
Feature = Literal["cuda_graph", "cublas", "cudnn", "programmatic_launch"]


def load(path: str | os.PathLike, *, device: Any = "", threads: int = 0,
         weights_folder: str | os.PathLike | None = None,
         disable: Feature | str | Sequence[Feature] = (), deterministic: bool = False,
         memory_limit: int = 0,
         allocator: tuple[Callable[[int], int],
                          Callable[[int, int], object]] | None = None,
         weights: Mapping[str, Any] | None = None) -> Module:
    """Opens a compiled model, the shared library that fritc wrote.

    Args:
      device: "cuda", "cuda:1", "cpu", or "none" to look at `Module.info` only;
        or a `torch.device`. By default the GPU if there is one that the model
        has code for.
      threads: threads of the cpu target; by default one per core.
      weights_folder: where external weights are; by default beside the model.
      weights: arrays to use instead of the artifact's weights, as for
        `Module.set_weights`; its files need not have these.
      disable: of "cuda_graph", "cublas", "cudnn", "programmatic_launch"; one,
        or a list.
      deterministic: whether libraries give the same bits in every call.
      memory_limit: the most bytes of the device's memory that the module and
        its calls may have at a time; 0 for no limit.
      allocator: functions to take that memory from: one of a number of bytes
        that returns an address, a multiple of 256, and one of such an address
        and its bytes that takes it back. An exception in the first is the cause
        of the `Error` that follows. With PyTorch on a GPU:
        `(torch.cuda.caching_allocator_alloc,
        lambda address, _: torch.cuda.caching_allocator_delete(address))`.

    Raises:
      Error: the runtime's message; a `MissingFileError`, which is a
        `FileNotFoundError` too, if there is no such file.

    >>> import frit
    >>> frit.load("nothing.so")
    Traceback (most recent call last):
        ...
    frit.MissingFileError: cannot open 'nothing.so': No such file or directory
    """
    flags = _abi.DETERMINISTIC if deterministic else 0
    for name in disable.split(",") if isinstance(disable, str) else disable:
        if name not in _abi.FLAGS:
            raise ArgumentError(f"'{name}' cannot be disabled; these can: "
                                f"{', '.join(_abi.FLAGS)}")
        flags |= _abi.FLAGS[name]
    for argument, number, bits in (("threads", threads, 32),
                                   ("memory_limit", memory_limit, 64)):
        if not hasattr(number, "__index__") or not 0 <= number < 1 << bits:
            raise ArgumentError(f"{argument} must be a whole number from 0 to "
                                f"{(1 << bits) - 1}, not {number!r}")
    device = str(device) if type(device).__module__ == "torch" else device
    if not isinstance(device, str):
        raise ArgumentError(f"device must be a text such as 'cuda:1', not {device!r}")
    remarks, taken = Remarks(), Allocator(allocator)
    options = _abi.ModuleOptions(sizeof(_abi.ModuleOptions),
                                 c_text("device", device),
                                 c_text("weights_folder", weights_folder), flags,
                                 threads, remarks.callback, None, memory_limit,
                                 taken.allocate, taken.release)
    tensors, kept = weight_tensors(weights or {}, None)
    _arrays.synchronize(kept)
    try:
        handle = _abi.opened(lib.frit_module_load_weights,
                             c_text("path", os.fspath(path)), byref(options),
                             tensors.array, tensors.count)
    except Error as error:
        if not isinstance(error, ArgumentError) and not os.path.lexists(path):
            raise MissingFileError(str(error), os.fspath(path)) from None
        taken.explain(error)
        raise
    remarks.show()
    module = Module(handle, remarks, taken)
    module._handles.weights.update(zip(weights or {}, kept))
    return module
