"""Contexts of a module, and the calls that are made with them."""
from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from . import _abi, _arrays, _info
from ._abi import lib
from ._calls import (REMEMBERED, Call, Context, Handles, Repeated, Tensors,
                     dims_of, names_of)
from ._errors import ArgumentError, Error
from ._strings import ELEMENT, STRING, texts_of


class _Returned(list):
    """Contexts that calls give back while none may be taken."""

    def pop(self, *_):
        raise IndexError


class Caller:
    """Makes the calls of a module, each with a context that no other call uses.
    Functions of an artifact with state have one context each, which share it."""

    def __init__(self, handle: int, handles: Handles,
                 parent: Caller | None = None):
        self.handle, self.handles, self.parent = handle, handles, parent
        symbols = _info.symbols_of(handle)
        self.inputs = _info.tensors_of(handle, "input", symbols)
        self.outputs = _info.tensors_of(handle, "output", symbols)
        self.output_types = [
            _abi.described(lib.frit_module_output, _abi.TensorInfo, handle,
                           index).dtype for index in range(len(self.outputs))]
        self.gives_strings = STRING in self.output_types
        self.counts = lib.frit_module_counts(handle)
        self.remarks = handles.remarks
        #: The last call that compiled code can make; None if it cannot.
        self.native: Any = None
        self.has_state = lib.frit_module_state_count(handle) > 0
        device = _info.device_of(handle).device
        #: A GPU's number; -1 for the cpu.
        self.device = int(device[5:]) if device.startswith("cuda:") else -1
        #: Contexts that no call uses.
        self.free: list[Context] = []
        #: Held during a call of a module with state, whose functions share it.
        self.lock: Any = parent.lock if parent else threading.RLock()

    def open_handle(self) -> int:
        if not self.handles.is_open:
            raise ArgumentError("the module is closed")
        return self.handle

    #===------------------------------------------------------------------===#
    # Contexts
    #===------------------------------------------------------------------===#

    def make_context(self) -> Context:
        with self.handles.guard:
            try:  # `quiet` may have kept some from this call
                return self.free.pop()
            except IndexError:
                return self.make_guarded()

    def make_guarded(self) -> Context:
        handle = self.open_handle()
        peer = None
        try:
            if self.parent is not None and self.has_state:
                peer = self.parent.state_context()
                made = _abi.opened(lib.frit_context_create_peer, handle,
                                   peer.handle)
            else:
                made = _abi.opened(lib.frit_context_create, handle)
        except Error as error:
            self.handles.allocator.explain(error)
            raise
        context = Context(made, peer)
        self.handles.contexts.append(made)
        try:
            self.handles.remarks.show()
        except BaseException:  # a warning may be an exception
            self.free.append(context)
            raise
        return context

    def state_context(self) -> Context:
        """The only context of a module with state. Hold the lock."""
        if not self.free:
            self.free.append(self.make_context())
        return self.free[0]

    def take(self) -> Context:
        """Takes a context that no other call uses; `give` returns it."""
        self.open_handle()
        if self.has_state:
            self.lock.acquire()
            try:
                return self.state_context()
            except BaseException:
                self.lock.release()
                raise
        try:
            return self.free.pop()
        except IndexError:
            return self.make_context()

    @contextmanager
    def quiet(self) -> Iterator[list[Context]]:
        """Lets no call begin and waits for those that run. Yields all contexts;
        later calls may take those that are left in the list at the end."""
        with self.lock, self.handles.guard:
            free, returned = self.free, _Returned()
            found: list[Context] = []
            # Calls that begin find none, and wait for the guard to make one.
            self.free = returned
            try:
                while True:
                    for contexts in free, returned:
                        try:
                            while True:
                                found.append(list.pop(contexts))
                        except IndexError:
                            pass
                    if len(found) == len(self.handles.contexts):
                        break
                    time.sleep(1e-4)
                yield found
            finally:
                free.extend(found)
                self.free = free

    def stop(self) -> None:
        """Lets no call begin, waits for those that run, and frees what the
        module has."""
        self.handles.is_open = False
        with self.quiet() as contexts:
            contexts.clear()
            self.handles.close()

    def give(self, context: Context) -> None:
        if self.has_state:
            self.lock.release()
        else:
            self.free.append(context)

    #===------------------------------------------------------------------===#
    # Calls
    #===------------------------------------------------------------------===#

    def prepare(self, context: Context, names, arrays):
        """Describes the inputs and finds the call that fits them."""
        described = [_arrays.describe(array, self.handle) for array in arrays]
        facts = tuple([(d.dtype, d.shape, d.device) for d in described])
        call = context.calls.get((names, facts))
        if call is None:
            if self.device >= 0 or any(d.device >= 0 for d in described):
                self.check_devices(names, described)
            if len(context.calls) == REMEMBERED:
                context.calls.clear()
            call = context.calls[names, facts] = Call(
                self.handle, self.outputs, names, facts)
        call.inputs.point([d.pointer for d in described])
        return call, described

    def check_devices(self, names, described) -> None:
        where = "the cpu" if self.device < 0 else f"cuda:{self.device}"
        for index, array in enumerate(described):
            if array.device not in (-1, self.device):
                name = names[index].decode() if names[index] else \
                    self.inputs[min(index, len(self.inputs) - 1)].name
                raise ArgumentError(f"input '{name}' is on cuda:{array.device}, "
                                    f"and the module runs on {where}")

    def results(self, call: Call, family, device: int, out):
        """Makes or checks the arrays for the outputs. Returns them, which GPU or
        -1 each is on, and the tensors that tell the runtime of them."""
        if out is None:
            arrays = [(_arrays.NUMPY if dtype == STRING else family).empty(
                          shape, dtype, device, self.handle)
                      for shape, dtype in zip(call.shapes, self.output_types)]
            places = [-1 if dtype == STRING else device
                      for dtype in self.output_types]
            tensors = call.results.get((None, device))
            if tensors is None:
                tensors = call.results[None, device] = Tensors(
                    (None,) * len(arrays),
                    [*zip(self.output_types, call.shapes, places)])
            tensors.point([array.ctypes.data if dtype == STRING
                           else family.pointer(array)
                           for array, dtype in zip(arrays, self.output_types)])
            return arrays, places, tensors
        if isinstance(out, Mapping):
            arrays = [*out.values()]
            names: Any = names_of(out)
        else:
            arrays = list(out) if isinstance(out, (tuple, list)) else [out]
            names = (None,) * len(arrays)
        described = [_arrays.describe(array, self.handle, write=True)
                     for array in arrays]
        facts = tuple([(d.dtype, d.shape, d.device) for d in described])
        tensors = call.results.get((names, facts))
        if tensors is None:
            for array in described:
                if array.device not in (-1, self.device):
                    raise ArgumentError(
                        f"an output is on cuda:{array.device}, and the module "
                        "does not run there")
            if len(call.results) == REMEMBERED:
                call.results.clear()
            tensors = call.results[names, facts] = Tensors(names, facts)
        tensors.point([d.pointer for d in described])
        return arrays, [d.device for d in described], tensors

    def call(self, names, arrays, out):
        """Runs the model; returns the outputs that were asked for."""
        context = self.take()
        try:
            if (repeated := context.repeated) is not None and out is None:
                results = repeated(context, names, arrays)
                if results is not None:
                    return results, repeated.family
            call, described = self.prepare(context, names, arrays)
            family = _arrays.family_of(arrays[0]) if arrays else _arrays.NUMPY
            device = max([d.device for d in described], default=-1)
            results, places, tensors = self.results(call, family, device, out)
            run = lib.frit_run
            if self.device >= 0:
                run = self.enqueue_on(
                    context, [*arrays, *results],
                    [*[d.device for d in described], *places])
            status = run(context.handle, call.inputs.array, call.inputs.count,
                         tensors.array, tensors.count)
            if status:
                _abi.check(status)
            if self.counts and out is None:
                results = [self.cut(context, family, index, array)
                           for index, array in enumerate(results)]
            if self.gives_strings and out is None:
                results = [texts_of(array)
                           if getattr(array, "dtype", None) == ELEMENT else array
                           for array in results]
            elif out is None and not self.counts and isinstance(family, _arrays.PyTorch) and all(
                    d.device == self.device and type(array) in family.plain_types
                    for d, array in zip(described, arrays)):
                context.repeated = Repeated(family, call, tensors, names,
                                            arrays, results, device)
                if not self.has_state:
                    self.native = context.repeated.native(arrays)
            return results, family
        except Error as error:
            self.handles.allocator.explain(error)
            raise
        finally:
            self.give(context)
            if self.handles.remarks.pending:
                self.handles.remarks.show()

    def repeat(self, arrays) -> list | None:
        """Makes a context's last call again, with tensors of PyTorch of the same
        types and device; None if it has none like that."""
        context = self.take()
        try:
            if (repeated := context.repeated) is None:
                return None
            return repeated.again(context, arrays)
        except AssertionError:
            return None
        except Error as error:
            self.handles.allocator.explain(error)
            raise
        finally:
            self.give(context)
            if self.handles.remarks.pending:
                self.handles.remarks.show()

    def enqueue_on(self, context: Context, arrays, places):
        """Chooses the stream of a call on the GPU, and whether to wait."""
        on_gpu = [a for a, place in zip(arrays, places) if place >= 0]
        family = _arrays.family_of(on_gpu[0]) if on_gpu else None
        context.use(family.stream(self.device) if family else 0)
        waits = len(on_gpu) < len(arrays) or isinstance(family, _arrays.DLPack)
        return lib.frit_run if waits else lib.frit_run_async

    def cut(self, context: Context, family, index: int, array):
        """The valid elements of an output whose shape depends on the data."""
        dims = dims_of(self.outputs[index].dims)
        _abi.check(lib.frit_context_output_dims(context.handle, index, dims))
        shape = tuple(dims[:len(self.outputs[index].dims)])
        if self.output_types[index] == STRING:
            family = _arrays.NUMPY
        return array if shape == tuple(array.shape) else \
            family.cut(array, shape)
