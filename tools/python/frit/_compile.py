"""Runs fritc."""
from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Union

from ._arrays import type_name
from ._errors import (ArgumentError, CompileError, CompileWarning,
                      MissingModelError)
from ._load import load
from ._module import Module

#: What `precision` takes.
Precision = Literal["fp32", "tf32", "fp16", "bf16", "amp-fp16", "amp-bf16", "amp-fp8"]
#: What `march` takes; a text may also list several, after commas.
March = Literal[
    "native", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64",
    "neoverse-n1", "neoverse-v1", "neoverse-v2", "sm_75", "sm_80", "sm_86", "sm_87",
    "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_100a",
    "sm_103", "sm_103f", "sm_103a", "sm_110", "sm_110f", "sm_110a", "sm_120",
    "sm_120f", "sm_120a", "sm_121", "sm_121f", "sm_121a"]
#: What a dimension, or an input, may be given in `shape`.
Shape = Union[int, str, range, Sequence[int]]
#: Seconds that fritc runs before a terminal shows so.
_SHOWN_AFTER = 2


#===----------------------------------------------------------------------===#
# What fritc says, in Python's words
#===----------------------------------------------------------------------===#

#: An option in a message, and its value.
_OPTION = re.compile(r"(?<![\w/.-])-(f[a-z0-9-]+|march)(?:=([^\s;,'()]+(?:,\d+)*))?")


def _keyword(option: re.Match[str]) -> str:
    name = {"march": "march", "fprecision": "precision", "fshape": "shape",
            "ftype": "type"}.get(option[1])
    value = option[2]
    if name is None:
        return f"options=[{option[0]!r}]"
    if value is None:
        return name
    if name in ("march", "precision"):
        return f"{name}={value!r}"
    key, sign, given = re.split("([=:])", value, maxsplit=1) \
        if re.search("[=:]", value) else (value, "=", "...")
    if name == "type":
        return f"type={{{key!r}: {given!r}}}"
    if sign == ":":
        sizes = [v if v.isdecimal() else "SIZE" for v in given.split("x")]
        given = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
    elif span := re.fullmatch(r"(\d+)\.\.(\d+)", given):
        given = f"range({span[1]}, {int(span[2]) + 1})"
    elif not given.isdecimal() and given != "SIZE":
        given = repr(given)
    return f"shape={{{key!r}: {given}}}"


def in_python(text: str) -> str:
    """A message in which options of fritc are keywords of `compile`.

    >>> in_python("fix it with -fshape=batch=SIZE or -fshape=x:SIZEx3x8x8")
    "fix it with shape={'batch': SIZE} or shape={'x': (SIZE, 3, 8, 8)}"
    """
    # What the message quotes is a name of the user's, or what was given.
    parts = re.split(r"('[^'\n]*')", text)
    parts[::2] = [_OPTION.sub(_keyword, part) for part in parts[::2]]
    return "".join(parts)


#===----------------------------------------------------------------------===#
# Running it
#===----------------------------------------------------------------------===#

def find_tool(name: str) -> str:
    """Returns the path of a tool: beside this package, or in PATH."""
    beside = [sysconfig.get_path("scripts"),
              str(Path(__file__).resolve().parent.parent / "bin")]
    found = shutil.which(name, path=os.pathsep.join(beside)) or \
        shutil.which(name)
    if not found:
        raise FileNotFoundError(
            f"{name} is neither beside this Python ({beside[0]}) nor in PATH; "
            "install the wheel that tools/dev/wheel builds, or add the "
            "build folder's bin to PATH")
    return found


def _environment() -> dict[str, str]:
    """The environment for fritc, which finds NVRTC of this Python's wheels."""
    environment = dict(os.environ)
    if sys.prefix != sys.base_prefix:
        environment["VIRTUAL_ENV"] = sys.prefix
    return environment


def _show_facts(text: str) -> str:
    """Prints the lines that are no warnings, and returns the others."""
    others = []
    for line in text.splitlines():
        if not line.startswith("fritc: Memory: "):
            others.append(line)
        elif sys.stderr is not None:
            sys.stderr.write(line.removeprefix("fritc: ") + "\n")
    return "\n".join(others)


def _report(text: str, level: int) -> None:
    """Shows what fritc said about a model that it compiled."""
    if text := text.strip():
        warnings.warn(in_python(text), CompileWarning, stacklevel=level + 1)


def _wait(process: subprocess.Popen, model: bytes | None) -> bytes:
    """Waits for fritc, and returns what it says. A terminal shows how long it has
    taken."""
    shows = sys.stderr is not None and sys.stderr.isatty()
    start, shown = time.monotonic(), False
    while True:
        try:
            _, errors = process.communicate(model, 1 if shows else None)
            break
        except subprocess.TimeoutExpired:
            seconds = time.monotonic() - start
            if shown := seconds > _SHOWN_AFTER:
                sys.stderr.write(f"\rfrit: compiling, {seconds:.0f} s\033[K")
                sys.stderr.flush()
        finally:
            if shown and process.poll() is not None:
                sys.stderr.write("\r\033[K")
    return errors


