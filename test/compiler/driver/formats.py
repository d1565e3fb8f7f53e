"""Checks what fritc says of files that are no ONNX models: formats.py FOLDER"""
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np

os.chdir(sys.argv[1])


def zipped(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, b"1")
    return file.getvalue()


def array():
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


HEADER = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
SAFETENSORS = struct.pack("<Q", len(HEADER)) + HEADER + b"\0\0\0\0"
GRAPH = b"\x0a\x0f\x0a\x01x\x12\x0bPlaceholder"
# By content, whatever the name is.
CONTENTS = {
    "safetensors": (SAFETENSORS, "has weights (safetensors) and no graph", "optimum-cli export onnx"),
    "pt": (zipped("archive/data.pkl", "archive/data/0"), "torch.save", "torch.onnx.export"),
    "pth": (zipped("m/code/__torch__.py", "m/constants.pkl", "m/data.pkl"), "TorchScript", "torch.jit.load"),
    "pt2": (zipped("m/archive_format", "m/models/model.json"), "torch.export (.pt2)", "torch.export.load"),
    "bin": (pickle.dumps({"w": [1.0]}, 2), "pickle", "torch.onnx.export"),
    "tflite": (b"\x1c\0\0\0TFL3" + bytes(40), "TensorFlow Lite", "tf2onnx.convert --tflite"),
    "h5": (b"\x89HDF\r\n\x1a\n" + bytes(40), "HDF5", 'format="onnx"'),
    "keras": (zipped("config.json", "model.weights.h5"), "Keras model", 'format="onnx"'),
    "pb": (GRAPH, "graph of TensorFlow", "tf2onnx.convert --graphdef"),
    "engine": (b"ptrt" + bytes(40), "TensorRT", "the ONNX model"),
    "xml": (b'<?xml version="1.0"?>\n<net name="m" version="11">', "OpenVINO", "the ONNX model"),
    "npy": (array(), "array of NumPy", "takes an ONNX model"),
    "npz": (zipped("a.npy"), "arrays of NumPy", "takes an ONNX model"),
    "zip": (zipped("model.txt"), "ZIP archive", "unpack"),
    "gz": (b"\x1f\x8b\x08" + bytes(20), "gzip", "unpack"),
    "so": (b"\x7fELF\x02" + bytes(40), "is compiled", "frit-run"),
    "html": (b"\n<!DOCTYPE html><html>", "web page (HTML)", '"resolve"'),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "Git LFS", "git lfs pull"),
    "json": (b'{"architectures": ["Bert"], "model_type": "bert"}', "Hugging Face", "optimum-cli"),
    "empty": (b"", "is empty", "downloaded to the end"),
}
NAMED = {"saved_model.pb": (b"\x08\x01\x12\x02xx", "SavedModel", "tf2onnx.convert --saved-model"),
         "model.mlmodel": (b"\x08\x04\x12\x02xx", "Core ML", "to ONNX")}


def says(path, status, *parts, **options):
    done = subprocess.run(["fritc", path, "-march=x86-64", "-o", "x.so"], capture_output=True,
                          text=True, **options)
    assert done.returncode == status and not os.path.exists("x.so"), done
    assert all(part in done.stderr for part in parts), (path, parts, done.stderr)
    assert done.stderr.count("error:") == 1, done.stderr


for kind, (content, *parts) in CONTENTS.items():
    for name in (f"model.{kind}", "model.onnx"):
        Path(name).write_bytes(content)
        says(name, 1, f"error: {name}: ", *parts)
says("-", 1, "has weights (safetensors)", input=SAFETENSORS.decode("latin1"), encoding="latin1")
for name, (content, *parts) in NAMED.items():
    Path(name).write_bytes(content)
    says(name, 1, *parts)

# Folders.
for name in ("tf", "hf", "onnx", "none", "m.mlpackage"):
    os.mkdir(name)
Path("tf/saved_model.pb").write_bytes(b"\x08\x01")
Path("hf/config.json").write_text("{}")
Path("onnx/config.json").write_text("{}")
Path("onnx/model.onnx").write_bytes(b"")
says("tf", 1, "SavedModel", "tf2onnx.convert --saved-model tf")
says("hf/", 1, "Hugging Face", "optimum-cli export onnx")
says("onnx", 1, "is a folder", "onnx/model.onnx")
says("none", 1, "is a folder")
says("m.mlpackage", 1, "Core ML")
