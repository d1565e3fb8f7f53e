"""Contexts and arrays of frit_tensor for a module's calls."""
from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from ctypes import addressof, c_int64, c_uint64, c_void_p, cast, sizeof
from operator import index
from typing import Any

from . import _abi
from ._abi import lib
from ._arrays import Described, describe
from ._errors import ArgumentError, Error, RuntimeRemark
from ._info import TensorInfo


def c_text(argument: str, text: str | os.PathLike | None) -> bytes | None:
    """A text for C. Raises ArgumentError if C would take it to end earlier."""
    if text is None:
        return None
    made = os.fsencode(text)
    if b"\0" in made:
        raise ArgumentError(f"{argument} has a null character: {text!r:.80}")
    return made


def names_of(names: Iterable[str]) -> tuple[bytes, ...]:
    """The model's names of tensors, as the runtime takes them."""
    made = []
    for name in names:
        if not isinstance(name, str) or "\0" in name:
            raise ArgumentError(f"a tensor's name is a text, not {name!r:.80}")
        made.append(name.encode(errors="surrogatepass"))
    return tuple(made)


def by_name(tensors: object, what: str) -> Mapping[str, Any]:
    """Tensors by name. Raises ArgumentError if they are no dict."""
    if not isinstance(tensors, Mapping):
        raise ArgumentError(f"{what} are given by name, as a dict, not as "
                            f"{type(tensors).__name__}")
    return tensors


#: Calls of different shapes that a context remembers.
REMEMBERED = 256


def dims_of(shape: Sequence[int]):
    return (c_int64 * max(len(shape), 1))(*shape)


class Tensors:
    """An array of frit_tensor, and what its pointers need to stay valid."""

    def __init__(self, names: Sequence[bytes | None],
                 described: Sequence[tuple[int, tuple[int, ...], int]]):
        self.array = (_abi.Tensor * max(len(described), 1))()
        self.count = len(described)
        #: The memory of the array, and where in it the pointers are.
        step, first = sizeof(_abi.Tensor) // 8, _abi.Tensor.data.offset // 8
        words = (c_uint64 * (step * len(self.array))).from_buffer(self.array)
        self.words = memoryview(words).cast("B").cast("Q")
        self.places = [first + step * i for i in range(self.count)]
        self.kept = [*names]
        for slot, name, (dtype, shape, device) in zip(self.array, names,
                                                      described):
            dims = dims_of(shape)
            self.kept.append(dims)
            slot.name, slot.dtype, slot.rank = name, dtype, len(shape)
            slot.dims = dims
            slot.location = _abi.HOST if device < 0 else _abi.DEVICE

    def point(self, pointers) -> None:
        for place, pointer in zip(self.places, pointers):
            self.words[place] = pointer


class Call:
    """Shared state of a context's calls with arrays of the same names, types, shapes
    and places."""

    def __init__(self, module: int, outputs: Sequence[TensorInfo], names,
                 described):
        self.inputs = Tensors(names, described)
        #: Shape of each output. The runtime checks the inputs here.
        self.shapes = [self._shape(module, index, len(info.dims))
                       for index, info in enumerate(outputs)]
        self.results: dict[tuple, Tensors] = {}

    def _shape(self, module: int, index: int, rank: int) -> tuple[int, ...]:
        dims = (c_int64 * max(rank, 1))()
        _abi.check(lib.frit_module_output_dims(
            module, self.inputs.array, self.inputs.count, index, dims))
        return tuple(dims[:rank])


class Repeated:
    """A call with PyTorch's tensors, all on the module's device, that makes its
    results: what calls like it leave out of describing their tensors."""

    def __init__(self, family, call: Call, results: Tensors, names, arrays,
                 made, device: int):
        self.family, self.names = family, names
        self.inputs, self.results = call.inputs, results
        self.types = family.plain_types
        self.place = family.place(device)
        self.facts = [(a.dtype, a.shape, place)
                      for a, place in zip(arrays, call.inputs.places)]
        self.layouts = [(tuple(a.shape), a.stride(), place)
                        for a, place in zip(arrays, call.inputs.places)]
        self.allocate = family.allocator(device)
        self.outputs = [(tuple(a.shape), a.stride(), a.dtype, place)
                        for a, place in zip(made, results.places)]
        self.device = device
        self.run = lib.frit_run if device < 0 else lib.frit_run_async
        self.pointers = (addressof(call.inputs.array), call.inputs.count,
                         addressof(results.array), results.count)

    def native(self, arrays) -> Any:
        """This call for compiled code, given its tensors; None if there is none
        or DLPack cannot describe them."""
        if not self.family.native or any(self.names):
            return None
        inputs, input_count, results, result_count = self.pointers
        try:
            return self.family.native.Repeated(
                cast(self.run, c_void_p).value, (inputs, input_count),
                (results, result_count), tuple(arrays), self.allocate,
                tuple([made[:3] for made in self.outputs]), self.device,
                (self.inputs, self.results))
        except BufferError:
            return None

    def __call__(self, context: Context, names, arrays) -> list | None:
        """Makes the call; None if it is not like this one."""
        if names != self.names:
            return None
        words, types, here = self.inputs.words, self.types, self.place
        for array, (dtype, shape, place) in zip(arrays, self.facts):
            if (type(array) not in types or array.dtype is not dtype
                    or array.shape != shape or array.device != here
                    or not array.is_contiguous() or array.is_neg()):
                return None
            words[place] = array.data_ptr()
        return self.run_on(context)

    def again(self, context: Context, arrays) -> list:
        """Makes the call with tensors whose types and device are known to be
        this one's. Raises AssertionError if shapes or strides are not."""
        words, check = self.inputs.words, self.family.check_layout
        for array, (shape, strides, place) in zip(arrays, self.layouts):
            check(array, shape, strides)
            words[place] = array.data_ptr()
        return self.run_on(context)

    def run_on(self, context: Context) -> list:
        made = []
        words, allocate = self.results.words, self.allocate
        for shape, strides, dtype, place in self.outputs:
            array = allocate(shape, strides, dtype)
            words[place] = array.data_ptr()
            made.append(array)
        if self.device >= 0:
            context.use(self.family.stream(self.device))
        if status := self.run(context.handle, *self.pointers):
            _abi.check(status)
        return made


