"""Compiles each model once: artifacts are cached by the content of everything that
they are made from."""
from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import struct
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from . import __version__
from ._compile import find_tool, run_fritc
from ._errors import CompileError, Error
from ._graphs import Unsupported
from ._load import load

#: Options that name a file to write.
_WRITTEN = ("-o", "--report", "--header", "-ftune-generate", "-fexternal-weights")


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("FRIT_CACHE") or Path(base) / "frit")


#===----------------------------------------------------------------------===#
# The inputs of an artifact
#===----------------------------------------------------------------------===#

def _texts_in(value: object) -> Iterator[str]:
    """The texts of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(part)


def _named_in(path: Path, content: bytes) -> Iterator[Path]:
    """Files that a file may name: one of --custom-op names its kernels, and these
    their headers."""
    text = content.decode(errors="replace")
    if path.suffix == ".json":
        try:
            names = [*_texts_in(json.loads(text))]
        except ValueError:
            return
    else:
        names = re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', text,
                           re.MULTILINE)
    yield from (path.parent / name for name in names)


def _digests(paths: Sequence[Path]) -> list[str]:
    """Digests of files, and of those that they name; others are left out."""
    seen: dict[Path, str] = {}
    waiting = [*paths]
    while waiting:
        path = waiting.pop()
        try:
            if path in seen or not path.is_file():
                continue
            content = path.read_bytes()
        except (OSError, ValueError):  # it does not name a file
            continue
        seen[path] = hashlib.sha256(content).hexdigest()
        if len(content) < 1 << 20:
            waiting += _named_in(path, content)
    return sorted(seen.values())


def _files_of(options: Sequence[str]) -> Iterator[Path]:
    """The parts of options that may name a file that fritc reads."""
    for option in options:
        if option.startswith(_WRITTEN):
            continue
        for place in [0, *(m.end() for m in re.finditer("=@?", option))]:
            yield Path(option[place:].lstrip("@"))


def _machine() -> list[Any]:
    """What -march=native stands for."""
    facts: list[Any] = []
    try:
        processor = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
        facts += re.findall(r"^(?:model name|flags)\s*:.*", processor,
                            re.MULTILINE)
    except OSError:
        pass
    if torch.cuda.is_available():
        facts += map(torch.cuda.get_device_capability,
                     range(torch.cuda.device_count()))
    return facts


def _key_of(model: bytes, options: Sequence[str]) -> str:
    compiler = os.stat(find_tool("fritc"))
    facts = [__version__, compiler.st_size, compiler.st_mtime_ns, *options,
             _digests([*_files_of(options)])]
    if any("native" in option for option in options):
        facts.append(_machine())
    return hashlib.sha256(json.dumps(facts).encode() + b"\0" + model
                          ).hexdigest()[:32]


#===----------------------------------------------------------------------===#
# Artifacts
#===----------------------------------------------------------------------===#

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


def _stored_in(path: Path) -> set[str]:
    """Names of the tensors in a safetensors file; none if it is not whole."""
    try:
        whole = path.stat().st_size
        with open(path, "rb") as file:
            size, = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(min(size, whole)))
        header.pop("__metadata__", None)
        ends = [entry["data_offsets"][1] for entry in header.values()]
    except (OSError, ValueError, struct.error):
        return set()
    return {*header} if 8 + size + max(ends, default=0) <= whole else set()


def _weights_in(place: Path, names: set[str]) -> set[str] | None:
    """Names of the weights of the artifact in a folder; None if it is damaged or
    of another version, or if weights that are not in `names` are not beside
    it."""
    try:
        with load(place / "graph.so", device="none") as module:
            known = {info.name for info in module.info.weights}
    except Error:
        return None
    is_whole = known - names <= _stored_in(place / "graph.safetensors")
    return known if is_whole else None


def _keep(folder: Path, place: Path, names: set[str]) -> None:
    """Moves a folder to its place, unless another process was first. Replaces
    one that is not whole."""
    try:
        folder.rename(place)
    except OSError:
        if _weights_in(place, names) is not None:
            return
        damaged = Path(tempfile.mkdtemp(prefix=".damaged-", dir=place.parent))
        try:
            place.rename(damaged)
            folder.rename(place)
        finally:
            shutil.rmtree(damaged, ignore_errors=True)


def artifact_of(model: bytes, names: set[str], options: Sequence[str]
                ) -> tuple[Path, set[str]]:
    """Compiles a model, unless it has been. Returns the shared library, and the
    names of its weights; beside it lie those that are not in `names`."""
    key = _key_of(model, options)
    place = _cache() / key
    made = place / "graph.so"
    if (known := _weights_in(place, names)) is not None:
        return made, known
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=place.parent))
    except OSError as error:
        raise Unsupported(
            f"cannot write to the folder of compiled graphs, '{place.parent}': "
            f"{error.strerror}; FRIT_CACHE names another") from None
    try:
        # The weights' bytes are placeholders and are dropped: PyTorch has them.
        (folder / "graph.onnx").write_bytes(model)
        try:
            run_fritc([str(folder / "graph.onnx"), "-o",
                       str(folder / "graph.so"), "-frandom-weights=1",
                       "-fexternal-weights", *options])
        except CompileError as error:
            raise Unsupported(str(error).replace(f"{folder}{os.sep}", "")
                              ) from error
        file = folder / "graph.safetensors"
        if file.exists():
            _keep_only(file, names)
        _keep(folder, place, names)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    with load(made, device="none") as module:
        return made, {info.name for info in module.info.weights}
