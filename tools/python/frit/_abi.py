"""The C interface of the runtime, frit/runtime.h, for ctypes.

The structs and functions are those of the header, by the same names. `check`
turns a status into an exception with the runtime's message.
"""
from __future__ import annotations

import ctypes
import os
from ctypes import (POINTER, Structure, c_char, c_char_p, c_double, c_float, c_int, c_int32,
                    c_int64, c_size_t, c_uint32, c_uint64, c_void_p)
from pathlib import Path

from . import _host
from ._errors import ArgumentError, Error

HOST, DEVICE = 0, 1  # frit_location
ALIGNMENT = 256  # of memory that a program's allocator gives

#: frit_module_flags by the name of frit-run's option.
FLAGS = {"cuda_graph": 1, "cublas": 2, "cudnn": 4, "programmatic_launch": 8}
DETERMINISTIC = 16


class Tensor(Structure):
    _fields_ = [("name", c_char_p), ("data", c_void_p), ("dtype", c_int),
                ("rank", c_uint32), ("dims", POINTER(c_int64)),
                ("location", c_int)]


class TensorInfo(Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_int), ("rank", c_uint32),
                ("dims", POINTER(c_int64)), ("bytes", c_uint64)]


REMARK = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)
ALLOCATE = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_size_t)
RELEASE = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)


class ModuleOptions(Structure):
    _fields_ = [("struct_bytes", c_size_t), ("device", c_char_p),
                ("weights_folder", c_char_p), ("flags", c_uint32),
                ("threads", c_uint32), ("remark", REMARK),
                ("remark_user", c_void_p), ("memory_limit", c_uint64),
                ("allocate", ALLOCATE), ("release", RELEASE),
                ("allocator_user", c_void_p)]


class Group(Structure):
    _fields_ = [("rank", c_uint32), ("size", c_uint32), ("id", c_char * 128)]


class SymbolInfo(Structure):
    _fields_ = [("name", c_char_p), ("least", c_int64), ("most", c_int64),
                ("padded", c_int), ("size_count", c_uint32),
                ("sizes", POINTER(c_int64)), ("masked", c_int),
                ("multiple", c_uint32)]


class TargetInfo(Structure):
    _fields_ = [("arch", c_char_p), ("is_cuda", c_int), ("chosen", c_int),
                ("steps", c_uint32), ("launches", c_uint32),
                ("library_calls", c_uint32), ("copies", c_uint32),
                ("prepare_steps", c_uint32), ("arena_bytes", c_uint64),
                ("arena_lower_bound", c_uint64), ("prepared_bytes", c_uint64),
                ("cubin_bytes", c_uint64), ("ptx_bytes", c_uint64)]


class DeviceInfo(Structure):
    _fields_ = [("device", c_char_p), ("name", c_char_p),
                ("memory_bytes", c_uint64), ("free_bytes", c_uint64),
                ("module_bytes", c_uint64), ("threads", c_uint32),
                ("bytes_per_second", c_double),
                ("flops_per_second", c_double), ("context_bytes", c_uint64),
                ("copy_bytes", c_uint64)]


class StepInfo(Structure):
    _fields_ = [("kind", c_char_p), ("node", c_char_p), ("kernel", c_char_p),
                ("start", c_double), ("duration", c_double),
                ("bytes", c_uint64), ("flops", c_uint64),
                ("is_library", c_int), ("guarded", c_uint32)]


VISIT_STEP = ctypes.CFUNCTYPE(None, c_void_p, POINTER(StepInfo))

_CALL = (c_void_p, c_void_p, c_uint32, c_void_p, c_uint32)

