"""Exports a network of many equal layers by two of them.

torch.onnx runs the network and holds its graph and weights several times over,
and an ONNX file has at most 2 GB. So export_blocks() exports the first two of
`model.blocks`, repeats the second for the others, and writes the parameters
beside the graph.
"""
import copy
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto


def repeat(graph: onnx.GraphProto, layers: int) -> None:
    """Makes block 1 of two blocks 1 to `layers` - 1."""
    is_second = lambda node: node.name.startswith("/blocks.1/")
    nodes, second = list(graph.node), [n for n in graph.node if is_second(n)]
    maker = {name: node for node in nodes for name in node.output}
    read = {name for node in second for name in node.input
            if name.startswith("/blocks.0/") and maker[name].op_type != "Constant"}
    assert len(read) == 1, f"block 1 reads {read} of block 0"
    given = read.pop()

    def renamed(name: str, layer: int) -> str:
        if name == given:
            return name.replace("/blocks.0/", f"/blocks.{layer - 1}/")
        return (name.replace("/blocks.1/", f"/blocks.{layer}/")
                .replace("blocks.1.", f"blocks.{layer}."))

    last = renamed(given, 2)  # what block 1 gives
    end = max(i for i, node in enumerate(nodes) if is_second(node)) + 1
    for node in nodes:
        if not is_second(node):
            node.input[:] = [renamed(given, layers) if name == last else name
                             for name in node.input]
    repeated = []
    for layer in range(2, layers):
        for node in second:
            other = copy.deepcopy(node)
            other.name = renamed(node.name, layer)
            other.input[:] = [renamed(name, layer) for name in node.input]
            other.output[:] = [renamed(name, layer) for name in node.output]
            repeated.append(other)
    del graph.node[:], graph.value_info[:]
    graph.node.extend(nodes[:end] + repeated + nodes[end:])


def store(graph: onnx.GraphProto, weights: dict[str, torch.Tensor], path: Path) -> None:
    """Makes parameters, which are inputs so far, initializers in a file."""
    inputs = [i for i in graph.input if i.name not in weights]
    del graph.input[:]
    graph.input.extend(inputs)
    with open(path, "wb") as file:
        for name, value in weights.items():
            array = value.detach().float().cpu().numpy()
            file.write(bytes(-file.tell() % 4096))
            tensor = graph.initializer.add(
                name=name, data_type=TensorProto.FLOAT, dims=array.shape,
                data_location=TensorProto.EXTERNAL)
            for key, entry in (("location", path.name), ("offset", file.tell()),
                               ("length", array.nbytes)):
                tensor.external_data.add(key=key, value=str(entry))
            file.write(np.ascontiguousarray(array).data)


def export_blocks(model: torch.nn.Module, arguments: tuple, path: Path, **options) -> None:
    blocks = model.blocks
    model.blocks = blocks[:2]
    try:
        torch.onnx.export(model, arguments, path, dynamo=False, export_params=False,
                          **options)
    finally:
        model.blocks = blocks
    proto = onnx.load(path)
    repeat(proto.graph, len(blocks))
    store(proto.graph, dict(model.named_parameters()), path.with_suffix(".weights"))
    path.write_bytes(proto.SerializeToString())
