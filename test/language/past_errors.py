"""Models with caches that are refused, each with what is said."""
import subprocess

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from past_models import CAPACITY, computed, counted, from_sizes, pruned, without_mask, write
from reference import Decoder


def fails(work, model, name, change, text, *options, **switches):
    path = write(work / f"{name}.onnx", model, change=change, **switches)
    done = subprocess.run(["fritc", path, "-march=x86-64-v3", "--context=8", *options, "-o",
                           work / "no.so"], capture_output=True, text=True)
    assert done.returncode == 1 and text in done.stderr, (name, done.returncode, done.stderr)


def check_errors(work):
    model = Decoder(work / "llama", CAPACITY)

    def without(name):
        def change(g, inputs, outputs):
            inputs.pop(name)
            shape = [1, 1] if name == "position_ids" else [1, 9]
            g.weights.append(numpy_helper.from_array(np.ones(shape, np.int64), name))
        return change

    def extra(name, kind, shape):
        return lambda g, inputs, outputs: inputs.update({name: (kind, shape)})

    def reads(g, inputs, outputs):
        g("ReduceSum", "past_key_values.1.key", name="sum")
        outputs["sum"] = []

    def few(g, inputs, outputs):
        # A table of 20 positions, of which the tokens have the first, as GPT-Neo's masks.
        g.weights.append(numpy_helper.from_array(np.ones([1, 1, 20, 1], np.float32), "few"))
        size = g("Slice", g("Shape", "present.0.key"), g.ints(2), g.ints(3))
        rows = g("Slice", "few", g.ints(0), size, g.ints(2))
        g("Mul", "present.0.key", rows, name="rows")
        outputs["rows"] = []

    def unnamed(g, inputs, outputs):
        g("Identity", "v0", name="hidden")
        g.nodes[-2].output[0] = "scores"
        outputs["hidden"] = outputs["scores"] = outputs.pop("logits")

    def pooled(g, inputs, outputs):
        g("ReduceSum", "logits", g.ints(1), name="last")
        outputs.pop("logits")
        outputs["last"] = ["batch", 1, 61]

    def fixed(g, inputs, outputs):
        for name in inputs:
            if name.startswith("past"):
                inputs[name] = (TensorProto.FLOAT, [1, 2, 8, 8])

    def several(g, inputs, outputs):
        inputs["past_key_values.0.key"] = (TensorProto.FLOAT, ["batch", "heads", "past", 8])

    def angles(g, inputs, outputs):
        # Rotation by the number of entries itself, not by rows of a table.
        from_sizes(g, inputs, outputs)
        for i, node in enumerate(g.nodes):
            if node.op_type == "Gather" and "position_ids" in node.input:
                number = helper.make_node("Cast", ["position_ids"], [f"{node.output[0]}.number"],
                                          to=TensorProto.FLOAT)
                row = helper.make_node("Unsqueeze", [number.output[0], g.ints(2)], [node.output[0]])
                g.nodes[i] = row
                g.nodes.insert(i, number)

    def reduced(g, inputs, outputs):
        without("attention_mask")(g, inputs, outputs)
        whole = next(n for n in g.nodes if n.output[0] == "present.0.key")
        for node in g.nodes:
            node.input[:] = ["sorted" if n == whole.output[0] else n for n in node.input]
        g.nodes.insert(g.nodes.index(whole) + 1,
                       helper.make_node("CumSum", [whole.output[0], g.ints(2)], ["sorted"]))

    chunk = "-fshape=chunk=1"
    fails(work, model, "angles", angles, "depends on the size of the caches, which frit keeps", chunk)
    fails(work, model, "quotients", lambda *all: computed("Div", model.size, *all),
          "depends on the size of the caches, which frit keeps", chunk)
    fails(work, model, "reduced", reduced,
          "reads a cache in a way in which its free entries cannot be hidden", chunk)
    fails(work, model, "few", few, "few.onnx: has positions for fewer tokens than caches of 40 and "
          "a call of 40 hold; give --context=10", "--context=40")
    fails(work, model, "few", few, "has positions for fewer tokens than caches of 19 and a call of "
          "4 hold; give --context=16", "--context=19", "-fshape=chunk=4")
    fails(work, model, "extra", extra("temperature", TensorProto.FLOAT, [1]),
          "input 'temperature': of type 'tensor<1xf32>' is none of a decoder's")
    fails(work, model, "types", extra("token_type_ids", TensorProto.INT64, ["batch", "sequence"]),
          "input 'token_type_ids'")
    fails(work, model, "reads", reads, "reads the cache 'past_key_values.1.key' beside the output")
    fails(work, model, "unnamed", unnamed, "has 2 outputs besides its caches, none of which")
    fails(work, model, "pooled", pooled, "but --context needs floats for each token")
    fails(work, model, "pruned", pruned, "has logits of the last token alone, and --verify needs",
          "--verify=2")
    fails(work, model, "fixed", fixed, "no input of the model is one")
    fails(work, model, "several", several, "has several open dimensions besides the batch")
    fails(work, model, "long", lambda *all: None, "exceeds the 64 that the model has",
          "--context=65")
    fails(work, model, "counted", counted, "exceeds the 64 that the model has", "--context=65")
    print("ok errors")
