"""A compiled graph of PyTorch: its parameters, and what happens if they change."""
from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, List, Optional, Tuple

import torch

from ._arrays import PyTorch
from ._cache import artifact_of
from ._check import check, check_types
from ._compile import options_of
from ._graphs import Exported, Unsupported, exported, model_of
from ._load import load
from ._module import Module
from ._sizes import OpenSizes


def _march(device: torch.device) -> str:
    if device.type != "cuda":
        return "native"
    major, minor = torch.cuda.get_device_capability(device)
    return f"sm_{major}{minor}{'a' if major >= 9 else ''}"


def _picker(places: Sequence[int]) -> Callable[[Sequence[Any]], tuple]:
    """Returns a function that takes the elements at `places` of a sequence."""
    if len(places) > 1:
        return operator.itemgetter(*places)
    return lambda values: tuple([values[i] for i in places])


_FAMILY = PyTorch()
#: Makes calls without code in Python; None if it is missing.
native = _FAMILY.native
_VERSION = operator.attrgetter("_version")
#: Versions of tensors, None if PyTorch counts none, and their addresses.
_States = Tuple[List[Optional[int]], List[int]]


def _states(tensors: Sequence[torch.Tensor]) -> _States:
    """The states of tensors, which differ after these have changed: in place, which
    increments their version, or by `data =`, which gives them other memory."""
    versions: list[int | None]
    try:
        versions = [*map(_VERSION, tensors)]
    except RuntimeError:  # tensors of inference mode have no version
        versions = [None if t.is_inference() else t._version for t in tensors]
    return versions, [*map(torch.Tensor.data_ptr, tensors)]


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor in a memory layout that the runtime takes."""
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return tensor if tensor.data_ptr() % 16 == 0 else tensor.clone()


#: Parameters, and their states.
_Seen = Tuple[Tuple[torch.Tensor, ...], _States]
_CHANGING: _Seen = ((), ([-1], []))


def _are_same(tensors: Sequence[torch.Tensor], seen: _Seen) -> bool:
    return all(map(operator.is_, tensors, seen[0])) and \
        _states(tensors) == seen[1]


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().cpu().clone()


class Compiled:
    """A graph, compiled for the shapes of `arguments`, its inputs, or for all open
    sizes."""

    def __init__(self, graph: torch.fx.GraphModule, arguments: Sequence[Any],
                 weights: Sequence[int], options: Mapping[str, Any],
                 sizes: OpenSizes | None = None):
        tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
        tensors += [*graph.parameters(), *graph.buffers()]
        devices = {t.device for t in tensors}
        if len(devices) != 1:
            raise Unsupported("its tensors are on several devices" if devices
                               else "it has no tensors")
        self.device, = devices
        if self.device.type not in ("cpu", "cuda"):
            raise Unsupported(f"its tensors are on {self.device}")
        inputs = [i for i, a in enumerate(arguments)
                  if isinstance(a, torch.Tensor) and i not in weights]
        for i in inputs:
            if arguments[i].is_complex() or arguments[i].is_quantized:
                raise Unsupported(f"it takes tensors of {arguments[i].dtype}")
        self.inputs = inputs
        self.inputs_of = _picker(inputs)
        #: Calls that compiled code can make, by the sizes among the arguments.
        self.calls: dict[tuple, Any] = {}
        # Without compiled code, rely on PyTorch's guards, which look at types,
        # devices and lazy views of a graph's inputs.
        self.is_guarded = not native and all(_FAMILY.is_plain(arguments[i])
                                             for i in inputs)
        given: dict[str, Any] = dict(options)
        is_frozen = given.pop("freeze", False)
        is_checked = given.pop("check", True)
        given.setdefault("march", _march(self.device))
        found = options_of(given.pop("march"), given.pop("precision", None),
                           None, given.pop("type", None),
                           given.pop("options", ()))
        if sizes:
            made, shapes = sizes.exported(arguments)
            found += shapes
        else:
            made = exported(graph, arguments)
        try:
            artifact = self._artifact(made.onnx, arguments, weights, found)
        except Unsupported as error:
            raise made.refused_by(error) from error
        #: Those whose values are in the code come last.
        self.watched = [] if is_frozen else [*self.names, *self.constants]
        self.watched_of = _picker(self.watched)
        #: Held while parameters are replaced.
        self.lock = threading.RLock()
        #: The parameters that calls use and their states; `_CHANGING` while they
        #: are replaced. A call used these if they are the same object before and
        #: after it.
        self.seen = self._look(arguments)
        constants = self.seen[0][len(self.names):]
        self.constants_seen = constants, _states(constants)
        self.constants_values = [*map(_copy, constants)]
        device = "cpu" if self.device.type == "cpu" else \
            f"cuda:{self.device.index or 0}"
        self.module: Module = load(artifact, device=device, **given, weights={
            name: arguments[i].detach().contiguous()
            for i, name in self.names.items()})
        self.caller = self.module._caller
        # The results of the first call are looked at before anyone uses them.
        got = self(arguments)
        check_types(made, got)
        if is_checked:
            self._check(made, graph, arguments, got, options)

    def _check(self, made: Exported, graph: torch.fx.GraphModule,
               arguments: Sequence[Any], got: Sequence[torch.Tensor],
               options: Mapping[str, Any]) -> None:
        """Raises Unsupported if results differ from those of eager PyTorch, unless
        there is no memory for these."""
        try:
            wanted = graph(*arguments)
        except torch.OutOfMemoryError:
            return
        check(made, wanted, got, self.device, options)

    def _artifact(self, program, arguments: Sequence[Any],
                  weights: Sequence[int], options: Sequence[str]) -> Path:
        """Compiles the graph. Sets `names` and `constants`: the weights, and the
        inputs whose values the compiler must know."""
        # Sizes are not inputs of the exported program.
        places = {index: place for place, index in enumerate(
            i for i, a in enumerate(arguments) if isinstance(a, torch.Tensor))}
        # Indices and scalars become part of the code.
        constants = {i for i in weights if arguments[i].numel() <= 1
                     or not arguments[i].is_floating_point()}
        while True:
            names = {i: f"weight.{i}" for i in weights if i not in constants}
            model, used = model_of(
                program, {places[i]: name for i, name in names.items()},
                {places[i]: arguments[i] for i in constants})
            made, known = artifact_of(model, {*names.values()}, options)
            folded = {i for i, name in names.items()
                      if name in used and name not in known}
            if not folded:
                break
            constants |= folded
        self.names = {i: name for i, name in names.items() if name in known}
        self.constants = sorted(constants)
        return made

    def _look(self, arguments: Sequence[Any]) -> _Seen:
        held = self.watched_of(arguments)
        return held, _states(held)

    def has_changed(self, arguments: Sequence[Any], seen: _Seen) -> bool:
        """Returns whether a call, before which `seen` was read, used other
        parameters than these."""
        if seen is not self.seen:
            return True
        return not _are_same(self.watched_of(arguments), seen)

    def _refresh(self, arguments: Sequence[Any]) -> bool:
        """Takes parameters that have changed. Returns false if some of them are
        in the code, which must be compiled again."""
        now = self._look(arguments)
        if not _are_same(now[0][len(self.names):], self.constants_seen):
            return False
        self.seen = _CHANGING
        self.module.set_weights({name: arguments[i].detach().contiguous()
                                 for i, name in self.names.items()})
        self.seen = now
        return True

    def look_anew(self) -> bool:
        """Makes the next call read all parameters. Returns false if it cannot:
        because values in the code have changed, or nothing is watched."""
        if not self.names and not self.constants:
            return True
        with self.lock:
            values = map(_copy, self.constants_seen[0])
            if not self.watched or not all(map(torch.equal, values,
                                               self.constants_values)):
                return False
            self.seen = _CHANGING
            return True

    def call_changed(self, inputs: Sequence[Any], arguments: Sequence[Any]
                     ) -> list | None:
        """Makes a call with parameters that may have changed. None if some of
        them are in the code, which must be compiled again."""
        with self.lock:  # another thread may have other parameters
            if self.has_changed(arguments, self.seen) and \
                    not self._refresh(arguments):
                return None
            return self(inputs)

    def remember(self, key: tuple, given: tuple) -> None:
        """Lets compiled code make calls like the last one, of the sizes `key`, if it
        can tell whether parameters change. It makes no other, so the call may also
        be another thread's."""
        call = self.caller.native
        if call is not None and native.same(self.seen, given, self.watched):
            self.calls[key] = call
        else:
            self.calls.pop(key, None)

    def __call__(self, arguments: Sequence[Any]) -> list:
        inputs = self.inputs_of(arguments)
        try:
            if self.is_guarded:
                results = self.caller.repeat(inputs)
                if results is not None:
                    return results
            return self.module.call_list(inputs)
        except ValueError:
            return self.module.call_list([_plain(t) for t in inputs])