class Context:
    """A frit_context and the calls that were made with it. One thread at a time
    uses it."""

    def __init__(self, handle: int, peer: Context | None = None):
        self.handle = handle
        #: The stream that it was given, 0 for its own; peers have the same.
        self.stream: list[int] = peer.stream if peer else [0]
        self.calls: dict[tuple, Call] = {}
        #: The last call, if it can be made again without describing tensors.
        self.repeated: Repeated | None = None

    def use(self, stream: int) -> None:
        """Enqueues later work on a CUstream; 0 is the context's own."""
        if stream != self.stream[0]:
            _abi.check(lib.frit_context_set_stream(self.handle, stream or None))
            self.stream[0] = stream


def weight_tensors(weights: Mapping[str, object], module: int | None
                   ) -> tuple[Tensors, list[Described]]:
    """Describes weights for the runtime, and what their memory needs to stay."""
    kept = [describe(array, module)
            for array in by_name(weights, "weights").values()]
    tensors = Tensors(names_of(weights),
                      [(k.dtype, k.shape, k.device) for k in kept])
    tensors.point([k.pointer for k in kept])
    return tensors, kept


class Remarks:
    """Collects the runtime's remarks, which are shown as warnings."""

    def __init__(self):
        self.pending: list[str] = []
        self.callback = _abi.REMARK(self._add)

    def _add(self, _, message: bytes) -> None:
        self.pending.append(message.decode(errors="replace"))

    def show(self) -> None:
        pending, self.pending = self.pending, []
        for message in pending:
            warnings.warn(message, RuntimeRemark, stacklevel=4)


class Allocator:
    """The caller's allocator as the runtime calls it. It must live until the
    module's memory is back."""

    def __init__(self, functions: tuple[Callable[[int], int],
                                        Callable[[int, int], object]] | None):
        self.failure: BaseException | None = None
        if functions is None:
            self.allocate, self.release = _abi.ALLOCATE(), _abi.RELEASE()
            return
        if not isinstance(functions, (tuple, list)) or len(functions) != 2:
            raise ArgumentError("an allocator is a pair of functions: one that "
                                "takes memory, and one that gives it back")
        take, give = functions

        def allocate(_, size):
            try:
                address = index(take(size) or 0)
                if address % _abi.ALIGNMENT:  # the runtime gives it back
                    self.failure = ArgumentError(
                        f"the allocator's address {address} is no multiple of "
                        f"{_abi.ALIGNMENT}")
                return address
            except BaseException as error:  # cannot pass through C
                self.failure = error
                return None

        # ctypes passes its exceptions to sys.unraisablehook.
        self.allocate = _abi.ALLOCATE(allocate)
        self.release = _abi.RELEASE(lambda _, memory, size: give(memory, size))

    def explain(self, error: Error) -> None:
        """Lets an error say by which exception of the allocator it came."""
        if self.failure is not None:
            error.__cause__, self.failure = self.failure, None


class Handles:
    """Handles to free, in order. Functions of one artifact have handles of
    their own."""

    def __init__(self, module: int, remarks: Remarks, allocator: Allocator):
        self.module: int | None = module
        self.is_open = True
        self.contexts: list[int] = []
        #: Held while contexts are made, and while the module is asked or closed.
        self.guard = threading.RLock()
        self.remarks, self.allocator = remarks, allocator
        #: Arrays that weights lie in, by name.
        self.weights: dict[str, Described] = {}

    def close(self) -> None:
        for context in self.contexts:
            lib.frit_context_destroy(context)
        self.contexts.clear()
        if self.module:
            lib.frit_module_close(self.module)
        self.module = None
        self.weights.clear()