#: Result and arguments of every function that the package calls.
_FUNCTIONS = {
    "frit_last_error": (c_char_p,),
    "frit_status_name": (c_char_p, c_int),
    "frit_version": (c_char_p,),
    "frit_dtype_name": (c_char_p, c_int),
    "frit_module_load_weights":
        (c_int, c_char_p, POINTER(ModuleOptions), c_void_p, c_uint32, c_void_p),
    "frit_module_weight_count": (c_uint32, c_void_p),
    "frit_module_weight": (c_int, c_void_p, c_uint32, POINTER(TensorInfo)),
    "frit_module_index_range_count": (c_uint32, c_void_p, c_uint32),
    "frit_module_index_range": (c_int, c_void_p, c_uint32, c_uint32, c_void_p),
    "frit_module_weight_file_count": (c_uint32, c_void_p),
    "frit_module_weight_file": (c_char_p, c_void_p, c_uint32),
    "frit_module_set_weights": (c_int, c_void_p, c_void_p, c_uint32),
    "frit_module_close": (None, c_void_p),
    "frit_module_name": (c_char_p, c_void_p),
    "frit_module_function": (c_char_p, c_void_p),
    "frit_module_function_count": (c_uint32, c_void_p),
    "frit_module_function_name": (c_char_p, c_void_p, c_uint32),
    "frit_module_open_function": (c_int, c_void_p, c_char_p, c_void_p),
    "frit_module_input_count": (c_uint32, c_void_p),
    "frit_module_output_count": (c_uint32, c_void_p),
    "frit_module_input": (c_int, c_void_p, c_uint32, POINTER(TensorInfo)),
    "frit_module_output": (c_int, c_void_p, c_uint32, POINTER(TensorInfo)),
    "frit_module_symbol_count": (c_uint32, c_void_p),
    "frit_module_symbol": (c_int, c_void_p, c_uint32, POINTER(SymbolInfo)),
    "frit_module_input_symbols":
        (c_int, c_void_p, c_uint32, POINTER(POINTER(c_int32))),
    "frit_module_output_symbols":
        (c_int, c_void_p, c_uint32, POINTER(POINTER(c_int32))),
    "frit_module_counts": (c_uint32, c_void_p),
    "frit_module_output_dims":
        (c_int, c_void_p, c_void_p, c_uint32, c_uint32, c_void_p),
    "frit_module_target_count": (c_uint32, c_void_p),
    "frit_module_target": (c_int, c_void_p, c_uint32, POINTER(TargetInfo)),
    "frit_module_state_count": (c_uint32, c_void_p),
    "frit_module_state": (c_int, c_void_p, c_uint32, POINTER(TensorInfo)),
    "frit_module_weight_bytes": (c_uint64, c_void_p),
    "frit_module_device": (c_int, c_void_p, POINTER(DeviceInfo)),
    "frit_tensor_from_dlpack": (c_int, c_void_p, c_void_p, c_void_p),
    "frit_dlpack_allocate":
        (c_int, c_void_p, c_int, c_uint32, c_void_p, c_void_p),
    "frit_context_create": (c_int, c_void_p, c_void_p),
    "frit_context_create_peer": (c_int, c_void_p, c_void_p, c_void_p),
    "frit_context_destroy": (None, c_void_p),
    "frit_context_set_stream": (c_int, c_void_p, c_void_p),
    "frit_context_stream": (c_void_p, c_void_p),
    "frit_context_synchronize": (c_int, c_void_p),
    "frit_context_join": (c_int, c_void_p, POINTER(Group)),
    "frit_group_unique_id": (c_int, c_void_p, c_void_p),
    "frit_context_output_dims": (c_int, c_void_p, c_uint32, c_void_p),
    "frit_run": (c_int, *_CALL),
    "frit_run_async": (c_int, *_CALL),
    "frit_profile": (c_int, *_CALL, VISIT_STEP, c_void_p),
    "frit_state_read": (c_int, c_void_p, c_void_p, c_uint32),
    "frit_state_write": (c_int, c_void_p, c_void_p, c_uint32),
    "frit_session_create": (c_int, c_void_p, c_void_p),
    "frit_session_fork": (c_int, c_void_p, c_void_p),
    "frit_session_destroy": (None, c_void_p),
    "frit_session_batch": (c_uint32, c_void_p),
    "frit_session_capacity": (c_uint32, c_void_p),
    "frit_session_vocabulary": (c_uint32, c_void_p),
    "frit_session_length": (c_uint32, c_void_p, c_uint32),
    "frit_session_prefill":
        (c_int, c_void_p, c_uint32, c_void_p, c_uint32, c_void_p),
    "frit_session_decode": (c_int, c_void_p, c_void_p, c_void_p, c_uint32),
    "frit_session_rewind": (c_int, c_void_p, c_uint32, c_uint32),
    "frit_session_encode": (c_int, c_void_p, c_void_p, c_uint32),
    "frit_session_guesses": (c_uint32, c_void_p),
    "frit_session_verify":
        (c_int, c_void_p, c_void_p, c_void_p, c_void_p, c_uint32, c_void_p, c_void_p),
    "frit_session_adapt": (c_int, c_void_p, c_void_p, c_uint32, c_float),
    "frit_lookup": (c_uint32, c_void_p, c_uint32, c_void_p, c_uint32),
}


def _load() -> ctypes.CDLL:
    path = os.environ.get("FRIT_RUNTIME") or Path(__file__).parent / "libfrit.so"
    # Calls release the GIL: CDLL, not PyDLL.
    try:
        library = ctypes.CDLL(os.fspath(path))
    except OSError as error:
        raise ImportError(_host.explain(path, error)) from error
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


lib = _load()


def check(status: int) -> None:
    """Raises the runtime's message if `status` is a failure."""
    if status:
        message = lib.frit_last_error().decode(errors="replace")
        name = lib.frit_status_name(status).decode()
        raise (ArgumentError if status == 1 else Error)(message, name)


def opened(function, *arguments) -> int:
    """Calls a function whose last argument receives a handle; returns it."""
    handle = c_void_p()
    check(function(*arguments, ctypes.byref(handle)))
    assert handle.value
    return handle.value


def described(function, struct, handle: int, index: int):
    """Calls a function that fills in a struct for an index; returns it."""
    made = struct()
    check(function(handle, index, ctypes.byref(made)))
    return made
