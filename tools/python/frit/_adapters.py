"""Adapters of low rank (LoRA) as PEFT writes them: adapter_config.json and safetensors."""
from __future__ import annotations

import json
import math
import os
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np

from ._errors import ArgumentError

_CONFIG, _WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
#: What comes before the names of a model's modules, the longest first.
_PREFIXES = ("language_model.model.", "model.language_model.", "transformer.", "model.")
#: What an adapter may not have, and the values that mean it has not.
_OTHERS: dict[str, tuple[Any, ...]] = {
    "use_dora": (False, None), "modules_to_save": (None, []), "bias": ("none", None),
    "layer_replication": (None,), "lora_bias": (False, None),
    "trainable_token_indices": (None,), "target_parameters": (None, []),
    "alora_invocation_tokens": (None,), "arrow_config": (None,), "kasa_config": (None,),
    "monteclora_config": (None,), "use_bdlora": (False, None), "use_qalora": (False, None)}
#: Ways to begin training that leave the model's own weights as they are.
_BEGINNINGS = (None, True, False, "gaussian", "eva", "orthogonal", "mica")


def _number(path: Path, value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ArgumentError(f"{path}: \"{name}\" is no number")
    return float(value)


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ArgumentError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    if not isinstance(config, dict) or config.get("peft_type") != "LORA":
        raise ArgumentError(f"{path}: \"peft_type\" is not \"LORA\", the kind of adapter that "
                            "sessions load")
    for name, fine in _OTHERS.items():
        if name in config and config[name] not in fine:
            raise ArgumentError(f"{path}: \"{name}\" is {json.dumps(config[name])}, which is not "
                                "supported")
    beginning = config.get("init_lora_weights")
    if beginning not in _BEGINNINGS:
        raise ArgumentError(f"{path}: \"init_lora_weights\" is {json.dumps(beginning)}, which "
                            "changes the weights of the model itself; PEFT's save_pretrained "
                            "makes it a usual adapter with path_initial_model_for_weight_"
                            "conversion")
    return config


def _read_tensors(path: Path) -> dict[str, np.ndarray]:
    try:
        data = path.read_bytes()
        size, = struct.unpack_from("<Q", data)
        header = json.loads(data[8:8 + size])
        header.pop("__metadata__", None)
        tensors = {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            raw = data[8 + size + begin:8 + size + end]
            kind = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16}[entry["dtype"]]
            values = np.frombuffer(raw, kind)
            if entry["dtype"] == "BF16":
                values = (values.astype(np.uint32) << 16).view(np.float32)
            tensors[name] = values.astype(np.float32).reshape(entry["shape"])
    except OSError as error:
        raise ArgumentError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError,
            struct.error) as error:
        raise ArgumentError(f"{path}: is no complete safetensors file of f32, f16 or bf16"
                            ) from error
    return tensors


def _of_module(path: Path, config: dict[str, Any], name: str, module: str) -> float:
    """A module's number: that of the first pattern that ends its name, or that of all."""
    patterns = config.get({"r": "rank_pattern", "lora_alpha": "alpha_pattern"}[name]) or {}
    if not isinstance(patterns, dict):
        raise ArgumentError(f"{path}: \"{name}\" has patterns that are no object")
    for pattern, value in patterns.items():
        try:
            if re.match(rf"(.*\.)?({pattern})$", module):
                return _number(path, value, name)
        except re.error as error:
            raise ArgumentError(f"{path}: the pattern {pattern!r} is wrong: {error}") from error
    return _number(path, config.get(name), name)


def read_adapter(folder: str | os.PathLike) -> dict[str, np.ndarray]:
    """The matrices of an adapter, by their names as states of a model. Those called lora_B
    have its scale."""
    folder = Path(folder)
    path = folder / _CONFIG
    config, read = _read_config(path), {}
    for key, values in _read_tensors(folder / _WEIGHTS).items():
        found = re.fullmatch(r"(?:base_model\.model\.)?(.+)\.(lora_[AB])(?:\.default)?\.weight",
                             key)
        if not found:
            raise ArgumentError(f"{folder / _WEIGHTS}: tensor '{key}' is no matrix of an adapter "
                                "of low rank")
        full, kind = found.groups()
        module = next((full[len(p):] for p in _PREFIXES if full.startswith(p)), full)
        if kind == "lora_B":
            rank = _of_module(path, config, "r", full)
            if rank <= 0:
                raise ArgumentError(f"{path}: \"r\" is not positive")
            alpha = _of_module(path, config, "lora_alpha", full)
            values = values * np.float32(alpha / (math.sqrt(rank) if config.get("use_rslora")
                                                  else rank))
        read[f"{module}.{kind}"] = values
    if not read:
        raise ArgumentError(f"{folder / _WEIGHTS}: has no tensors")
    return read
