"""The compiled module: tools/python/native/Native.cpp explains it."""
from collections.abc import Callable
from typing import Any

import torch

class Repeated:
    def __init__(self, run: int | None, inputs: tuple[int, int],
                 outputs: tuple[int, int], tensors: tuple[torch.Tensor, ...],
                 allocate: Any, made: tuple, gpu: int, kept: object) -> None: ...

def use(tensor: type, parameter: type) -> None: ...
def same(seen: tuple, arguments: tuple, places: list[int]) -> bool: ...
def callable(graph: object) -> Callable[..., Any]: ...
