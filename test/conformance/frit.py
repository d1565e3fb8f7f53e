"""Minimal Python bindings of the runtime for the tests: loads a compiled model
and runs it in this process."""
import ctypes
import subprocess
from ctypes import (POINTER, Structure, byref, c_char_p, c_int, c_int64,
                    c_size_t, c_uint32, c_uint64, c_void_p)

import numpy as np

NAMES = ["", "float32", "float64", "float16", "bfloat16", "int8", "int16",
         "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
         "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
         "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn", "int4", "uint4",
         "int2", "uint2"]


class Tensor(Structure):
    _fields_ = [("name", c_char_p), ("data", c_void_p), ("dtype", c_int),
                ("rank", c_uint32), ("dims", POINTER(c_int64)),
                ("location", c_int)]


class TensorInfo(Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_int), ("rank", c_uint32),
                ("dims", POINTER(c_int64)), ("bytes", c_uint64)]


class Options(Structure):
    _fields_ = [("struct_bytes", c_size_t), ("device", c_char_p),
                ("weights_folder", c_char_p), ("flags", c_uint32),
                ("threads", c_uint32), ("remark", c_void_p),
                ("remark_user", c_void_p)]


class Failure(Exception):
    pass


def link_runtime(archive, library):
    """The static runtime as a shared library that ctypes can open."""
    subprocess.run(["cc", "-shared", "-o", library, "-Wl,--whole-archive",
                    archive, "-Wl,--no-whole-archive", "-lstdc++", "-lpthread",
                    "-ldl"], check=True)


class Runtime:
    def __init__(self, library, device):
        self.api = ctypes.CDLL(library)
        self.api.frit_last_error.restype = c_char_p
        self.options = Options(ctypes.sizeof(Options), device.encode(), None, 0,
                               1, None, None)

    def check(self, status):
        if status:
            raise Failure(self.api.frit_last_error().decode(errors="replace"))

    def infos(self, module, count, describe):
        infos = []
        for i in range(count(module)):
            info = TensorInfo()
            self.check(describe(module, i, byref(info)))
            infos.append((info.name.decode(), NAMES[info.dtype],
                          tuple(info.dims[d] for d in range(info.rank))))
        return infos

    def run(self, path, data_sets):
        """The outputs, in order, for every set of inputs by name."""
        api, module, context = self.api, c_void_p(), c_void_p()
        self.check(api.frit_module_load(str(path).encode(),
                                        byref(self.options), byref(module)))
        try:
            self.check(api.frit_context_create(module, byref(context)))
            inputs = self.infos(module, api.frit_module_input_count,
                                api.frit_module_input)
            outputs = self.infos(module, api.frit_module_output_count,
                                 api.frit_module_output)
            return [self.call(context, inputs, outputs, data)
                    for data in data_sets]
        finally:
            if context:
                api.frit_context_destroy(context)
            api.frit_module_close(module)

    def call(self, context, inputs, outputs, data):
        given = []
        for name, dtype, shape in inputs:
            array = np.asarray(data[name])
            if array.dtype.name != dtype or array.shape != shape:
                raise Failure(f"input '{name}' is {dtype}{list(shape)} for "
                              f"{array.dtype.name}{list(array.shape)}")
            given.append((name, dtype, np.array(plain(array), order="C")))
        got = [(name, dtype, np.zeros(shape, plain_dtype(dtype)))
               for name, dtype, shape in outputs]
        a, b = bind(given), bind(got)
        self.check(self.api.frit_run(context, a, len(a), b, len(b)))
        return [self.cut(context, i, array).astype(named_dtype(dtype))
                for i, (_, dtype, array) in enumerate(got)]

    def cut(self, context, i, array):
        """Cuts an output to its true shape in the last call."""
        dims = (c_int64 * max(array.ndim, 1))()
        self.check(self.api.frit_context_output_dims(context, i, dims))
        shape = tuple(dims[:array.ndim])
        return array.ravel()[:int(np.prod(shape))].reshape(shape)


def plain_dtype(name):
    """The byte type for integers of fewer bits, whose upper bits NumPy's
    extension types leave open."""
    if name in ("int4", "int2", "uint4", "uint2"):
        return np.dtype(name.rstrip("42") + "8")
    return named_dtype(name)


def plain(array):
    return array.astype(plain_dtype(array.dtype.name))


def named_dtype(name):
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, name))


def bind(arrays):
    tensors = (Tensor * len(arrays))()
    for tensor, (name, dtype, array) in zip(tensors, arrays):
        tensor.name = name.encode()
        tensor.data = array.ctypes.data
        tensor.dtype = NAMES.index(dtype)
        tensor.rank = array.ndim
        tensor.dims = (c_int64 * max(array.ndim, 1))(*array.shape)
        tensor.location = 0
    return tensors


def differs(actual, expected, rtol, atol, only_type=False):
    """Returns why an output is wrong, or nothing; compares as
    onnx.backend.test.runner does."""
    expected = np.asarray(expected)
    if actual.dtype != expected.dtype:
        return f"wrong type: {actual.dtype} for {expected.dtype}"
    if actual.shape != expected.shape:
        return f"wrong shape: {actual.shape} for {expected.shape}"
    if only_type or not actual.size:
        return None
    if actual.dtype.name == "bfloat16":
        rtol = max(rtol, 2 ** -6)
    if actual.dtype.kind not in "biu":
        actual, expected = (x.astype(np.float64) for x in (actual, expected))
    if np.allclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True):
        return None
    return "wrong value"
