"""The runtime's C interface for Python, as far as training needs it.

    step = Step("step.so")                    # and its peer eval_step
    loss = step.train(image=x, labels=y)["loss"]
    step.write(learning_rate=np.float32(1e-3))
    weights = step.read()                     # every state by name

Arrays are NumPy's, in host memory. FRIT_RUNTIME names the runtime as a shared
library; `build` makes one of the static one.
"""
import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

DTYPES = {1: np.float32, 2: np.float64, 3: np.float16, 5: np.int8, 6: np.int16, 7: np.int32, 8: np.int64, 9: np.uint8,
          10: np.uint16, 11: np.uint32, 12: np.uint64, 13: np.bool_}
CODES = {np.dtype(t): code for code, t in DTYPES.items()}


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p),
                ("dtype", ctypes.c_int), ("rank", ctypes.c_uint32),
                ("dims", ctypes.POINTER(ctypes.c_int64)),
                ("location", ctypes.c_int)]


class TensorInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int),
                ("rank", ctypes.c_uint32),
                ("dims", ctypes.POINTER(ctypes.c_int64)),
                ("bytes", ctypes.c_uint64)]


class StepInfo(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_char_p), ("node", ctypes.c_char_p),
                ("kernel", ctypes.c_char_p), ("start", ctypes.c_double),
                ("duration", ctypes.c_double), ("bytes", ctypes.c_uint64),
                ("flops", ctypes.c_uint64), ("is_library", ctypes.c_int),
                ("guarded", ctypes.c_uint32)]


class Options(ctypes.Structure):
    _fields_ = [("struct_bytes", ctypes.c_size_t), ("device", ctypes.c_char_p),
                ("weights_folder", ctypes.c_char_p), ("flags", ctypes.c_uint32),
                ("threads", ctypes.c_uint32), ("remark", ctypes.c_void_p),
                ("remark_user", ctypes.c_void_p)]


def build(library=None):
    """Returns the runtime as a shared library, made of the static one."""
    if "FRIT_RUNTIME" in os.environ:
        return os.environ["FRIT_RUNTIME"]
    static = library or (Path(__file__).resolve().parents[2] /
                         "build/dev/lib/libfrit_runtime.a")
    shared = Path(tempfile.mkdtemp()) / "libfrit_runtime.so"
    subprocess.run(["cc", "-shared", "-o", shared, "-Wl,--whole-archive",
                    static, "-Wl,--no-whole-archive", "-lstdc++", "-lm",
                    "-ldl", "-lpthread"], check=True)
    return str(shared)


class Group(ctypes.Structure):
    """frit_group."""
    _fields_ = [("rank", ctypes.c_uint32), ("size", ctypes.c_uint32),
                ("id", ctypes.c_char * 128)]


