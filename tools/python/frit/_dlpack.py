"""DLPack, by which libraries pass tensors to each other without a copy."""
from __future__ import annotations

from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int32,
                    c_int64, c_uint8, c_uint16, c_uint64, c_void_p, py_object,
                    pythonapi)

from . import _abi
from ._errors import ArgumentError

pythonapi.PyCapsule_GetPointer.restype = c_void_p
pythonapi.PyCapsule_GetPointer.argtypes = [py_object, c_char_p]
pythonapi.PyCapsule_New.restype = py_object
pythonapi.PyCapsule_New.argtypes = [c_void_p, c_char_p, c_void_p]

_DELETER = CFUNCTYPE(None, c_void_p)
#: Kinds of devices that are GPUs of NVIDIA: kDLCUDA, kDLCUDAManaged.
GPUS = (2, 13)


class DLTensor(Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32),
                ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


class _DLManagedTensor(Structure):
    _fields_ = [("tensor", DLTensor), ("context", c_void_p),
                ("deleter", c_void_p)]


class DeviceArray:
    """Memory of the module's device for an output. Another library takes it
    over, once, by `from_dlpack`."""

    def __init__(self, shape: tuple[int, ...], code: int, module: int):
        dims = (c_int64 * max(len(shape), 1))(*shape)
        managed = c_void_p()
        _abi.check(_abi.lib.frit_dlpack_allocate(module, code, len(shape), dims,
                                                 byref(managed)))
        self.shape = shape
        assert managed.value
        self._managed: int | None = managed.value
        self._tensor = _DLManagedTensor.from_address(managed.value)
        self.pointer = self._tensor.tensor.data or 0

    def __dlpack_device__(self) -> tuple[int, int]:
        tensor = self._tensor.tensor
        return tensor.device_type, tensor.device_id

    def __dlpack__(self, **options):
        if self._managed is None:
            raise ArgumentError("the array has been taken over already")
        capsule = pythonapi.PyCapsule_New(self._managed, b"dltensor", None)
        self._managed = None
        return capsule

    def __del__(self):
        if getattr(self, "_managed", None) is not None:
            _DELETER(self._tensor.deleter)(self._managed)


def pointer_of(capsule) -> int:
    """The address of a capsule's DLManagedTensor."""
    return pythonapi.PyCapsule_GetPointer(capsule, b"dltensor")
