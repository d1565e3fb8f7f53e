"""Writes models that end with probabilities, and losses that take logits."""
import json
from pathlib import Path

import onnx
import onnx.parser

# Views that keep the classes apart, and at last one that does not: [4, 2, 3] as [4, 6].
MODELS = {
    "classes": ("float[4, 2] y", "y = Softmax (logits)", "cross_entropy", {}),
    "bits": ("float[4, 2] y", "y = Sigmoid (logits)", "bce_with_logits", {}),
    "viewed": ("float[2, 2, 2] y", "p = Softmax (logits)  s = Constant <value = int64[3] {2, 2, 2}> ()  y = Reshape (p, s)",
               "cross_entropy", {}),
    "moved": ("float[2, 1, 4] y", "p = Softmax <axis = 1> (logits)  s = Constant <value = int64[3] {1, 4, 2}> ()"
              "  v = Reshape (p, s)  y = Transpose <perm = [2, 0, 1]> (v)", "cross_entropy", {"axis": 0}),
    "other": ("float[2, 4] y", "p = Softmax <axis = 1> (logits)  y = Transpose <perm = [1, 0]> (p)", "cross_entropy", {}),
    "split": ("float[2, 4] y", "p = Softmax <axis = 1> (logits)  s = Constant <value = int64[2] {2, 4}> ()  y = Reshape (p, s)",
              "cross_entropy", {}),
    "viewed_bits": ("float[8] y", "p = Sigmoid (logits)  t = Transpose <perm = [1, 0]> (p)"
                    "  s = Constant <value = int64[1] {8}> ()  y = Reshape (t, s)", "bce_with_logits", {}),
}
for name, (output, nodes, loss, more) in MODELS.items():
    onnx.save(onnx.parser.parse_model(f"""
        <ir_version: 8, opset_import: ["": 18]>
        {name} (float[4, 2] x) => ({output}) <float[2, 2] w = {{1, 2, 3, 4}}> {{
          logits = MatMul (x, w)
          {nodes}
        }}"""), f"{name}.onnx")
    Path(f"{name}.json").write_text(json.dumps(
        {"loss": {"kind": loss, **more}, "optimizer": {"kind": "sgd"}}))