class Step:
    """A training artifact, opened, with a context for each of its functions.

    The runtime's remarks go to stderr."""

    def __init__(self, artifact, device="", flags=0, library=None):
        self.lib = ctypes.CDLL(library or build())
        self.lib.frit_last_error.restype = ctypes.c_char_p
        self.remark = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)(
            lambda _, text: print(text.decode(), file=sys.stderr, flush=True))
        options = Options(ctypes.sizeof(Options), device.encode(), None, flags,
                          0, ctypes.cast(self.remark, ctypes.c_void_p), None)
        self.modules, self.contexts = [ctypes.c_void_p()], []
        self.call("frit_module_load", os.fsencode(artifact),
                  ctypes.byref(options), ctypes.byref(self.modules[0]))
        self.modules.append(ctypes.c_void_p())
        self.call("frit_module_open_function", self.modules[0], b"eval_step",
                  ctypes.byref(self.modules[1]))
        for create in (("frit_context_create", self.modules[0]),
                       ("frit_context_create_peer", self.modules[1])):
            context = ctypes.c_void_p()
            self.call(*create, *self.contexts, ctypes.byref(context))
            self.contexts.append(context)
        self.outputs = [self.infos(m, "output") for m in self.modules]
        self.inputs = self.infos(self.modules[0], "input")
        self.states = self.infos(self.modules[0], "state")

    def call(self, name, *arguments):
        if getattr(self.lib, name)(*arguments):
            raise RuntimeError(self.lib.frit_last_error().decode())

    def infos(self, module, kind):
        """Returns {name: (dtype, shape)}."""
        found = {}
        for i in range(getattr(self.lib, f"frit_module_{kind}_count")(module)):
            info = TensorInfo()
            self.call(f"frit_module_{kind}", module, ctypes.c_uint32(i),
                      ctypes.byref(info))
            found[info.name.decode()] = (np.dtype(DTYPES[info.dtype]),
                                         tuple(info.dims[:info.rank]))
        return found

    @staticmethod
    def tensors(arrays):
        made = (Tensor * len(arrays))()
        for tensor, (name, array) in zip(made, arrays.items()):
            dims = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
            tensor.name, tensor.data = name.encode(), array.ctypes.data
            tensor.dtype, tensor.rank = CODES[array.dtype], array.ndim
            tensor.dims = dims
        return made, len(arrays)

    def run(self, function, inputs):
        # ascontiguousarray would give numbers a dimension.
        inputs = {n: np.asarray(a, order="C") for n, a in inputs.items()}
        outputs = {n: np.empty(shape, dtype)
                   for n, (dtype, shape) in self.outputs[function].items()}
        self.call("frit_run", self.contexts[function], *self.tensors(inputs),
                  *self.tensors(outputs))
        return outputs

    def enqueue(self, inputs):
        """Enqueues a training step on inputs in device memory, PyTorch's
        tensors by name. Its outputs are not asked for."""
        made = (Tensor * len(inputs))()
        for tensor, (name, given) in zip(made, inputs.items()):
            dims = (ctypes.c_int64 * max(given.dim(), 1))(*given.shape)
            code = CODES[self.inputs[name][0]]
            tensor.name, tensor.data = name.encode(), given.data_ptr()
            tensor.dtype, tensor.rank = code, given.dim()
            tensor.dims, tensor.location = dims, 1
        self.call("frit_run_async", self.contexts[0], made, len(inputs), None, 0)

    def profile(self, inputs):
        """Returns (microseconds, kind, kernel, node) of a call's steps, longest
        first; the inputs as in `enqueue`."""
        made, found = {n: t.cpu().numpy() for n, t in inputs.items()}, []
        visitor = ctypes.CFUNCTYPE(None, ctypes.c_void_p,
                                   ctypes.POINTER(StepInfo))

        def visit(_, info):
            s = info.contents
            found.append((round(s.duration, 1), s.kind.decode(),
                          s.kernel.decode(), s.node.decode()[:100]))
        self.call("frit_profile", self.contexts[0], *self.tensors(made), None, 0,
                  visitor(visit), None)
        return sorted(found, reverse=True)

    def stream(self):
        """The contexts' CUstream."""
        self.lib.frit_context_stream.restype = ctypes.c_void_p
        return self.lib.frit_context_stream(self.contexts[0])

    def group_id(self):
        """Returns the id of a new group of ranks, 128 bytes."""
        made = (ctypes.c_char * 128)()
        self.call("frit_group_unique_id", self.modules[0], made)
        return made.raw

    def join(self, rank, size, group):
        """Makes training steps average over the ranks of a group."""
        made = Group(rank, size)
        ctypes.memmove(ctypes.addressof(made) + Group.id.offset, group, 128)
        self.call("frit_context_join", self.contexts[0], ctypes.byref(made))

    def train(self, **inputs):
        return self.run(0, inputs)

    def evaluate(self, **inputs):
        return self.run(1, inputs)

    def read(self, *names):
        arrays = {n: np.empty(shape, dtype)
                  for n, (dtype, shape) in self.states.items()
                  if not names or n in names}
        self.call("frit_state_read", self.contexts[0], *self.tensors(arrays))
        return arrays

    def write(self, **arrays):
        arrays = {n: np.asarray(a, order="C") for n, a in arrays.items()}
        self.call("frit_state_write", self.contexts[0], *self.tensors(arrays))

    def close(self):
        for context in reversed(self.contexts):
            self.lib.frit_context_destroy(context)
        self.lib.frit_module_close(self.modules[0])
