"""Description of a module."""
from __future__ import annotations

from ctypes import POINTER, byref, c_int32
from dataclasses import dataclass

from . import _abi
from ._abi import lib


@dataclass(frozen=True)
class TensorInfo:
    """An input, an output, a weight or a state tensor.

    `shape` has a symbol's name in place of an open dimension, `dims` its
    largest possible size. `bytes` is the size at `dims`.
    """

    name: str
    dtype: str  #: "f32", "i64", "bool" …
    shape: tuple[int | str, ...]
    dims: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class SymbolInfo:
    """An open dimension and the sizes that a call may give it."""

    name: str
    least: int
    most: int
    padded: bool  #: whether sizes between those of `sizes` are padded
    sizes: tuple[int, ...]  #: the compiled variants
    multiple: int = 1  #: that every size must be a multiple of


@dataclass(frozen=True)
class TargetInfo:
    """An architecture that the artifact has code for, and its memory in bytes
    for the largest variant."""

    arch: str
    chosen: bool
    steps: int
    launches: int
    library_calls: int
    copies: int
    arena_bytes: int
    prepared_bytes: int


@dataclass(frozen=True)
class DeviceInfo:
    """Device of the module. Memory in bytes, peaks per second; 0 if unknown."""

    device: str  #: "cuda:0" or "cpu"
    name: str
    memory_bytes: int
    free_bytes: int
    module_bytes: int
    context_bytes: int
    #: Most memory that calls of a context take beyond that on the CPU, to copy
    #: arrays that do not start at a multiple of 64 bytes.
    copy_bytes: int
    threads: int
    bytes_per_second: float
    flops_per_second: float


@dataclass(frozen=True)
class Info:
    """Everything that `frit-run --info` prints."""

    name: str
    function: str
    functions: tuple[str, ...]
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    state: tuple[TensorInfo, ...]
    weights: tuple[TensorInfo, ...]
    symbols: tuple[SymbolInfo, ...]
    targets: tuple[TargetInfo, ...]
    device: DeviceInfo
    weight_bytes: int


@dataclass(frozen=True)
class Step:
    """A step of a call: a kernel or a library's call, and the model's nodes that
    it computes. Times in microseconds since the call began; `bytes` and `flops`
    are what it moves and multiplies."""

    kind: str
    node: str
    kernel: str
    start: float
    duration: float
    bytes: int
    flops: int
    is_library: bool


def text(value: bytes) -> str:
    return value.decode(errors="replace")


def symbols_of(handle: int) -> tuple[SymbolInfo, ...]:
    found = []
    for index in range(lib.frit_module_symbol_count(handle)):
        info = _abi.described(lib.frit_module_symbol, _abi.SymbolInfo, handle,
                              index)
        found.append(SymbolInfo(text(info.name), info.least, info.most,
                                bool(info.padded),
                                tuple(info.sizes[:info.size_count]),
                                info.multiple))
    return tuple(found)


def tensors_of(handle: int, kind: str, symbols: tuple[SymbolInfo, ...]
               ) -> tuple[TensorInfo, ...]:
    """Describes the inputs, the outputs, the state or the weights."""
    found = []
    for index in range(getattr(lib, f"frit_module_{kind}_count")(handle)):
        info = _abi.described(getattr(lib, f"frit_module_{kind}"),
                              _abi.TensorInfo, handle, index)
        dims = tuple(info.dims[:info.rank])
        shape = dims
        if kind in ("input", "output") and info.rank:
            which = _abi.described(getattr(lib, f"frit_module_{kind}_symbols"),
                                   POINTER(c_int32), handle, index)
            shape = tuple(dims[i] if which[i] < 0 else symbols[which[i]].name
                          for i in range(info.rank))
        found.append(TensorInfo(text(info.name),
                                text(lib.frit_dtype_name(info.dtype)), shape,
                                dims, info.bytes))
    return tuple(found)


def functions_of(handle: int) -> tuple[str, ...]:
    return tuple(text(lib.frit_module_function_name(handle, index)) for index in
                 range(lib.frit_module_function_count(handle)))


def device_of(handle: int) -> DeviceInfo:
    info = _abi.DeviceInfo()
    _abi.check(lib.frit_module_device(handle, byref(info)))
    return DeviceInfo(text(info.device), text(info.name), info.memory_bytes,
                      info.free_bytes, info.module_bytes, info.context_bytes,
                      info.copy_bytes, info.threads, info.bytes_per_second,
                      info.flops_per_second)


def info_of(handle: int) -> Info:
    symbols = symbols_of(handle)
    targets = []
    for index in range(lib.frit_module_target_count(handle)):
        info = _abi.described(lib.frit_module_target, _abi.TargetInfo, handle,
                              index)
        targets.append(TargetInfo(text(info.arch), bool(info.chosen),
                                  info.steps, info.launches,
                                  info.library_calls, info.copies,
                                  info.arena_bytes, info.prepared_bytes))
    return Info(text(lib.frit_module_name(handle)),
                text(lib.frit_module_function(handle)), functions_of(handle),
                tensors_of(handle, "input", symbols),
                tensors_of(handle, "output", symbols),
                tensors_of(handle, "state", symbols),
                tensors_of(handle, "weight", symbols), symbols, tuple(targets),
                device_of(handle), lib.frit_module_weight_bytes(handle))
