"""Compiled models: calling, measuring and training them."""
from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ctypes import addressof, byref, create_string_buffer, memmove
from typing import Any

import numpy as np

from . import _abi, _arrays, _info
from ._abi import lib
from ._caller import Caller
from ._calls import (Allocator, Handles, Remarks, Tensors, by_name, names_of,
                     weight_tensors)
from ._errors import ArgumentError, printable
from ._generate import generate
from ._info import Info, Step, TensorInfo


class Module:
    """A compiled model, ready to be called. `compile` and `load` make one.

    A call takes arrays by position or by the model's names: of NumPy, of
    PyTorch (on the cpu or the module's GPU), or of any library with DLPack. They
    are used where they lie, without copies, except that arrays in host memory
    are copied to and from a GPU. The result is of the library of the first
    input: an array if the model has one output, otherwise a tuple.

    If an input is on a GPU, the call is enqueued on PyTorch's current stream (or
    the default stream, for other libraries) and returns at once; the results are
    there for whatever follows on that stream. Otherwise it waits.

    Any number of threads may call a module at once; each call that runs at the
    same time as others takes memory for itself (`info.device.context_bytes`).
    The GIL is released while the model runs. A module with state, such as a
    training step, runs one call at a time.

    A training step does not check its labels, which may be on a GPU: one that
    is no class of the model, and not the loss's `ignore_index`, makes the loss
    NaN. frit-train checks the labels of its data and names the sample.

    >>> import frit, numpy as np
    >>> model = frit.compile("digits.onnx", march="x86-64-v3")
    >>> image = np.load("digit_3.npy")          # 1x1x8x8 float32
    >>> model(image).argmax()                   # 1x10 float32
    np.int64(3)
    >>> model(image=image).shape
    (1, 10)
    >>> model(image[0])
    Traceback (most recent call last):
        ...
    frit.ArgumentError: input 'image' must be 1x1x8x8xf32 and is 1x8x8xf32
    """

    def __init__(self, handle: int, remarks: Remarks, allocator: Allocator,
                 parent: Module | None = None):
        self._handles = Handles(handle, remarks, allocator)
        self._handle = handle
        self._parent = parent
        self._caller: Caller = Caller(handle, self._handles,
                              parent._caller if parent else None)
        self._functions: dict[str, Module] = {}
        # Run it when the process ends too, while other threads may still call.
        self._finalizer = weakref.finalize(self, self._caller.stop)

    def close(self) -> None:
        """Waits for calls of other threads and frees the memory of the module."""
        for function in self._functions.values():
            function.close()
        self._finalizer()

    def __enter__(self) -> Module:
        self._caller.open_handle()
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def __reduce_ex__(self, protocol):
        # A copy would share memory that is freed with the first of them.
        raise TypeError("a frit.Module cannot be copied or pickled: keep the "
                        "path of its artifact, and frit.load it again")

    #===------------------------------------------------------------------===#
    # Calls
    #===------------------------------------------------------------------===#

    def __call__(self, *inputs, out=None, **named) -> Any:
        """Runs the model on arrays, by position or by name.

        Args:
          out: arrays to write the outputs to, instead of new ones: one, a
            sequence in the model's order, or a dict by name. A dict may leave
            outputs out, and has those that depend on the data at their largest
            size (`info.outputs[i].dims`).

        Returns:
          The output, or a tuple of all outputs, or `out`.
        """
        names: Any = (None,) * len(inputs)
        if named:
            names += names_of(named)
            inputs += tuple(named.values())
        results, family = self._caller.call(names, inputs, out)
        if out is not None:
            return out
        results = [family.finish(array) for array in results]
        return results[0] if len(results) == 1 else tuple(results)

    def call_list(self, inputs: Sequence[Any]) -> list:
        """As a call with inputs by position; returns all outputs in a list."""
        results, family = self._caller.call((None,) * len(inputs), inputs, None)
        return [family.finish(array) for array in results]

    def run(self, inputs: Mapping[str, Any],
            out: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """As a call, but takes and returns dicts by the model's names.

        >>> import frit, numpy as np
        >>> model = frit.compile("digits.onnx", march="x86-64-v3")
        >>> model.run({"image": np.load("digit_3.npy")})["probabilities"].shape
        (1, 10)
        """
        names = names_of(by_name(inputs, "inputs"))
        if out is not None:
            by_name(out, "outputs")
        results, family = self._caller.call(names, tuple(inputs.values()), out)
        if out is not None:
            return dict(out)
        return {info.name: family.finish(array)
                for info, array in zip(self._caller.outputs, results)}

    def profile(self, *inputs, **named) -> list[Step]:
        """Runs the model once and returns the time of each step in microseconds,
        in the order in which they run.

        >>> import frit, numpy as np
        >>> model = frit.compile("digits.onnx", march="x86-64-v3")
        >>> steps = model.profile(np.load("digit_3.npy"))
        >>> [step.kind for step in steps]
        ['conv', 'conv', 'gemm', 'launch']
        """
        names: Any = (None,) * len(inputs)
        names += names_of(named)
        found: list[Step] = []

        def visit(_, info):
            step = info.contents
            found.append(Step(_info.text(step.kind), _info.text(step.node),
                              _info.text(step.kernel), step.start,
                              step.duration, step.bytes, step.flops,
                              bool(step.is_library)))

        context = self._caller.take()
        try:
            arrays = (*inputs, *named.values())
            call, described = self._caller.prepare(context, names, arrays)
            if self._caller.device >= 0:
                self._caller.enqueue_on(context, arrays,
                                 [d.device for d in described])
            _abi.check(lib.frit_profile(
                context.handle, call.inputs.array, call.inputs.count, None, 0,
                _abi.VISIT_STEP(visit), None))
        finally:
            self._caller.give(context)
        return found

    def synchronize(self) -> None:
        """Waits for the calls that were enqueued on a GPU."""
        with self._handles.guard:
            for context in [*self._caller.free]:
                _abi.check(lib.frit_context_synchronize(context.handle))

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        """Replaces weights by name (`info.weights`) for later calls; the others
        stay. Also to be called when weights in the same arrays have changed.

        The arrays' memory is used where it lies, and is kept from being freed.
        Waits for calls of other threads; each call has all weights as they were
        before, or all as they are after.

        >>> import frit, numpy as np
        >>> model = frit.compile("digits.onnx", march="x86-64-v3")
        >>> model.set_weights({"6.bias": np.float32([9] + 9 * [0])})
        >>> model(np.load("digit_3.npy")).argmax()
        np.int64(0)
        """
        handle = self._caller.open_handle()
        tensors, kept = weight_tensors(weights, handle)
        for array in kept:
            if array.device not in (-1, self._caller.device):
                raise ArgumentError(f"a weight is on cuda:{array.device}, and "
                                    f"the module runs on {self.device}")
        with self._caller.quiet() as contexts:
            handle = self._caller.open_handle()  # may have been closed meanwhile
            for context in contexts:
                _abi.check(lib.frit_context_synchronize(context.handle))
            if self._caller.device >= 0:
                _arrays.synchronize(kept)
            _abi.check(lib.frit_module_set_weights(handle, tensors.array,
                                                   tensors.count))
            self._handles.weights.update(zip(weights, kept))

    #===------------------------------------------------------------------===#
    # Description
    #===------------------------------------------------------------------===#

    @property
    def info(self) -> Info:
        """Inputs, outputs, targets, memory: what `frit-run --info` prints.

        >>> import frit
        >>> model = frit.compile("digits.onnx", march="x86-64-v3")
        >>> model.info.inputs[0].shape, model.info.inputs[0].dtype
        ((1, 1, 8, 8), 'f32')
        """
        with self._handles.guard:
            return _info.info_of(self._caller.open_handle())

    @property
    def device(self) -> str:
        """Device that the module runs on: "cuda:0" or "cpu"."""
        return "cpu" if self._caller.device < 0 else f"cuda:{self._caller.device}"

    def __repr__(self) -> str:
        if not self._handles.is_open:
            return "<frit.Module, closed>"

        def show(infos):
            return ", ".join(f"{i.name} {'x'.join(map(str, (*i.shape, i.dtype)))}"
                             for i in infos)
        name = _info.text(lib.frit_module_name(self._handle))
        function = _info.text(lib.frit_module_function(self._handle))
        if function != "main":
            name += f", {function}"
        return printable(
            f"<frit.Module '{name}' on {self.device}: "
            f"{show(self._caller.inputs)} -> {show(self._caller.outputs)}>")

    #===------------------------------------------------------------------===#
    # Functions and state
    #===------------------------------------------------------------------===#

    def function(self, name: str) -> Module:
        """Another function of the artifact, such as "eval_step". It shares the
        state of this one, and lives no longer.

            step = frit.load("step.so")         # the function train_step
            evaluate = step.function("eval_step")
            step.write_state(learning_rate=1e-3)
            loss = step(image, labels)
        """
        if name == _info.text(lib.frit_module_function(self._caller.open_handle())):
            return self
        if self._parent is not None:
            return self._parent.function(name)
        if name not in self._functions:
            handle = _abi.opened(lib.frit_module_open_function, self._handle,
                                 *names_of([name]))
            self._functions[name] = Module(handle, self._handles.remarks,
                                           self._handles.allocator, self)
        return self._functions[name]

    def generate(self, tokens: Sequence[int] | np.ndarray, max_new_tokens: int | None = None,
                 stop: Iterable[int] | int | None = (), speculate: Module | str | None = None,
                 guesses: int | None = None, adapter: str | os.PathLike | None = None,
                 source: Any = None, logprobs: bool = False, **sampling: Any) -> Iterator[Any]:
        """Yields the tokens that follow `tokens` in a language model, one by one.

            for token in frit.load("llama.so").generate(prompt, 64, stop=[2]):
                ...

        Args:
          tokens: the prompt.
          max_new_tokens: ends after that many; by default where the caches are full.
          stop: tokens that end it and are not yielded.
          speculate: a smaller model whose guesses this one checks, or "lookup" to guess
            what followed the last tokens before. The tokens stay the same. For models
            compiled with `--verify`.
          guesses: as many at a time; by default those that a call takes.
          adapter: folder of an adapter of low rank, as for `Session.load_adapter`.
          source: what a model with an encoder reads, as for `Session.encode`.
          logprobs: yields each token with its log probability, as for `Session.decode`.
          sampling: as for `Session.decode`; without any, each token is the most
            likely one.
        """
        return generate(self, tokens, max_new_tokens, stop, speculate, guesses, adapter,
                        source, logprobs, **sampling)

    def _states(self) -> dict[str, TensorInfo]:
        with self._handles.guard:
            return {i.name: i for i in _info.tensors_of(
                self._caller.open_handle(), "state", ())}

    def _state(self, function, names, arrays, write) -> None:
        with self._caller.lock:
            self._caller.open_handle()
            described = [_arrays.describe(array, self._handle, write)
                         for array in arrays]
            tensors = Tensors(names_of(names),
                              [(d.dtype, d.shape, d.device) for d in described])
            tensors.point([d.pointer for d in described])
            context = self._caller.state_context()
            _abi.check(function(context.handle, tensors.array, tensors.count))

    def read_state(self, *names: str) -> dict[str, Any]:
        """Copies state tensors, all or those named, to NumPy arrays. Ranks that
        divide the state (`-fshard-optimizer`) call this at the same time, with
        the same names."""
        state = self._states()
        for name in names:
            if name not in state:
                raise ArgumentError(f"there is no state '{name}'; the model's "
                                    f"are: {', '.join(state) or 'none'}")
        if not state:
            return {}
        codes = {lib.frit_dtype_name(code).decode(): code
                 for code in _arrays.NAMES}
        arrays = {name: _arrays.NUMPY.empty(state[name].dims,
                                            codes[state[name].dtype], -1,
                                            self._handle)
                  for name in names or state}
        self._state(lib.frit_state_read, [*arrays], [*arrays.values()], True)
        return arrays

    def write_state(self, values: Mapping[str, Any] | None = None,
                    **named) -> None:
        """Sets state tensors, such as `learning_rate=1e-3`, from arrays and
        numbers."""
        values = {**(values or {}), **named}
        state = self._states()
        arrays = [_arrays.as_type(value, state[name].dtype)
                  if name in state else value
                  for name, value in values.items()]
        self._state(lib.frit_state_write, [*values], arrays, False)

    def group_id(self) -> bytes:
        """Makes the id of a new group of processes that train together. One of
        them makes it, and gives it to the others for `join`."""
        made = create_string_buffer(128)
        _abi.check(lib.frit_group_unique_id(self._caller.open_handle(), made))
        return made.raw

    def join(self, rank: int, size: int, group: bytes) -> None:
        """Makes later calls average gradients and losses over a group of `size`
        processes, in a function compiled with `-fdata-parallel`. Waits until all
        of them have joined, ranks from 0 on."""
        if not 0 <= rank < size < 2**31:
            raise ArgumentError(f"rank {rank} is not one of {size}, from 0 on")
        if len(group) != 128:
            raise ArgumentError("a group's id has 128 bytes, not "
                                f"{len(group)}")
        made = _abi.Group(rank, size)
        memmove(addressof(made) + _abi.Group.id.offset, group, 128)
        with self._caller.lock:
            self._caller.open_handle()
            _abi.check(lib.frit_context_join(self._caller.state_context().handle,
                                             byref(made)))
