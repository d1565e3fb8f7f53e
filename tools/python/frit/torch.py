"""PyTorch: the backend of `torch.compile`, and `export`.

    import torch
    fast = torch.compile(model, backend="frit", options={"precision": "fp16"})
    with torch.no_grad():
        fast(x)

    module = frit.torch.export(model, (x,), march="sm_90a")   # a frit.Module

The options of the backend are keywords of `frit.compile`, and "freeze". A graph
that frit cannot compile runs in PyTorch, after a warning that says why. Gradients
are PyTorch's too: frit compiles what runs without them. Compiled graphs are kept
in `~/.cache/frit` (FRIT_CACHE names another folder) by their content.

Parameters stay where they are: frit reads them in PyTorch's memory, and
holds of its own only what it prepares from them, such as other types and
layouts. A parameter that changes is noticed at the next call, unless
`options={"freeze": True}` says that none does: looking takes time for each.
"""
from __future__ import annotations

import inspect
import operator
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from ._arrays import PyTorch
from ._compile import compile as compile_model
from ._compile import options_of, reject_unknown_keywords
from ._errors import ArgumentError, Error
from ._graphs import Unsupported, artifact_of, exported, model_of
from ._module import Module, load

#: Sizes of open dimensions that a graph is compiled for, before it runs in
#: PyTorch.
_MOST_SHAPES = 16
#: Options of the backend: "freeze", and keywords of `frit.compile` and `load`.
_OPTIONS = {"freeze", "march", "precision", "shape", "type", "options"} | (
    {*inspect.signature(load).parameters} - {
        "path", "device", "weights", "weights_folder"})
#: Times that a graph is compiled again because its constants change.
_MOST_REPEATED = 4


class Fallback(UserWarning):
    """A graph runs in PyTorch, for the reason given."""


_told: set[str] = set()


def _tell(reason: str) -> None:
    """Warns of a graph that runs in PyTorch, once for each reason."""
    if reason not in _told:
        _told.add(reason)
        warnings.warn(f"a graph runs in PyTorch: {reason}", Fallback,
                      stacklevel=3)


def _march(device: torch.device) -> str:
    if device.type != "cuda":
        return "native"
    major, minor = torch.cuda.get_device_capability(device)
    return f"sm_{major}{minor}{'a' if major >= 9 else ''}"


def _is_weight(node: torch.fx.Node, example: Any) -> bool:
    """Returns whether an input of a graph is a parameter or buffer of the model."""
    return "lifted" in node.meta or isinstance(example, torch.nn.Parameter) or (
        isinstance(example, torch.Tensor) and bool(
            node.meta.get("tensor_dict", {}).get("_dynamo_static_input_type")
            or getattr(example, "_dynamo_static_input_type", None)))


class _Compiled:
    """A graph, compiled for certain shapes of its inputs."""

    def __init__(self, graph: torch.fx.GraphModule, arguments: Sequence[Any],
                 weights: Sequence[int], options: Mapping[str, Any]):
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
        self.inputs_of = _picker(inputs)
        # PyTorch guards types, devices and lazy views of a graph's inputs.
        plain = PyTorch().is_plain
        self.is_guarded = all(plain(arguments[i]) for i in inputs)
        given: dict[str, Any] = dict(options)
        is_frozen = given.pop("freeze", False)
        given.setdefault("march", _march(self.device))
        found = options_of(given.pop("march"), given.pop("precision", None),
                           given.pop("shape", None), given.pop("type", None),
                           given.pop("options", ()))
        artifact = self._artifact(exported(graph, arguments), arguments, weights,
                                  found)
        device = "cpu" if self.device.type == "cpu" else \
            f"cuda:{self.device.index or 0}"
        self.module: Module = load(artifact, device=device, **given, weights={
            name: arguments[i].detach().contiguous()
            for i, name in self.names.items()})
        #: Those whose values are in the code come last.
        self.watched = [] if is_frozen else [*self.names, *self.constants]
        self.watched_of = _picker(self.watched)
        self.held = self.watched_of(arguments)
        self.seen = _states(self.held)
        self.constants_seen = _states(self.held[len(self.names):])

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
            made = artifact_of(model, {*names.values()}, options)
            known = {info.name
                     for info in load(made, device="none").info.weights}
            folded = {i for i, name in names.items()
                      if name in used and name not in known}
            if not folded:
                break
            constants |= folded
        self.names = {i: name for i, name in names.items() if name in known}
        self.constants = sorted(constants)
        return made

    def changed(self, arguments: Sequence[Any]) -> bool:
        """Returns whether parameters have changed since the last call."""
        now = self.watched_of(arguments)
        return not (all(map(operator.is_, now, self.held))
                    and _states(now) == self.seen)

    def refresh(self, arguments: Sequence[Any]) -> bool:
        """Takes parameters that have changed. Returns false if some of them are
        in the code, which must be compiled again."""
        held = self.watched_of(arguments)
        count = len(self.names)
        same = all(map(operator.is_, held[count:], self.held[count:]))
        if not same or _states(held[count:]) != self.constants_seen:
            return False
        self.held = held
        self.seen = _states(held)
        self.module.set_weights({name: arguments[i].detach().contiguous()
                                 for i, name in self.names.items()})
        return True

    def __call__(self, arguments: Sequence[Any]) -> list:
        inputs = self.inputs_of(arguments)
        try:
            if self.is_guarded:
                results = self.module._caller.repeat(inputs)
                if results is not None:
                    return results
            return self.module.call_list(inputs)
        except ValueError:
            return self.module.call_list([_plain(t) for t in inputs])


