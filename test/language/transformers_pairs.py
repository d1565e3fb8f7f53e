"""Models with an encoder, exported by PyTorch as optimum lays them out: pairs.py WORK

transformers' T5 and Whisper of random weights become encoder_model.onnx, decoder_model.onnx,
decoder_with_past_model.onnx and decoder_model_merged.onnx; frit compiles them to encode, prefill
and decode, and generates transformers' 64 greedy tokens. Needs PyTorch and transformers.
"""
import json
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import frit
import numpy as np
import onnx
import torch
import transformers
from onnx import TensorProto, helper, numpy_helper
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

import encoders
from emulated import emulate

warnings.filterwarnings("ignore")
COUNT, CONTEXT, PLACES = 64, 72, 24
#: Whisper hears a second: 100 frames.
SIZES = {"whisper": dict(max_target_positions=CONTEXT, max_source_positions=50)}
RATE = 16000


class Encoder(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.encoder = model.get_encoder()

    def forward(self, source, mask=None):
        if mask is None:
            return self.encoder(source).last_hidden_state
        return self.encoder(input_ids=source, attention_mask=mask).last_hidden_state


class Decoder(torch.nn.Module):
    """One call of the decoder, with caches or, as its first, without."""

    def __init__(self, model, layers, has_mask, has_past):
        super().__init__()
        self.model, self.layers = model, layers
        self.has_mask, self.has_past = has_mask, has_past

    def forward(self, *inputs):
        inputs = list(inputs)
        mask = inputs.pop(0) if self.has_mask else None
        ids = inputs.pop(0)
        own, source = DynamicCache(), DynamicCache()
        hidden = None
        if self.has_past:
            for i in range(self.layers):
                own.update(inputs[4 * i], inputs[4 * i + 1], i)
                source.update(inputs[4 * i + 2], inputs[4 * i + 3], i)
            key = inputs[2]
            width = self.model.config.d_model
            hidden = key.new_zeros(key.shape[0], key.shape[2], width)
        else:
            hidden = inputs.pop(0)
        cache = EncoderDecoderCache(own, source)
        out = self.model(encoder_outputs=BaseModelOutput(last_hidden_state=hidden),
                         attention_mask=mask, decoder_input_ids=ids, past_key_values=cache,
                         use_cache=True)
        caches = []
        for i in range(self.layers):
            caches += [own.layers[i].keys, own.layers[i].values]
            if not self.has_past:
                caches += [source.layers[i].keys, source.layers[i].values]
        return (out.logits, *caches)


def names(layers, prefix, parts=("decoder", "encoder")):
    return [f"{prefix}.{i}.{part}.{what}" for i in range(layers) for part in parts
            for what in ("key", "value")]


def export(module, arguments, path, inputs, outputs, axes):
    torch.onnx.export(module.eval(), arguments, str(path), input_names=inputs, output_names=outputs,
                      dynamic_axes={n: a for n, a in axes.items() if n in inputs + outputs},
                      opset_version=18, dynamo=False, do_constant_folding=True)


def export_pair(model, config, folder, is_sound):
    folder.mkdir(parents=True)
    layers = config.get("num_decoder_layers", config.get("decoder_layers"))
    heads = config.get("num_heads", config.get("decoder_attention_heads"))
    size = config.get("d_kv", config["d_model"] // heads)
    batch, source = {0: "batch_size"}, {0: "batch_size", 1: "encoder_sequence_length"}
    axes = {"input_ids": {0: "batch_size", 1: "decoder_sequence_length"},
            "encoder_attention_mask": source, "encoder_hidden_states": source,
            "logits": {0: "batch_size", 1: "decoder_sequence_length"}}
    for prefix in ("past_key_values", "present"):
        for name in names(layers, prefix):
            places = ("encoder_sequence_length" if ".encoder." in name else
                      "past_decoder_sequence_length" + " + 1" * (prefix == "present"))
            axes[name] = {0: "batch_size", 2: places}
    rows = 9
    if is_sound:
        rows = config["max_source_positions"]
        export(Encoder(model), (torch.randn(2, config["num_mel_bins"], 2 * rows),),
               folder / "encoder_model.onnx", ["input_features"], ["last_hidden_state"],
               {"input_features": batch, "last_hidden_state": batch})
    else:
        export(Encoder(model), (torch.ones(2, rows, dtype=int), torch.ones(2, rows, dtype=int)),
               folder / "encoder_model.onnx", ["input_ids", "attention_mask"],
               ["last_hidden_state"],
               {"input_ids": source, "attention_mask": source, "last_hidden_state": source})
    mask = [] if is_sound else [torch.ones(2, rows, dtype=int)]
    head = [] if is_sound else ["encoder_attention_mask"]
    with torch.no_grad():
        export(Decoder(model, layers, not is_sound, False),
               (*mask, torch.ones(2, 3, dtype=int), torch.randn(2, rows, config["d_model"])),
               folder / "decoder_model.onnx", [*head, "input_ids", "encoder_hidden_states"],
               ["logits", *names(layers, "present")], axes)
        past = [torch.randn(2, heads, rows if part == "encoder" else 5, size)
                for _ in range(layers) for part in ("decoder", "encoder") for _ in range(2)]
        export(Decoder(model, layers, not is_sound, True), (*mask, torch.ones(2, 2, dtype=int), *past),
               folder / "decoder_with_past_model.onnx",
               [*head, "input_ids", *names(layers, "past_key_values")],
               ["logits", *names(layers, "present", ("decoder",))], axes)
    (folder / "config.json").write_text(json.dumps(config))


def merge(folder):
    """decoder_model_merged.onnx, as optimum's merge_decoders: an If, whose branch with caches gives
    empty ones for the source."""
    first = onnx.load(folder / "decoder_model.onnx")
    later = onnx.load(folder / "decoder_with_past_model.onnx")
    weights, branches = {}, {}
    outputs = [o.name for o in first.graph.output]
    for branch, model, prefix in (("then_branch", later, "t."), ("else_branch", first, "e.")):
        graph = model.graph
        given = {i.name for i in graph.input} | set(outputs)
        renamed = {}
        for weight in graph.initializer:
            renamed[weight.name] = prefix + weight.name
            weight.name = prefix + weight.name
            weights[weight.name] = weight

        def own(name):
            return name if name in given or not name else renamed.get(name, prefix + name)

        for node in graph.node:
            node.input[:] = [own(n) for n in node.input]
            node.output[:] = [own(n) for n in node.output]
        types = {o.name: o for o in graph.output}
        nodes = list(graph.node)
        for output in first.graph.output:
            if output.name not in types:
                dims = output.type.tensor_type.shape.dim
                empty = np.zeros([0, dims[1].dim_value, 1, dims[3].dim_value], np.float32)
                nodes.append(helper.make_node("Constant", [], [output.name],
                                              value=numpy_helper.from_array(empty)))
                types[output.name] = output
        branches[branch] = helper.make_graph(nodes, branch, [], [types[n] for n in outputs])
    inputs = {i.name: i for i in [*first.graph.input, *later.graph.input]}
    chosen = helper.make_tensor_value_info("use_cache_branch", TensorProto.BOOL, [1])
    graph = helper.make_graph(
        [helper.make_node("If", ["use_cache_branch"], outputs, name="optimum::if", **branches)],
        "merged", [*inputs.values(), chosen], list(first.graph.output), list(weights.values()))
    onnx.save(helper.make_model(graph, ir_version=first.ir_version,
                                opset_imports=[helper.make_opsetid("", 18)],
                                producer_name="optimum-onnx"),
              folder / "decoder_model_merged.onnx")


def expect(model, source, start, is_sound):
    """transformers' tokens after `start`, each the likeliest, without a cache."""
    tokens = list(start)
    with torch.no_grad():
        encoded = model.get_encoder()(torch.tensor(source)[None])
        for _ in range(COUNT):
            logits = model(encoder_outputs=encoded,
                           decoder_input_ids=torch.tensor([tokens])).logits[0, -1]
            tokens.append(int(logits.argmax()))
    return tokens[len(start):]


def compile(artifact, *inputs):
    subprocess.run(["fritc", *inputs, "-march=x86-64-v3", "-o", artifact], check=True)
    return frit.load(artifact, device="cpu")


def make(work, name, **changed):
    """transformers' model of a folder of random weights, and its configuration."""
    config = encoders.CONFIGS[name] | changed
    kind = (transformers.WhisperForConditionalGeneration if name == "whisper"
            else transformers.T5ForConditionalGeneration)
    folder = encoders.make(work, name, **changed)
    return kind.from_pretrained(folder, dtype=torch.float32,
                                attn_implementation="eager").eval(), config


def hear(config):
    """The log-mel spectrum of a rising tone, by transformers' feature extractor."""
    time = np.arange(RATE) / RATE
    sound = 0.5 * np.sin(2 * np.pi * (300 + 900 * time) * time).astype(np.float32)
    extractor = transformers.WhisperFeatureExtractor(feature_size=config["num_mel_bins"],
                                                     sampling_rate=RATE, chunk_length=1)
    return extractor(sound, sampling_rate=RATE, return_tensors="np").input_features[0]


def check(work, name):
    is_sound = name == "whisper"
    model, config = make(work / "made", name, **SIZES.get(name, {}))
    both, merged = work / name / "both", work / name / "merged"
    export_pair(model, config, both, is_sound)
    merge(both)
    merged.mkdir()
    shutil.copy(both / "encoder_model.onnx", merged)
    shutil.move(both / "decoder_model_merged.onnx", merged)
    rng = np.random.default_rng(5)
    given = hear(config) if is_sound else rng.integers(2, 61, 17).tolist()
    start = [1, 7, 9] if is_sound else [0]
    wanted = expect(model, given, start, is_sound)
    sizes = [f"--context={CONTEXT}", "-fshape=chunk=1,4"] + ([] if is_sound else [f"--source={PLACES}"])
    files = [merged / "encoder_model.onnx", merged / "decoder_model_merged.onnx"]
    for layout, inputs in (("folder", [both]), ("merged", files)):
        module = compile(work / f"{name}-{layout}.so", *inputs, *sizes, "--verify=4")
        tokens = list(module.generate(start, COUNT, source=given))
        guessed = list(module.generate(start, COUNT, source=given, speculate="lookup"))
        print(f"{name} {layout}: {len(set(wanted))} different tokens, "
              f"{'equal' if tokens == guessed == wanted else 'DIFFER'}", flush=True)
    if not is_sound:
        check_batch(work / f"{name}-batch.so", both, sizes, model, rng)
    if name == "t5":
        check_single(work, both, model)


def check_single(work, folder, model):
    """A decoder whose calls have one token, as older exporters fix it; it keeps what an encoder gives."""
    path = work / "single.onnx"
    decoder = onnx.load(folder / "decoder_with_past_model.onnx")
    ids = next(i for i in decoder.graph.input if i.name == "input_ids")
    ids.type.tensor_type.shape.dim[1].dim_value = 1
    onnx.save(decoder, path)
    files = [folder / "encoder_model.onnx", folder / "decoder_model.onnx", path]
    module = compile(work / "single.so", *files, f"--context={CONTEXT}", f"--source={PLACES}")
    assert list(module.generate([0, 5], 9, source=[3, 4, 5])) == expect(
        model, [3, 4, 5], [0, 5], False)[:9]
    done = subprocess.run(["fritc", *files, f"--context={CONTEXT}", "--source=8", "--verify=2", "-o",
                           work / "no.so"], capture_output=True, text=True)
    assert done.returncode and "takes calls of 1 tokens alone, and --verify needs" in done.stderr, done
    print("equal single")


def check_batch(artifact, folder, sizes, model, rng):
    """Sources and sequences of different lengths beside one another."""
    session = frit.Session(compile(artifact, folder, *sizes, "--batch=2"))
    given = [rng.integers(2, 61, count).tolist() for count in (3, 19)]
    session.encode(given)
    starts = [[0], [0, 5, 9]]
    for i, start in enumerate(starts):
        session.prefill(start, i)
    tokens = session.decode(COUNT).tolist()
    assert tokens == [expect(model, g, s, False) for g, s in zip(given, starts)]
    print("equal batch")


def fails(folder, text, *inputs, options=(f"--context={CONTEXT}", f"--source={PLACES}")):
    done = subprocess.run(["fritc", *inputs, "-march=x86-64-v3", *options, "-o", folder / "no.so"],
                          capture_output=True, text=True)
    assert done.returncode and text in done.stderr, (text, done.returncode, done.stderr)


def check_errors(work):
    model, config = make(work / "made", "t5")
    own, other = work / "own", work / "other"
    export_pair(model, config, own, False)
    export_pair(*make(work / "narrow", "t5", d_model=16), other, False)
    export_pair(*make(work / "small", "t5", d_kv=8), work / "thin", False)
    encoder, first, later = (own / f"{n}.onnx" for n in (
        "encoder_model", "decoder_model", "decoder_with_past_model"))
    fails(work, "takes no caches; give decoder_model_merged.onnx, or", encoder, first)
    # Without caches they are two functions.
    subprocess.run(["fritc", encoder, first, "-march=x86-64-v3", "-fshape=batch_size=1",
                    "-fshape=encoder_sequence_length=4",
                    "-fshape=decoder_model@decoder_sequence_length=2", "-o",
                    work / "two.so"], check=True)
    fails(work, "takes caches of the source, which decoder_model.onnx gives", encoder, later)
    fails(work, "comes with its encoder; give encoder_model.onnx as well", first, later)
    fails(work, "reads a source, which its encoder gives", later, options=["--context=8"])
    fails(work, "takes 1x1x32, and the encoder gives 1x1x16: they are not of one model",
          other / "encoder_model.onnx", first, later)
    fails(work, "for the cache 'past_key_values.0.encoder.key', which later calls take with",
          encoder, work / "thin" / "decoder_model.onnx", later)
    cut = work / "cut.onnx"
    cut.write_bytes(later.read_bytes()[:-1000])
    folder = work / "cut"
    folder.mkdir()
    for file in (encoder, first):
        shutil.copy(file, folder)
    shutil.copy(cut, folder / "decoder_with_past_model.onnx")
    fails(work, "decoder_with_past_model.onnx: the model is cut off: at least", folder)
    less = onnx.load(first)
    less.graph.output.pop()
    onnx.save(less, work / "less.onnx")
    fails(work, "has no output 'present.2.encoder.value' for the cache "
          "'past_key_values.2.encoder.value' of the decoder's later calls",
          encoder, work / "less.onnx", later)
    (other / "config.json").unlink()
    fails(work, "--source=NUMBER says it", other, options=[])
    fails(work, "--context=NUMBER says it", other, options=["--source=8"])
    fails(work, "-fshape with a model with an encoder takes chunk=SIZES", own,
          options=["-fshape=batch_size=2"])
    fails(work, "is compiled without --train and --emit=json", own, options=["--emit=json"])
    print("ok errors")


if __name__ == "__main__":
    work = Path(sys.argv[1])
    for name in sys.argv[2:] or ["t5", "t5-gated", "whisper"]:
        check(work, name)
    if not sys.argv[2:]:
        for name, functions in (("t5", ["encode", "prefill", "decode"]),
                                ("whisper", ["encode", "prefill", "decode"])):
            emulate(work / name / "both", functions, "--context=16", "-fshape=chunk=2",
                    *([] if name == "whisper" else ["--source=8"]))
        check_errors(work / "errors")
