"""Graphs that take numbers of Python's, which become part of the code.

`torch.compile(dynamic=True)` takes floats that are attributes of modules, such as the
epsilon of a norm, for inputs:

    def graph(x, eps):                      def graph(x):
        return layer_norm(x, eps.item())        return layer_norm(x, 1e-5)
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

#: Makes a graph callable, given examples of its inputs.
Compile = Callable[[torch.fx.GraphModule, Sequence[Any]], Callable[..., Any]]

#: Values of its numbers that a graph is compiled for, before it runs in PyTorch.
_MOST_VALUES = 16


def numbers_of(graph: torch.fx.GraphModule, examples: Sequence[Any]) -> list[int]:
    """Returns which inputs are tensors only because PyTorch passes numbers so."""
    inputs = [n for n in graph.graph.nodes if n.op == "placeholder"]
    return [place for place, (node, example) in enumerate(zip(inputs, examples))
            if isinstance(example, torch.Tensor) and not example.dim()
            and example.device.type == "cpu" and node.users
            and getattr(node.meta.get("grapharg"), "pass_arg_as_tensor", False)
            and all(user.op == "call_method" and user.target == "item"
                    for user in node.users)]


def _with_numbers(graph: torch.fx.GraphModule, places: Sequence[int],
                  numbers: Sequence[Any]) -> torch.fx.GraphModule:
    """Returns the graph without its inputs at `places`, which have these values."""
    made = torch.fx.Graph()
    # PyTorch continues to use the original graph, which must not change.
    made.output(made.graph_copy(graph.graph, {}))
    inputs = [n for n in made.nodes if n.op == "placeholder"]
    for place, number in zip(places, numbers):
        for user in [*inputs[place].users]:
            for reader in [*user.users]:
                reader.args, reader.kwargs = torch.fx.map_arg(
                    (reader.args, reader.kwargs),
                    lambda node, of=user, by=number: by if node is of else node)
            made.erase_node(user)
        made.erase_node(inputs[place])
    return torch.fx.GraphModule(graph, made)


class WithNumbers:
    """Callable instead of a graph whose inputs at `places` are numbers: it is
    compiled for each of their values."""

    def __init__(self, graph: torch.fx.GraphModule, places: Sequence[int],
                 compile: Compile, tell: Callable[[str], None]):
        self.graph, self.places = graph, places
        self.compile, self.tell = compile, tell
        self.made: dict[tuple, Callable[..., Any]] = {}
        self.lock = threading.Lock()

    def _make(self, numbers: Sequence[Any], rest: Sequence[Any]
              ) -> Callable[..., Any] | None:
        if len(self.made) < _MOST_VALUES:
            return self.compile(_with_numbers(self.graph, self.places, numbers), rest)
        self.tell(f"it was called with more than {_MOST_VALUES} values of its numbers")
        return None

    def __call__(self, *given):
        numbers = [given[i].item() for i in self.places]
        rest = [value for i, value in enumerate(given) if i not in self.places]
        key = (*map(repr, numbers),)  # NaN does not equal itself, and 0.0 equals -0.0
        call = self.made.get(key)
        if call is None:
            with self.lock, torch.no_grad():
                call = self.made.get(key) or self._make(numbers, rest)
                if call is None:
                    return self.graph(*given)
                self.made[key] = call
        return call(*rest)
