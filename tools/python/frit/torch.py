"""PyTorch: the backend of `torch.compile`, and `export`.

    import torch
    fast = torch.compile(model, backend="frit", options={"precision": "fp16"})
    with torch.no_grad():
        fast(x)

    module = frit.torch.export(model, (x,), march="sm_90a")   # a frit.Module

The options of the backend are keywords of `frit.compile`, "freeze" and "check". What
frit cannot compile of a graph runs in PyTorch, after a warning that says why.
Gradients are PyTorch's too: frit compiles what runs without them. Compiled graphs are
kept in `~/.cache/frit` (FRIT_CACHE names another folder) by their content.

The results of a compiled graph's first call are compared with PyTorch's, which runs
that call too; if they differ by more than roundings do, the graph runs in PyTorch.
`options={"check": False}` looks at their types and shapes only.

Parameters stay where they are: frit reads them in PyTorch's memory, and
stores only what it prepares from them, such as other types and layouts. A parameter that changes is noticed at the next call, unless
`options={"freeze": True}` says that none does: looking takes time for each.
Writes to a parameter's `data`, or by NumPy, are not; call `refresh` after these.
"""
from __future__ import annotations

import inspect
import operator
import os
import tempfile
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from ._compile import compile as compile_model
from ._compile import reject_unknown_keywords
from ._compiled import Compiled, native
from ._errors import ArgumentError, Error
from ._graphs import Unsupported, exported_model, summary_of
from ._load import load
from ._module import Module
from ._numbers import WithNumbers, numbers_of
from ._sizes import open_sizes
from ._split import Split, split

#: Sizes of open dimensions that a graph is compiled for, before it runs in
#: PyTorch.
_MOST_SHAPES = 16
#: Options of the backend: "freeze", "check", and keywords of `frit.compile` and
#: `load`.
_OPTIONS = {"freeze", "check", "march", "precision", "type", "options"} | (
    {*inspect.signature(load).parameters} - {
        "path", "device", "weights", "weights_folder"})
#: Times that a graph is compiled again because its constants change.
_MOST_REPEATED = 4


class Fallback(UserWarning):
    """A graph runs in PyTorch, for the reason given."""


_told: set[str] = set()
#: Held while a graph is compiled: PyTorch's exporter has global state.
_compiling = threading.RLock()
#: Graphs that are in use, and the lock for this set.
_graphs: weakref.WeakSet[_Graph] = weakref.WeakSet()
_listing = threading.Lock()


def _tell(reason: str, what: str = "a graph runs in PyTorch") -> None:
    """Warns of a graph that is not compiled as asked, once for each reason."""
    text = f"{what}: {reason}"
    if text not in _told:
        _told.add(text)
        warnings.warn(text, Fallback, stacklevel=3)


def _reason_of(error: Exception) -> str:
    """What an exception says to users, whom a traceback would not help."""
    is_ours = isinstance(error, (Unsupported, Error, OSError))
    return str(error) if is_ours else summary_of(error)


