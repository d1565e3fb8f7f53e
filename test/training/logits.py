"""Writes models that end with probabilities, and losses that take logits."""
import json
from pathlib import Path

import onnx
import onnx.parser

for name, end, loss in (("classes", "Softmax", "cross_entropy"),
                        ("bits", "Sigmoid", "bce_with_logits")):
    onnx.save(onnx.parser.parse_model(f"""
        <ir_version: 8, opset_import: ["": 18]>
        {name} (float[4, 2] x) => (float[4, 2] y) <float[2, 2] w = {{1, 2, 3, 4}}> {{
          logits = MatMul (x, w)
          y = {end} (logits)
        }}"""), f"{name}.onnx")
    Path(f"{name}.json").write_text(json.dumps(
        {"loss": {"kind": loss}, "optimizer": {"kind": "sgd"}}))
