"""Documents of tokens, a model of them, and its loss in NumPy: packed.py FOLDER make|check

The model has no attention, so that its mean loss is that of the documents,
however they are packed: logits = (token[ids] + position[position_ids]) w, for
places whose segment is not 0.
"""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER, LENGTH, BATCH, WORDS, END = Path(sys.argv[1]), 12, 4, 20, 19
random = np.random.default_rng(0)
TOKEN, POSITION, W = (random.normal(0, 1, s).astype(np.float32) for s in ((WORDS, 6), (LENGTH, 6), (6, WORDS)))
DOCUMENTS = [random.integers(0, END, n) for n in random.integers(0, 30, 60)]

if sys.argv[2] == "make":
    np.concatenate([[*d, END] for d in DOCUMENTS]).astype(np.uint8).tofile(FOLDER / "documents.bin")
    (FOLDER / "train.json").write_text(json.dumps(
        {"loss": {"kind": "cross_entropy"}, "optimizer": {"kind": "adam", "learning_rate": 0.01}}))
    info, node = helper.make_tensor_value_info, helper.make_node
    ids = "ids", "position_ids", "segment_ids"
    nodes = [node("Gather", ["token", "ids"], ["t"]), node("Gather", ["position", "position_ids"], ["p"]),
             node("Add", ["t", "p"], ["s"]), node("Cast", ["segment_ids"], ["f"], to=TensorProto.FLOAT),
             node("Sign", ["f"], ["g"]), node("Unsqueeze", ["g", "last"], ["h"]), node("Mul", ["s", "h"], ["m"]),
             node("MatMul", ["m", "w"], ["logits"])]
    onnx.save(helper.make_model(helper.make_graph(
        nodes, "words", [info(name, TensorProto.INT64, (BATCH, LENGTH)) for name in ids],
        [info("logits", TensorProto.FLOAT, (BATCH, LENGTH, WORDS))],
        [numpy_helper.from_array(v, n) for n, v in {"token": TOKEN, "position": POSITION, "w": W, "last": np.int64([2])}.items()]),
        opset_imports=[helper.make_opsetid("", 17)], ir_version=8), FOLDER / "words.onnx")
else:
    losses = []
    for document in DOCUMENTS:
        labels = [*document, END][1:]
        if len(document) == 0:
            continue
        z = (TOKEN[document] + POSITION[np.arange(len(document)) % LENGTH]).astype(np.float64) @ W
        losses += list(np.log(np.exp(z).sum(1)) - z[np.arange(len(document)), labels])
    said = json.loads((FOLDER / "said.json").read_text())
    np.testing.assert_allclose(said["eval_loss"], np.mean(losses), rtol=1e-5)
    tokens = sum(map(len, DOCUMENTS))
    assert tokens <= said["samples"] * LENGTH < 1.15 * tokens, (said, tokens)
    print(f"{len(losses)} labels in {said['samples']} rows")
