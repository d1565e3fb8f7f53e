"""Writes folders of images for the tests of frit-train: images.py FOLDER

Stripes across are class `across`, and stripes down `down`: PNG files of many
sizes. Also a model of them, and folders that do not fit.
"""
import json
import shutil
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = Path(sys.argv[1])
random = np.random.default_rng(0)


def write_png(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    rows, columns, _ = pixels.shape
    raw = b"".join(b"\0" + row.tobytes() for row in pixels)
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)),
              (b"IDAT", zlib.compress(raw)), (b"IEND", b"")]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks))


def stripes(is_down):
    size = random.integers(12, 40, 2)
    y, x = np.mgrid[:size[0], :size[1]] / size.min()
    wave = 127 + 100 * np.sin(9 * (x if is_down else y) + random.uniform(0, 6))
    return np.clip(wave[..., None] + random.normal(0, 20, (*size, 3)), 0, 255).astype(np.uint8)


for part, count in ("train", 40), ("test", 15):
    for is_down, name in enumerate(("across", "down")):
        for i in range(count):
            write_png(folder / part / name / f"{i // 10}" / f"{i}.png", stripes(is_down))
for name in "broken", "empty", "linked", "moved", "other", "renamed":
    shutil.copytree(folder / "train", folder / name)
whole = (folder / "broken/down/0/3.png").read_bytes()
(folder / "broken/down/0/3.png").write_bytes(whole[:len(whole) // 2])
(folder / "renamed/across/0/0.png").write_text("no image")
(folder / "linked/down/0/3.png").unlink()
(folder / "linked/down/0/3.png").symlink_to("/none/3.png")
shutil.rmtree(folder / "moved/down")
(folder / "moved/down").symlink_to("/none/down")
shutil.rmtree(folder / "empty/down")
(folder / "empty/down").mkdir()
(folder / "other/down").rename(folder / "other/oblique")

weights = {"w1": random.normal(0, 0.2, (16, 3, 3, 3)), "b1": np.zeros(16), "w2": random.normal(0, 0.1, (16, 2)), "b2": np.zeros(2)}
info, node = helper.make_tensor_value_info, helper.make_node
onnx.save(helper.make_model(helper.make_graph(
    [node("Conv", ["image", "w1", "b1"], ["c"]), node("Relu", ["c"], ["r"]), node("GlobalAveragePool", ["r"], ["p"]),
     node("Flatten", ["p"], ["f"]), node("Gemm", ["f", "w2", "b2"], ["logits"])], "stripes",
    [info("image", TensorProto.FLOAT, (8, 3, 10, 10))], [info("logits", TensorProto.FLOAT, (8, 2))],
    [numpy_helper.from_array(w.astype(np.float32), n) for n, w in weights.items()]),
    opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "stripes.onnx")
config = {"loss": {"kind": "cross_entropy"}, "optimizer": {"kind": "adam", "learning_rate": 0.02}}
(folder / "plain.json").write_text(json.dumps(config))
config["augment"] = [{"input": "image", "height": 12, "width": 12, "flip": 0.5, "mean": [0.5] * 3, "std": [0.4] * 3}]
(folder / "train.json").write_text(json.dumps(config))
