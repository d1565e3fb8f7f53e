"""From PyTorch's graphs to compiled models, which are kept by content."""
from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import struct
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from . import __version__
from ._compile import run_fritc


class Unsupported(Exception):
    """Why frit does not compile a graph."""


#===----------------------------------------------------------------------===#
# From a graph to ONNX
#===----------------------------------------------------------------------===#

def _is_random(node: torch.fx.Node) -> bool:
    """Returns whether an operator of an exported graph draws random numbers."""
    tags = getattr(node.target, "tags", ())
    if torch.Tag.nondeterministic_seeded not in tags:
        return False
    # Dropout does so only while the model trains.
    operator: Any = node.target
    given = {argument.name: argument.default_value
             for argument in operator._schema.arguments}
    given.update(zip(given, node.args))
    given.update(node.kwargs)
    if "train" in given:
        return bool(given["train"] and given.get("p"))
    return bool(given["dropout_p"]) if "dropout_p" in given else True


def exported(graph: torch.fx.GraphModule, arguments: Sequence[Any]):
    """Exports a graph whose inputs are `arguments`; returns its ONNX program."""
    try:
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise Unsupported(f"{error.name} is missing: pip install "
                           "onnxscript") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PyTorch's exporter about itself
        program = torch.export.export(graph, tuple(arguments), strict=False)
        for node in program.graph.nodes:
            if _is_random(node):
                raise Unsupported(f"'{node.target}' draws random numbers")
        # fritc simplifies the graph itself, ten times as fast.
        made = torch.onnx.export(program, dynamo=True, verbose=False,
                                 optimize=False)
        # An exported graph may write to its tensors. The functional form shows
        # that.
        signature = made.exported_program.graph_signature
        if signature.user_inputs_to_mutate or signature.buffers_to_mutate:
            raise Unsupported("it writes to its inputs: " + ", ".join(
                [*signature.user_inputs_to_mutate.values(),
                 *signature.buffers_to_mutate.values()]))
        return made


def model_of(program, weights: Mapping[int, str],
              constants: Mapping[int, torch.Tensor]) -> tuple[bytes, set[str]]:
    """The model, in which the inputs numbered in `weights` are weights of these
    names, without their bytes, and those in `constants` constants. Returns the
    names of the weights that it uses, too."""
    import onnx
    model = onnx.ModelProto()
    model.CopyFrom(program.model_proto)
    graph = model.graph
    inputs = list(graph.input)
    del graph.input[:]
    renamed = {}
    for index, value in enumerate(inputs):
        if index in constants:
            values = constants[index].detach().cpu().contiguous()
            graph.initializer.add(
                name=value.name, dims=values.shape,
                data_type=value.type.tensor_type.elem_type,
                raw_data=values.reshape(-1).view(torch.uint8).numpy().tobytes())
        elif index in weights:
            kind = value.type.tensor_type
            weight = graph.initializer.add(
                name=weights[index], data_type=kind.elem_type,
                dims=[dim.dim_value for dim in kind.shape.dim],
                data_location=onnx.TensorProto.EXTERNAL)
            weight.external_data.add(key="location", value="of-pytorch")
            renamed[value.name] = weights[index]
        else:
            graph.input.append(value)
    used = set()
    for node in graph.node:
        for position, name in enumerate(node.input):
            if name in renamed:
                node.input[position] = renamed[name]
                used.add(renamed[name])
    for value in graph.output:
        if value.name in renamed:
            raise Unsupported("it returns a parameter")
    return model.SerializeToString(deterministic=True), used


#===----------------------------------------------------------------------===#
# Compiling, once
#===----------------------------------------------------------------------===#

def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("FRIT_CACHE") or Path(base) / "frit")


def _keep_only(path: Path, dropped: set[str]) -> None:
    """Drops tensors from a safetensors file."""
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = io.BytesIO()
        kept: dict[str, Any] = {}
        for name, entry in header.items():
            if name in dropped:
                continue
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                file.seek(8 + size + begin)
                at = data.tell()
                data.write(file.read(end - begin))
                entry = {**entry, "data_offsets": [at, data.tell()]}
            kept[name] = entry
    text = json.dumps(kept).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data.getvalue())


def artifact_of(model: bytes, names: set[str], options: Sequence[str]) -> Path:
    """Compiles a model, unless it has been. Returns the shared library; beside
    it lie those weights that are not in `names`."""
    facts = json.dumps([__version__, *options]).encode()
    key = hashlib.sha256(facts + b"\0" + model).hexdigest()[:32]
    place = _cache() / key
    made = place / "graph.so"
    if made.exists():
        return made
    place.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=place.parent))
    try:
        # The weights' bytes are placeholders and are dropped: PyTorch has them.
        (folder / "graph.onnx").write_bytes(model)
        run_fritc([str(folder / "graph.onnx"), "-o", str(folder / "graph.so"),
                   "-frandom-weights=1", "-fexternal-weights", *options])
        file = folder / "graph.safetensors"
        if file.exists():
            _keep_only(file, names)
        try:
            folder.rename(place)
        except OSError:  # another process was first
            if not made.exists():
                raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return made