def run_fritc(arguments: Sequence[str], model: bytes | None = None,
              level: int = 2) -> None:
    """Runs fritc, with `model` as its standard input. Raises CompileError with
    its message if it fails, and warns with what it says if it does not."""
    with subprocess.Popen(
            [find_tool("fritc"), *arguments], env=_environment(),
            stdin=subprocess.DEVNULL if model is None else subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            errors = _wait(process, model)
        except BaseException:  # KeyboardInterrupt, say
            # Killing it would leave its temporary files.
            process.terminate()
            process.wait()
            raise
    text = _show_facts(errors.decode(errors="replace"))
    if process.returncode:
        raise CompileError(
            in_python(text.strip()) or f"fritc: status {process.returncode}",
            process.returncode)
    _report(text, level + 1)


def _list(values: str | Iterable[str]) -> str:
    if isinstance(values, str):
        return values
    if not isinstance(values, Iterable):
        raise ArgumentError("march is a text such as 'sm_90a', or a list of "
                            f"such, not {values!r}")
    return ",".join(map(str, values))


def _items(values: object, keyword: str, example: str) -> Iterable[tuple]:
    if values is None:
        return ()
    if not isinstance(values, Mapping):
        raise ArgumentError(f"{keyword} is a dict such as {example}, not "
                            f"{values!r}")
    return values.items()


def options_of(march, precision, shape, type, options) -> list[str]:
    """The keywords of `compile` as options of fritc."""
    made = []
    if march is not None:
        made.append(f"-march={_list(march)}")
    if precision is not None:
        made.append(f"-fprecision={precision}")
    for name, value in _items(shape, "shape", "{'batch': 8}"):
        if isinstance(value, range):
            if value.step != 1 or not len(value):
                raise ValueError(f"shape of '{name}': {value} is no range of "
                                 "sizes one apart")
            value = f"{value.start}..{value.stop - 1}"
            made.append(f"-fshape={name}={value}")
        elif isinstance(value, (tuple, list)):
            made.append(f"-fshape={name}:{'x'.join(map(str, value))}")
        else:
            made.append(f"-fshape={name}={value}")
    for name, value in _items(type, "type", "{'image': 'u8'}"):
        made.append(f"-ftype={name}:{type_name(value)}")
    return made + [options] if isinstance(options, str) else made + [*options]


def reject_unknown_keywords(function: str, given: Iterable[str]) -> None:
    """Raises a TypeError if `compile` and `load` lack a keyword of `given`.

    They are called after minutes of exporting or compiling.
    """
    known = {*inspect.signature(compile).parameters,
             *inspect.signature(load).parameters} - {"load_options", "path"}
    for name in given:
        if name not in known:
            raise TypeError(f"{function}() got an unexpected keyword argument "
                            f"'{name}'")


def _compiled(arguments: Sequence[str], model: bytes | None,
              artifact: str) -> None:
    """Runs fritc, which is to write `artifact`."""
    run_fritc(arguments, model, level=3)
    if not os.path.exists(artifact):
        raise ArgumentError(f"fritc wrote no artifact to '{artifact}'; its "
                            "options ask for something else")


def compile(model: Any, output: str | os.PathLike | None = None, *,
            march: March | str | Iterable[March] | None = None,
            precision: Precision | None = None,
            shape: Mapping[str, Shape] | None = None,
            type: Mapping[str, Any] | None = None,
            options: str | Iterable[str] = (), device: Any = "",
            **load_options) -> Module:
    """Compiles a model and opens it.

    Runs `fritc`, whose options these are; `fritc --help` describes them.

    Args:
      model: a file, `.onnx` or `.json`, or an ONNX model in memory: an
        `onnx.ModelProto` or its bytes.
      output: where to keep the artifact, a shared library for `load` and for C
        programs. By default it is gone with this process.
      march: targets, "sm_90a,x86-64-v3" or a list of such; by default
        x86-64-v3 and the GPU of this machine.
      precision: "fp32", "tf32", "fp16" or "bf16".
      shape: sizes of what the model leaves open. `{"batch": 8}` fixes a
        dimension and `{"x": (1, 3, 224, 224)}` an input's shape;
        `{"batch": range(1, 65)}` and `{"batch": "1,8,64"}` compile variants.
      type: types to take inputs or give outputs in, `{"image": "u8"}`, or
        such as `np.uint8` and `torch.uint8`.
      options: further options of fritc, such as `["-O3"]`.
      device, load_options: as for `load`.

    While a long compilation runs, a terminal shows how long it has taken.

    Raises:
      CompileError: fritc's message, with the node that is at fault; a
        `MissingModelError`, which is a `FileNotFoundError` too, if there is no
        such file.

    >>> import frit
    >>> model = frit.compile("digits.onnx", march="x86-64-v3")
    >>> model
    <frit.Module 'digits' on cpu: image 1x1x8x8xf32 -> probabilities 1x10xf32>
    >>> frit.compile("digits.onnx", precision="fp7")
    Traceback (most recent call last):
        ...
    frit.CompileError: fritc: error: precision takes fp32, tf32, fp16, ..., not 'fp7'
    """
    reject_unknown_keywords("compile", load_options)
    arguments = options_of(march, precision, shape, type, options)
    source = None
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if isinstance(model, (bytes, bytearray, memoryview)):
        source, path = bytes(model), "-"
    else:
        path = os.fsdecode(model)
        if path.startswith(("-", "@")):  # neither option nor response file
            path = os.path.join(os.curdir, path)
        if not os.path.lexists(path):
            raise MissingModelError(f"cannot open '{path}': No such file or "
                                    "directory", path)
    if output is not None:
        made = os.fsdecode(output)
        if made == "-":
            raise ArgumentError("the artifact is written to a file, not to "
                                "the standard output")
        _compiled(["-o", made, *arguments, path], source, made)
        return load(made, device=device, **load_options)
    with tempfile.TemporaryDirectory(prefix="frit-") as folder:
        stem = Path(path).stem if source is None else "model"
        made = os.path.join(folder, f"{stem}.so")
        _compiled(["-o", made, *arguments, path], source, made)
        return load(made, device=device, **load_options)
