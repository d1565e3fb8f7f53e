"""Arrays of other libraries: where they lie, and how to make one.

A *family* is a library whose arrays the package takes: NumPy, PyTorch, or any
other with DLPack. `describe` gives a call what it needs of an array; nothing is
copied.
"""
from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from ctypes import byref
from typing import Any, NamedTuple

import numpy as np

from . import _abi
from ._dlpack import GPUS, DeviceArray, DLTensor, pointer_of
from ._errors import ArgumentError
from ._strings import ELEMENT, KINDS, STRING, elements_of

#: frit_dtype by NumPy's name of the type. Those from bfloat16 on exist in NumPy
#: if ml_dtypes is installed.
CODES = {"float32": 1, "float64": 2, "float16": 3, "int8": 5, "int16": 6,
         "int32": 7, "int64": 8, "uint8": 9, "uint16": 10, "uint32": 11,
         "uint64": 12, "bool": 13, "bfloat16": 4, "float8_e4m3fn": 14,
         "float8_e5m2": 15, "float8_e4m3fnuz": 16, "float8_e5m2fnuz": 17,
         "float8_e8m0fnu": 18, "float4_e2m1fn": 19, "int4": 20, "uint4": 21,
         "int2": 22, "uint2": 23}
NAMES = {code: name for name, code in CODES.items()}
#: Integers of fewer bits, by the byte that the runtime wants: NumPy's extension
#: types leave its upper bits open, and PyTorch packs them.
SMALL = {20: np.int8, 21: np.uint8, 22: np.int8, 23: np.uint8}
#: Bytes of the vectors that the cpu target's kernels write.
_ALIGNMENT = 64


class Described(NamedTuple):
    """An array in memory. `device` is a GPU's number, or -1 for the host."""

    pointer: int
    dtype: int
    shape: tuple[int, ...]
    device: int
    #: What must live as long as the pointer is used.
    owner: object


def name_of(code: int) -> str:
    """The NumPy name of a frit_dtype."""
    if code in NAMES:
        return NAMES[code]
    name = _abi.lib.frit_dtype_name(code).decode()
    raise ArgumentError(f"arrays of type {name} are not supported")


#===----------------------------------------------------------------------===#
# NumPy
#===----------------------------------------------------------------------===#