def _picker(places: Sequence[int]) -> Callable[[Sequence[Any]], tuple]:
    """Returns a function that takes the elements at `places` of a sequence."""
    if len(places) > 1:
        return operator.itemgetter(*places)
    return lambda values: tuple([values[i] for i in places])


_VERSION = operator.attrgetter("_version")


def _states(tensors: Sequence[torch.Tensor]) -> tuple[int, list[int]]:
    """Differs after tensors have changed: in their memory, which counts their
    version up, or by `data =`, which gives them other memory."""
    try:
        versions = sum(map(_VERSION, tensors))
    except RuntimeError:  # tensors of inference mode have no version
        versions = sum(0 if t.is_inference() else t._version for t in tensors)
    return versions, [*map(torch.Tensor.data_ptr, tensors)]


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor in memory as the runtime takes it."""
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return tensor if tensor.data_ptr() % 16 == 0 else tensor.clone()


def _lift(graph: torch.fx.GraphModule
          ) -> tuple[torch.fx.GraphModule, list[torch.Tensor]]:
    """Returns a graph that takes the tensors of `graph`'s own as its last
    inputs, and these tensors."""
    lifted: dict[str, torch.Tensor] = {}
    for node in graph.graph.nodes:
        if node.op == "get_attr":
            value = operator.attrgetter(node.target)(graph)
            if isinstance(value, torch.Tensor):
                lifted[node.target] = value
    if not lifted:
        return graph, []
    made = torch.fx.Graph()
    # PyTorch continues to use the original graph, which must not change.
    returned = made.graph_copy(graph.graph, {})
    made.output(returned)
    last = [n for n in made.nodes if n.op == "placeholder"][-1:]
    with made.inserting_after(*last):
        inputs = {name: made.placeholder(f"lifted_{index}")
                  for index, name in enumerate(reversed(lifted))}
    for node in [n for n in made.nodes if n.op == "get_attr"]:
        if node.target in lifted:
            inputs[node.target].meta = {**node.meta, "lifted": True}
            node.replace_all_uses_with(inputs[node.target])
            made.erase_node(node)
    return torch.fx.GraphModule(graph, made), [*lifted.values()]


def inputs_only(guards: Sequence[Any]) -> list[bool]:
    """A `guard_filter_fn` for models whose modules, and globals that they use,
    stay as they are: of each call, PyTorch looks at the inputs alone."""
    kept = torch.compiler.skip_guard_on_all_nn_modules_unsafe(guards)
    return [bool(keep) and not guard.is_global
            for keep, guard in zip(kept, guards)]


class _Graph:
    """Callable that `torch.compile` uses instead of a graph."""

    def __init__(self, graph: torch.fx.GraphModule, examples: Sequence[Any],
                 options: Mapping[str, Any]):
        self.options = options
        #: The graph; its last arguments are tensors that it holds itself.
        self.graph, self.lifted = _lift(graph)
        examples = [*examples, *self.lifted]
        nodes = [n for n in self.graph.graph.nodes if n.op == "placeholder"]
        self.weights = [i for i, (node, example) in
                        enumerate(zip(nodes, examples))
                        if _is_weight(node, example)]
        self.sizes = [i for i, example in enumerate(examples)
                      if not isinstance(example, torch.Tensor)]
        self.compiled: dict[tuple, _Compiled | None] = {}
        self.repeated = 0

    def _compile(self, key: tuple, arguments: Sequence[Any]) -> _Compiled | None:
        """Compiles the graph for these arguments; None if PyTorch runs it."""
        made = None
        try:
            if len(self.compiled) == _MOST_SHAPES:
                raise Unsupported(f"it was called with more than "
                                   f"{_MOST_SHAPES} shapes")
            made = _Compiled(self.graph, arguments, self.weights, self.options)
        except (Unsupported, Error) as error:
            _tell(str(error))
        except Exception as error:  # of PyTorch's exporter, which has many
            _tell("PyTorch cannot export it to ONNX: "
                  f"{type(error).__name__}: {str(error).strip()[:500]}")
        if len(self.compiled) <= _MOST_SHAPES:
            self.compiled[key] = made
        return made

    def _again(self, key: tuple, given: Sequence[Any]):
        """Calls the graph after values that are in its code have changed."""
        self.repeated += 1
        if self.repeated > _MOST_REPEATED:
            _tell("indices or scalars of its model change between calls")
            self.compiled[key] = None
        else:
            del self.compiled[key]
        return self(*given)

    def __call__(self, *given):
        key = tuple([given[i] for i in self.sizes]) if self.sizes else ()
        try:
            compiled = self.compiled[key]
        except KeyError:
            with torch.no_grad():
                compiled = self._compile(key, (*given, *self.lifted))
        if compiled is None:
            return self.graph(*given, *self.lifted)
        results = compiled(given)
        # The GPU works meanwhile. Results with old parameters are discarded.
        if compiled.watched:
            arguments = (*given, *self.lifted) if self.lifted else given
            if compiled.changed(arguments):
                if not compiled.refresh(arguments):
                    return self._again(key, given)
                results = compiled(given)
        return results


def backend(graph: torch.fx.GraphModule, examples: Sequence[Any], *,
            options: Mapping[str, Any] | None = None, **_: Any):
    """The backend "frit" of `torch.compile`. Compiles at the first call."""
    given = dict(options or {})
    if unknown := given.keys() - _OPTIONS:
        raise ArgumentError(f"there is no option '{min(unknown)}'; the options "
                            f"are: {', '.join(sorted(_OPTIONS))}")
    returned = next(n for n in graph.graph.nodes if n.op == "output").args[0]
    if torch.is_grad_enabled() and any(
            isinstance(e, torch.Tensor) and e.requires_grad
            for e in (*examples, *graph.parameters(), *graph.buffers())):
        _tell("its gradients may be asked for; call it under torch.no_grad()")
        return graph.forward
    for node in returned:
        value = getattr(node, "meta", {}).get("example_value")
        if not isinstance(value, torch.Tensor):
            _tell("it returns something that is no tensor")
            return graph.forward
        if value.is_complex():
            _tell(f"it returns tensors of {value.dtype}")
            return graph.forward
    return _Graph(graph, examples, given)


def export(model: torch.nn.Module, args: tuple, kwargs: dict | None = None, *,
           dynamic_shapes: Any = None, output: str | os.PathLike | None = None,
           **options: Any) -> Module:
    """Exports a model to ONNX and compiles it.

    Args:
      model: run as after `eval()`; it is left as it was.
      args, kwargs: what the model is called with, for the shapes and types.
      dynamic_shapes: as for `torch.onnx.export`: which dimensions stay open.
        `shape` then says for which sizes to compile: `{"batch": range(1, 65)}`.
      output, options: as for `frit.compile`.

    >>> import frit.torch, torch
    >>> module = frit.torch.export(torch.nn.Linear(4, 2), (torch.ones(3, 4),),
    ...                            march="x86-64-v3")
    >>> module(torch.ones(3, 4)).shape
    torch.Size([3, 2])
    """
    if not isinstance(model, torch.nn.Module):
        raise ArgumentError("export takes a torch.nn.Module, not "
                            f"{type(model).__name__}")
    reject_unknown_keywords("export", options)
    args = (args,) if isinstance(args, torch.Tensor) else tuple(args)
    trained = [part for part in model.modules() if part.training]
    model.eval()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of PyTorch's exporter about itself
            program = torch.onnx.export(model, args, kwargs=kwargs,
                                        dynamic_shapes=dynamic_shapes,
                                        dynamo=True, verbose=False)
    finally:
        for part in trained:
            part.training = True
    assert program is not None  # as it is with dynamo=True
    with tempfile.TemporaryDirectory(prefix="frit-") as folder:
        path = Path(folder, f"{type(model).__name__}.onnx")
        program.save(path, external_data=True)
        return compile_model(path, output, **options)


if "frit" not in torch._dynamo.list_backends(exclude_tags=()):
    torch._dynamo.register_backend(backend, name="frit")
