#!/usr/bin/env python3
"""Exports small text encoders of transformers with an open batch and length.

    encoders.py FOLDER

Writes FOLDER/encoder-NAME-EXPORTER.onnx with inputs `ids` and `mask`, both
(batch, seq), and random weights. Wants torch, transformers and onnxscript.
"""
import sys
from pathlib import Path

import onnx
import torch
import transformers as hf

SIZES = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 1,
         "num_attention_heads": 2, "intermediate_size": 32,
         "max_position_embeddings": 80}
ENCODERS = {
    "bert": lambda: hf.BertModel(hf.BertConfig(**SIZES), add_pooling_layer=False),
    "deberta": lambda: hf.DebertaV2Model(hf.DebertaV2Config(
        **SIZES, relative_attention=True, pos_att_type=["p2c", "c2p"],
        position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True,
        type_vocab_size=0)),
    # Slices its table of relative positions by the length.
    "deberta-v1": lambda: hf.DebertaModel(hf.DebertaConfig(
        **SIZES, relative_attention=True, pos_att_type=["c2p", "p2c"],
        position_biased_input=False, type_vocab_size=0)),
}


class Encoder(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        return self.model(input_ids=ids, attention_mask=mask)[0]


def strip(path):
    """Drops what the exporter says about its sources."""
    model = onnx.load(path)
    for part in (model, model.graph, *model.graph.node, *model.graph.input, *model.graph.output,
                 *model.graph.initializer):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    model.graph.ClearField("value_info")
    onnx.save(model, path)


def main():
    folder = Path(sys.argv[1])
    for name, build in ENCODERS.items():
        torch.manual_seed(0)
        model = Encoder(build().eval())
        ids = torch.randint(3, 40, (2, 9))
        inputs = (ids, torch.ones_like(ids))
        names = {"input_names": ["ids", "mask"], "output_names": ["hidden"]}
        open_sizes = {0: torch.export.Dim("batch", min=1, max=64),
                      1: torch.export.Dim("seq", min=2, max=64)}
        files = [folder / f"encoder-{name}-{exporter}.onnx"
                 for exporter in ("dynamo", "torchscript")]
        torch.onnx.export(model, inputs, files[0],
                          dynamo=True, external_data=False, verbose=False,
                          dynamic_shapes=(open_sizes, open_sizes), **names)
        axes = {0: "batch", 1: "seq"}
        torch.onnx.export(model, inputs, files[1],
                          dynamo=False, opset_version=17,
                          dynamic_axes={"ids": axes, "mask": axes, "hidden": axes}, **names)
        for path in files:
            strip(path)


main()