class NumPy:
    """Arrays in host memory. The other families have the same methods."""

    name = "numpy"

    def __init__(self):
        self.codes = {np.dtype(name): code for name, code in CODES.items()
                      if hasattr(np, name) or name == "bool"}

    def dtype(self, code: int) -> np.dtype:
        name = name_of(code)
        if code in self.codes.values():
            return np.dtype(name)
        try:
            import ml_dtypes
        except ImportError:
            raise ArgumentError(
                f"NumPy has no {name}; pip install ml_dtypes") from None
        made = np.dtype(getattr(ml_dtypes, name))
        self.codes[made] = code
        return made

    def describe(self, array: np.ndarray) -> Described:
        code = self.codes.get(array.dtype)
        if code is None and array.dtype.kind in KINDS:
            elements, memory = elements_of(array)
            return Described(self.pointer(elements), STRING, array.shape, -1,
                             (elements, memory))
        if code is None:
            code = CODES.get(array.dtype.name)
            if code is None or not array.dtype.isnative:
                raise ArgumentError(f"arrays of type {array.dtype.str} are not "
                                    "supported")
        if not array.flags.c_contiguous:
            raise ArgumentError(
                f"the array's elements are not contiguous (shape {array.shape},"
                f" strides {array.strides}); numpy.ascontiguousarray copies it")
        if code in SMALL:
            array = array.astype(SMALL[code])
        return Described(self.pointer(array), code,
                         array.shape, -1, array)

    def empty(self, shape: tuple[int, ...], code: int, device: int,
              module: int) -> np.ndarray:
        if code == STRING:
            return np.zeros(shape, ELEMENT)
        dtype = self.dtype(code)
        size = math.prod(shape) * dtype.itemsize
        if size < 4096:
            return np.empty(shape, dtype)
        # Kernels write aligned memory directly, other results are copied.
        memory = np.empty(size + _ALIGNMENT - 1, np.uint8)
        start = -self.pointer(memory) % _ALIGNMENT
        return memory[start:start + size].view(dtype).reshape(shape)

    def pointer(self, array: np.ndarray) -> int:
        return array.__array_interface__["data"][0]

    def cut(self, array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """The first elements of a contiguous array in another shape."""
        return array.reshape(-1)[:int(np.prod(shape))].reshape(shape)

    def finish(self, array):
        return array

    def stream(self, device: int) -> int:
        return 0  # of no concern


#===----------------------------------------------------------------------===#
# PyTorch
#===----------------------------------------------------------------------===#

def _native(torch) -> Any:
    """The package's compiled module; None if it was not built, or if PyTorch does
    not have DLPack's C functions that it uses. Version 2.10 and later have."""
    if "t" in sys.abiflags:  # free-threaded, which has another binary interface
        return None
    try:
        from . import _native as native
        native.use(torch.Tensor, torch.nn.Parameter)
    except (ImportError, AttributeError, BufferError, ValueError):
        return None
    return native


class PyTorch:
    """Tensors of PyTorch, on the cpu or a GPU."""

    name = "torch"

    def __init__(self):
        import torch
        self.torch = torch
        self.dtypes = {code: getattr(torch, name)
                       for name, code in CODES.items()
                       if hasattr(torch, name) and code not in SMALL}
        self.codes = {dtype: code for code, dtype in self.dtypes.items()}
        # Called by Triton's launcher; a Stream object would take 2 us.
        self.raw_stream = getattr(
            torch._C, "_cuda_getCurrentRawStream",
            lambda device: torch.cuda.current_stream(device).cuda_stream)
        self.plain_types = (torch.Tensor, torch.nn.Parameter)
        self.native = _native(torch)
        # Called by inductor's code.
        self.check_layout = getattr(torch._C._dynamo.guards,
                                    "assert_size_stride", self._check_layout)

    @staticmethod
    def _check_layout(tensor, shape, strides) -> None:
        """Raises AssertionError if a tensor has another shape or strides."""
        if tensor.shape != shape or tensor.stride() != strides:
            raise AssertionError

    def is_plain(self, tensor) -> bool:
        """Returns whether a tensor can be used without a copy."""
        return (type(tensor) in self.plain_types and tensor.is_contiguous()
                and not tensor.is_neg() and not tensor.is_conj())

    def describe(self, tensor) -> Described:
        code = self.codes.get(tensor.dtype)
        if code is None:
            raise ArgumentError(
                f"tensors of type {tensor.dtype} are not supported")
        if tensor.layout is not self.torch.strided:
            raise ArgumentError(f"tensors of layout {tensor.layout} are not "
                                "supported")
        if tensor.is_neg():
            raise ArgumentError("the tensor is a lazy view: call resolve_neg()")
        if not tensor.is_contiguous():
            raise ArgumentError(
                f"the tensor's elements are not contiguous (shape "
                f"{tuple(tensor.shape)}, strides {tensor.stride()}); "
                "tensor.contiguous() copies it")
        if tensor.is_cuda:
            device = tensor.get_device()
        elif tensor.device.type == "cpu":
            device = -1
        else:
            raise ArgumentError(f"tensors on {tensor.device} are not supported")
        return Described(tensor.data_ptr(), code, tuple(tensor.shape), device,
                         tensor)

    def empty(self, shape: tuple[int, ...], code: int, device: int,
              module: int):
        dtype = self.dtypes.get(code)
        if dtype is None:
            raise ArgumentError(f"PyTorch has no {name_of(code)}")
        return self.torch.empty(shape, dtype=dtype,
                                device="cpu" if device < 0 else device)

    def allocator(self, device: int):
        """A function of shape, strides and type that makes a tensor."""
        # Called by inductor's code; torch.empty takes 2 us more.
        quick = getattr(getattr(self.torch._C, "_dynamo", None), "guards", None)
        quick = getattr(quick, "_empty_strided_cpu" if device < 0 else
                        "_empty_strided_cuda", None)
        if quick and (device < 0 or self.torch.cuda.device_count() == 1):
            return quick
        place = self.place(device)
        return lambda shape, strides, dtype: self.torch.empty_strided(
            shape, strides, dtype=dtype, device=place)

    def place(self, device: int):
        return self.torch.device("cpu") if device < 0 else \
            self.torch.device("cuda", device)

    def pointer(self, tensor) -> int:
        return tensor.data_ptr()

    def cut(self, tensor, shape: tuple[int, ...]):
        return tensor.reshape(-1)[:int(np.prod(shape))].reshape(shape)

    def finish(self, tensor):
        return tensor

    def stream(self, device: int) -> int:
        # PyTorch calls the legacy default stream 0, CUDA's driver 1.
        return self.raw_stream(device) or 1


#===----------------------------------------------------------------------===#
# Other libraries, by DLPack
#===----------------------------------------------------------------------===#

class DLPack:
    """Arrays of the library that `array` is of. It has waited for its own work
    on the default stream when it hands out a pointer."""

    def __init__(self, array):
        space = getattr(array, "__array_namespace__", None)
        # Find libraries without a namespace, such as CuPy, by the module of the
        # type.
        self.library = space() if space else sys.modules.get(
            type(array).__module__.partition(".")[0])
        self.name = getattr(self.library, "__name__", "DLPack")

    def describe(self, array, module: int) -> Described:
        kind, _ = array.__dlpack_device__()
        on_gpu = kind in GPUS
        capsule = array.__dlpack__(stream=1) if on_gpu else array.__dlpack__()
        pointer = pointer_of(capsule)
        tensor = _abi.Tensor()
        _abi.check(_abi.lib.frit_tensor_from_dlpack(module, pointer,
                                                    byref(tensor)))
        device = DLTensor.from_address(pointer).device_id if on_gpu else -1
        # The capsule frees its contents when it is destroyed.
        return Described(tensor.data or 0, tensor.dtype,
                         tuple(tensor.dims[:tensor.rank]), device, capsule)

    def empty(self, shape: tuple[int, ...], code: int, device: int,
              module: int):
        return DeviceArray(shape, code, module) if device >= 0 else \
            NUMPY.empty(shape, code, device, module)

    def pointer(self, array) -> int:
        return array.pointer if isinstance(array, DeviceArray) else \
            NUMPY.pointer(array)

    def cut(self, array, shape: tuple[int, ...]):
        if isinstance(array, np.ndarray):
            return NUMPY.cut(array, shape)
        made = self.finish(array)
        return made.reshape(-1)[:int(np.prod(shape))].reshape(shape)

    def finish(self, array):
        """Hands an output to the library, if that is known."""
        take = getattr(self.library, "from_dlpack", None)
        ours = isinstance(array, (DeviceArray, np.ndarray))
        return take(array) if take and ours else array

    def stream(self, device: int) -> int:
        return 1


#===----------------------------------------------------------------------===#
# The families
#===----------------------------------------------------------------------===#

NUMPY = NumPy()
_pytorch: PyTorch | None = None


def _pytorch_of(array) -> PyTorch | None:
    """The family of a PyTorch tensor; None if `array` is none."""
    global _pytorch
    module = sys.modules.get("torch")
    if module is None or not isinstance(array, getattr(module, "Tensor", ())):
        return None
    if _pytorch is None:
        _pytorch = PyTorch()
    return _pytorch


def family_of(array) -> NumPy | PyTorch | DLPack:
    """The library that makes arrays like `array`."""
    if type(array) is np.ndarray:
        return NUMPY
    if (family := _pytorch_of(array)) is not None:
        return family
    if hasattr(array, "__dlpack__") and not isinstance(array, (np.ndarray,
                                                               np.generic)):
        return DLPack(array)
    return NUMPY


def describe(array, module: int | None, write: bool = False) -> Described:
    """Describes an array for a call of `module`, which writes to it if `write`.
    Inputs that are no arrays, such as lists and numbers, are converted by
    NumPy."""
    family = family_of(array)
    if family is NUMPY:
        if write:
            if not isinstance(array, np.ndarray) or not array.flags.writeable:
                raise ArgumentError("an output must be an array that can be "
                                    f"written to, not {type(array).__name__}")
            if array.dtype.kind in KINDS:
                raise ArgumentError("outputs of strings are made anew; no array "
                                    "can be given for them")
        elif isinstance(array, Mapping):
            raise ArgumentError("arrays by name are keywords, model(**arrays), "
                                "or given to model.run(arrays)")
        elif type(array) is not np.ndarray:
            array = np.asarray(array, order="C")
        return NUMPY.describe(array)
    if isinstance(family, DLPack):
        if module is None:
            raise ArgumentError("weights are arrays of NumPy or PyTorch; others "
                                "can be set by Module.set_weights")
        return family.describe(array, module)
    return family.describe(array)


def synchronize(described: list[Described]) -> None:
    """Waits for PyTorch's work on its tensors, of whatever stream."""
    for device in {d.device for d in described if d.device >= 0}:
        if torch := sys.modules.get("torch"):
            torch.cuda.synchronize(device)


def type_name(value) -> str:
    """The runtime's name of a type: of "u8", "uint8", np.uint8, torch.uint8."""
    if isinstance(value, str):
        name = value
    elif type(value).__module__ == "torch":
        name = str(value).rpartition(".")[2]
    else:
        name = np.dtype(value).name
    code = CODES.get(name)
    return _abi.lib.frit_dtype_name(code).decode() if code else name


def as_type(value, dtype: str) -> object:
    """An array as it is; a Python number as an array of a frit_dtype's name."""
    if isinstance(value, (bool, int, float)):
        code = next(code for code in NAMES
                    if _abi.lib.frit_dtype_name(code).decode() == dtype)
        return np.asarray(value, NUMPY.dtype(code))
    return value