def _is_weight(node: torch.fx.Node, example: Any) -> bool:
    """Returns whether an input of a graph is a parameter or buffer of the model."""
    return "lifted" in node.meta or isinstance(example, torch.nn.Parameter) or (
        isinstance(example, torch.Tensor) and bool(
            node.meta.get("tensor_dict", {}).get("_dynamo_static_input_type")
            or getattr(example, "_dynamo_static_input_type", None)))


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
    # Hooks for saved tensors are compiled in by AOTAutograd alone, which is not used
    # here. PyTorch checks them by code in Python, 1 us a call.
    return [bool(keep) and not guard.is_global
            and guard.guard_type != "AUTOGRAD_SAVED_TENSORS_HOOKS"
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
        self.open_sizes = open_sizes(self.graph) if self.sizes else None
        #: Compiled graphs by their sizes; at None, that for all open sizes.
        self.compiled: dict[tuple | None, Compiled | Split | None] = {}
        self.repeated = 0
        with _listing:
            _graphs.add(self)

    def _compile(self, key: tuple, arguments: Sequence[Any]
                 ) -> Compiled | Split | None:
        """Compiles the graph for these arguments; None if PyTorch runs it."""
        if key in self.compiled:  # by another thread
            return self.compiled[key]
        if self.open_sizes and self.open_sizes.hold(key):
            try:
                if None not in self.compiled:
                    self.compiled[None] = Compiled(
                        self.graph, arguments, self.weights, self.options,
                        self.open_sizes)
                self.compiled[key] = self.compiled[None]
                return self.compiled[key]
            except Exception as error:
                self.open_sizes = None
                _tell(_reason_of(error), "a graph is compiled for each size anew")
        made: Compiled | Split | None = None
        try:
            if len(self.compiled) >= _MOST_SHAPES:
                raise Unsupported(f"it was called with more than "
                                   f"{_MOST_SHAPES} shapes")
            made = Compiled(self.graph, arguments, self.weights, self.options)
        except Exception as error:
            if isinstance(error, Unsupported) and error.nodes:
                made = self._split(error)
            _tell(_reason_of(error),
                  f"{'part of ' if made else ''}a graph runs in PyTorch")
        if len(self.compiled) <= _MOST_SHAPES:
            self.compiled[key] = made
        return made

    def _split(self, error: Unsupported) -> Split | None:
        """Compiles the graph without the operators that are at fault."""
        try:
            return split(error.program, error.nodes, self.weights, self.lifted,
                         lambda part, examples: _Graph(
                             part, examples, self.options).callable())
        except Exception:  # PyTorch's passes do not take every graph
            return None

    def look_anew(self) -> None:
        """Makes the next calls read all parameters, compiling again if need be."""
        with _compiling:
            for compiled in {*self.compiled.values()}:
                if compiled and not compiled.look_anew():
                    self._drop(compiled)

    def _drop(self, compiled: Compiled | Split) -> None:
        for key in [k for k, c in self.compiled.items() if c is compiled]:
            del self.compiled[key]

    def _again(self, key: tuple, compiled: Compiled, given: Sequence[Any]):
        """Calls the graph after values that are in its code have changed."""
        with _compiling:
            if self.compiled.get(key) is compiled:
                self._drop(compiled)
                self.repeated += 1
                if self.repeated > _MOST_REPEATED:
                    _tell("indices or scalars of its model change between calls")
                    self.compiled[key] = None
        return self(*given)

    def _key(self, given: Sequence[Any]) -> tuple:
        return tuple([given[i] for i in self.sizes]) if self.sizes else ()

    def change(self, *given):
        """Makes a call again, because its parameters have changed meanwhile."""
        key = self._key(given)
        compiled = self.compiled.get(key)
        if not isinstance(compiled, Compiled):  # dropped by another thread
            return self(*given)
        results = compiled.call_changed(given, (*given, *self.lifted))
        compiled.remember(key, given)
        return self._again(key, compiled, given) if results is None else results

    def __call__(self, *given):
        key = self._key(given)
        try:
            compiled = self.compiled[key]
        except KeyError:
            with _compiling, torch.no_grad():
                compiled = self._compile(key, (*given, *self.lifted))
        if compiled is None:
            return self.graph(*given, *self.lifted)
        seen = compiled.seen
        results = compiled(given)
        compiled.remember(key, given)
        # The GPU works meanwhile. Results with old parameters are discarded.
        if compiled.watched and isinstance(compiled, Compiled):
            arguments = (*given, *self.lifted) if self.lifted else given
            if compiled.has_changed(arguments, seen):
                return self.change(*given)
        return results

    def callable(self):
        """A function that calls the graph, by compiled code if there is any."""
        return native.callable(self) if native else self


def _parts_of(value: Any) -> list[Any]:
    """The plain tensors that a tensor of another class wraps, as of torchao."""
    if not is_traceable_wrapper_subclass(value):
        return [value]
    names, _ = value.__tensor_flatten__()
    return [part for name in names for part in _parts_of(getattr(value, name))]


def _wrap_as(like: Any, parts: Iterator[Any]) -> Any:
    """Wraps plain tensors as `like` wraps others."""
    if not is_traceable_wrapper_subclass(like):
        return next(parts)
    names, context = like.__tensor_flatten__()
    inner = {name: _wrap_as(getattr(like, name), parts) for name in names}
    return type(like).__tensor_unflatten__(inner, context, like.size(), like.stride())


class _Wrapping(torch.nn.Module):
    """Calls a graph with the tensors that `likes` wrap."""

    def __init__(self, graph: torch.fx.GraphModule, likes: Sequence[Any]):
        super().__init__()
        self.call, self.likes = graph.forward, likes

    def forward(self, *parts: Any) -> Any:
        rest = iter(parts)
        return self.call(*[_wrap_as(like, rest) for like in self.likes])


class _Unwrapped:
    """Callable instead of a graph some of whose inputs wrap other tensors: it is
    compiled for those that they wrap."""

    def __init__(self, graph: torch.fx.GraphModule, weights: Sequence[bool],
                 options: Mapping[str, Any]):
        self.graph, self.weights, self.options = graph, weights, options
        self.made: Callable[..., Any] | None = None

    def _make(self, given: Sequence[Any]) -> Callable[..., Any]:
        """Exports the graph at the first call, which has the tensors."""
        parts = [part for value in given for part in _parts_of(value)]
        try:
            program = torch.export.export(_Wrapping(self.graph, given), tuple(parts),
                                          strict=False)
        except Exception as error:
            _tell(_reason_of(error))
            return _Wrapping(self.graph, given)
        plain = program.graph_module
        are_weights = [weight for weight, value in zip(self.weights, given)
                      for _ in _parts_of(value)]
        inputs = [n for n in plain.graph.nodes if n.op == "placeholder"]
        for node, weight in zip(inputs, are_weights, strict=True):
            if weight:
                node.meta["lifted"] = True
        return _Graph(plain, parts, self.options).callable()

    def __call__(self, *given):
        if self.made is None:
            with _compiling, torch.no_grad():
                self.made = self.made or self._make(given)
        return self.made(*[part for value in given for part in _parts_of(value)])


def refresh() -> None:
    """Makes compiled graphs read parameters and buffers again at their next calls.

    Call it after changes that PyTorch does not count: writes to `p.data`, or by
    NumPy, DLPack or another library. All others are noticed. A graph is compiled
    again if it was compiled with "freeze", or if values in its code have changed.
    """
    with _listing:
        graphs = [*_graphs]
    for graph in graphs:
        graph.look_anew()


def _has_checkpoint(graph: torch.fx.GraphModule) -> bool:
    """Returns whether a part of the graph runs under torch.utils.checkpoint."""
    checkpoint = torch.ops.higher_order.tag_activation_checkpoint
    return any(node.target is checkpoint for part in graph.modules()
               if isinstance(part, torch.fx.GraphModule)
               for node in part.graph.nodes)


def _callable_of(graph: torch.fx.GraphModule, examples: Sequence[Any],
                 options: Mapping[str, Any]) -> Callable[..., Any]:
    """Returns what is called instead of a graph of tensors and sizes."""
    if any(is_traceable_wrapper_subclass(e) for e in examples):
        if not all(isinstance(e, torch.Tensor) for e in examples):
            _tell("it has open sizes, and weights of a class of tensors of their own")
            return graph.forward
        nodes = [n for n in graph.graph.nodes if n.op == "placeholder"]
        return _Unwrapped(graph, [_is_weight(node, example)
                                  for node, example in zip(nodes, examples)], options)
    return _Graph(graph, examples, options).callable()


def backend(graph: torch.fx.GraphModule, examples: Sequence[Any], *,
            options: Mapping[str, Any] | None = None, **_: Any):
    """The backend "frit" of `torch.compile`. Compiles at the first call."""
    given = dict(options or {})
    if "shape" in given:
        raise ArgumentError(
            "'shape' is no option of the backend, whose graphs have names of "
            "PyTorch's; mark what is open of the inputs, as in "
            "torch._dynamo.mark_dynamic(x, 0, min=2, max=64)")
    if unknown := given.keys() - _OPTIONS:
        raise ArgumentError(f"there is no option '{min(unknown)}'; the options "
                            f"are: {', '.join(sorted(_OPTIONS))}")
    returned = next(n for n in graph.graph.nodes if n.op == "output").args[0]
    if torch.is_grad_enabled() and any(
            isinstance(e, torch.Tensor) and e.requires_grad
            for e in (*examples, *graph.parameters(), *graph.buffers())):
        _tell("its gradients may be asked for; call it under torch.no_grad()")
        # A checkpointed region that runs as it is draws other random numbers when it
        # runs again for its gradients.
        if _has_checkpoint(graph):
            return torch._dynamo.lookup_backend("aot_eager")(graph, examples)
        return graph.forward
    for node in returned:
        value = getattr(node, "meta", {}).get("example_value")
        if not isinstance(value, torch.Tensor):
            _tell("it returns something that is no tensor")
            return graph.forward
        if value.is_complex():
            _tell(f"it returns tensors of {value.dtype}")
            return graph.forward
    if places := numbers_of(graph, examples):
        return WithNumbers(graph, places, lambda part, rest: _callable_of(
            part, rest, given), _tell)
    return _callable_of(graph, examples, given)


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
        program = exported_model(model, args, kwargs, dynamic_shapes)
    except Unsupported as error:
        raise Error(f"{error}; leave it out of the model") from None
    finally:
        for part in trained:
            part.training = True
    with tempfile.TemporaryDirectory(prefix="frit-") as folder:
        path = Path(folder, f"{type(model).__name__}.onnx")
        program.save(path, external_data=True)
        return compile_model(path, output, **options)


if "frit" not in torch._dynamo.list_backends(exclude_tags=()):
    torch._dynamo.register_backend(backend, name="frit")
