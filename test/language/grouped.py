"""Decoders as onnxruntime-genai builds them, with GroupQueryAttention: grouped.py WORK

Past and present share a buffer, whose heads have an open size, and a sum of the mask says how many
entries are filled. Prefill by chunks and decode are compared with NumPy.
"""
import json
import subprocess
import sys
from pathlib import Path

import frit
import numpy as np
import onnx
from emulated import emulate
from folders import make
from onnx import TensorProto, helper
from past_models import CAPACITY, Graph
from reference import Decoder

PROMPT = [5, 7, 9, 11, 3, 2, 8, 50, 41, 40, 7]


def attention(*inputs, outputs, name, **attributes):
    return helper.make_node("GroupQueryAttention", list(inputs), outputs, name=name,
                            domain="com.microsoft", **attributes)


def build(model, packed=True, window=-1, lengths="mask", coded=False, forgets=False):
    g, size, heads, groups = Graph(), model.size, model.heads, model.groups

    def norm(x, name):
        return g("SimplifiedLayerNormalization", x, g.weight(model.tensor(name + ".weight")),
                 axis=-1, epsilon=model.epsilon)

    def product(x, *names):
        return g("MatMul", x, g.weight(np.concatenate(
            [model.tensor(name + ".weight") for name in names]).T))

    def multiply(x, name):
        """Codes of 8 bits, whose numbers the model gets, too."""
        weight = model.tensor(name + ".weight").T
        codes = np.rint(weight * 64).clip(-128, 127).astype(np.int8)
        model.tensor(name + ".weight")[:] = (codes / np.float32(64)).T
        return g("MatMul", x, g("DequantizeLinear", g.weight(codes), g.number(1 / 64)))

    used = g("Cast", g("Sub", g("ReduceSum", "attention_mask", g.ints(1), keepdims=0), g.ints(1)),
             to=TensorProto.INT32)
    total = g("Cast", g("Gather", g("Shape", "attention_mask"), g.weight(np.int64(1)), axis=0),
              to=TensorProto.INT32)
    if lengths == "constant":
        used = g("Mul", used, g.weight(np.int32(0)))
    angles = np.arange(64)[:, None] * 1e4 ** -(np.arange(0, size, 2) / size)
    cos, sin = (g.weight(f(angles).astype(np.float32)) for f in (np.cos, np.sin))
    x = g("Gather", g.weight(model.tensor("embed_tokens.weight")), "input_ids", axis=0)
    if lengths == "size":  # scaled by the number of entries
        entries = g("Gather", g("Shape", "past_key_values.0.key"), g.weight(np.int64(2)), axis=0)
        x = g("Mul", x, g("Cast", entries, to=TensorProto.FLOAT))
    presents = []
    for i in range(model.layers):
        at = f"layers.{i}."
        y = norm(x, at + "input_layernorm")
        parts = [f"{at}self_attn.{p}_proj" for p in "qkv"]
        if packed:
            given = [product(y, *parts), "", ""]
        else:
            given = [product(y, part) for part in parts]
            # A bias, as Qwen has it, of zeros.
            given[2] = g("Add", given[2], g.weight(np.zeros(groups * size, np.float32)))
        past = [f"past_key_values.{i}.{k}" for k in ("key", "value")]
        present = [f"present.{i}.{k}" for k in ("key", "value")]
        g.nodes.append(attention(*given, *past, used, total, cos, sin, outputs=[f"y{i}", *present],
                                 name=f"attention{i}", num_heads=heads, kv_num_heads=groups,
                                 do_rotary=1, scale=model.scale, local_window_size=window,
                                 sliding_window_cache=int(forgets)))
        presents += present
        x = g("Add", x, (multiply if coded else product)(f"y{i}", at + "self_attn.o_proj"))
        y = norm(x, at + "post_attention_layernorm")
        gate = product(y, at + "mlp.gate_proj")
        y = g("Mul", g("Mul", gate, g("Sigmoid", gate)), product(y, at + "mlp.up_proj"))
        x = g("Add", x, product(y, at + "mlp.down_proj"))
    g("MatMul", norm(x, "norm"), g.weight(model.tensors["lm_head.weight"].T), name="logits")
    rows, ints = ["batch_size", "sequence_length"], TensorProto.INT64
    cache = ["batch_size", groups, "past_sequence_length", "kv_cache_dim"]
    inputs = [("input_ids", ints, rows),
              ("attention_mask", ints, ["batch_size", "total_sequence_length"])]
    inputs += [(p.replace("present", "past_key_values"), TensorProto.FLOAT, cache)
               for p in presents]
    outputs = [("logits", TensorProto.FLOAT, [*rows, 61])]
    cache = [*cache[:2], "total_sequence_length", cache[3]]
    outputs += [(p, TensorProto.FLOAT, cache) for p in presents]
    graph = helper.make_graph(g.nodes, "decoder",
                              [helper.make_tensor_value_info(*i) for i in inputs],
                              [helper.make_tensor_value_info(*o) for o in outputs], g.weights)
    return helper.make_model(graph, ir_version=9, producer_name="onnxruntime-genai", opset_imports=[
        helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)])


def compile(path, *options, context=CAPACITY):
    artifact = path.with_suffix(".so")
    subprocess.run(["fritc", path, "-march=x86-64-v3", f"--context={context}", "-fshape=chunk=1,8",
                    *options, "-o", artifact], check=True)
    return frit.load(artifact, device="cpu", threads=1)


def check(work, name, folder, **form):
    make(work, folder)
    if "window" in form:
        config = work / folder / "config.json"
        config.write_text(json.dumps(json.loads(config.read_text()) | {
            "sliding_window": form["window"]}))
    model = Decoder(work / folder, CAPACITY)
    path = work / f"{name}.onnx"
    onnx.save(build(model, **form), path)
    module = compile(path, "--verify=5")
    expected = model.generate(PROMPT, CAPACITY - len(PROMPT) + 1)
    assert list(module.generate(PROMPT)) == expected, name
    assert list(module.generate(PROMPT, speculate="lookup")) == expected, name
    with frit.Session(module) as session:
        # The last chunk has rows behind the end of the caches, which do not count.
        long = (PROMPT * 4)[:38]
        for part in (long[:1], long[1:4], long[4:20], long[20:35], long[35:]):
            logits = session.prefill(part)
        assert np.allclose(logits, model.logits(long), atol=3e-5), name
    # A chunk that fills the caches.
    full = compile(path, "-fshape=chunk=16", context=16)
    assert list(full.generate(PROMPT)) == expected[:16 - len(PROMPT) + 1], name
    batch = frit.Session(compile(path, "--batch=2"))
    prompts = [PROMPT, [2, 3]]
    for i, each in enumerate(prompts):
        batch.prefill(each, i)
    assert batch.decode(8).tolist() == [model.generate(each, 8) for each in prompts], name
    print("ok", name)
    return path, model


def check_errors(work, model):
    def fails(text, model, *options):
        path = work / "wrong.onnx"
        onnx.save(model, path)
        done = subprocess.run(["fritc", path, "-march=x86-64-v3", "--context=8", *options, "-o",
                               work / "no.so"], capture_output=True, text=True)
        assert done.returncode == 1 and text in done.stderr, (done.returncode, done.stderr)

    fails("writes into the cache 'past_key_values.0.key' elsewhere than behind the entries that "
          "an input of a mask of keys counts", build(model, lengths="constant"))
    fails("depends on the size of the caches", build(model, lengths="size"))
    # Without states nothing is kept that a window could hide.
    onnx.save(build(model, window=8, forgets=True), work / "wrong.onnx")
    done = subprocess.run(
        ["fritc", work / "wrong.onnx", "-march=x86-64-v3", "-fshape=batch_size=1",
         "-fshape=sequence_length=1", "-fshape=total_sequence_length=9",
         "-fshape=past_sequence_length=8", "-fshape=kv_cache_dim=8", "-o", work / "no.so"],
        capture_output=True, text=True)
    assert done.returncode == 1 and "--context=NUMBER" in done.stderr, done.stderr
    # Nothing says the size of heads.
    hidden = build(model)
    for node in hidden.graph.node:
        if node.op_type == "MatMul" and node.input[0] == "y0":
            node.op_type = "Einsum"
            node.attribute.append(helper.make_attribute("equation", "bsh,hd->bsd"))
    fails("input 'past_key_values.0.key' has several open dimensions besides the batch", hidden)
    print("ok errors")


def check_folder(work, model):
    """genai_config.json names the file, the context and the tokens that end a text."""
    folder = work / "folder"
    folder.mkdir()
    onnx.save(build(model), folder / "decoder.onnx")
    config = {"model": {"type": "llama", "context_length": 32, "eos_token_id": [3, 44],
                        "decoder": {"filename": "decoder.onnx"}}, "search": {"top_k": 1}}

    def write(**changes):
        (folder / "genai_config.json").write_text(json.dumps({"model": config["model"] | changes}))

    def fritc(source, *options):
        return subprocess.run(["fritc", source, "-march=x86-64-v3", "-fshape=chunk=8", *options,
                               "-o", work / "f.so"], capture_output=True, text=True)

    write()
    done = fritc(folder)
    assert done.returncode == 0, done.stderr
    module = frit.load(work / "f.so", device="cpu", threads=1)
    expected = model.generate(PROMPT, 32 - len(PROMPT) + 1)
    assert list(module.generate(PROMPT)) == expected
    language = frit.from_pretrained(folder, options=["--context=16"], march="x86-64-v3")
    assert language.ends == [3, 44], language.ends
    for source in folder, folder / "decoder.onnx":
        done = fritc(source, "--context=33")
        assert done.returncode == 2 and done.stderr == (
            "fritc: error: --context is at most 32, the context_length of genai_config.json "
            f"beside '{folder}/decoder.onnx'\n"), done
    # Sizes that are the model's, which may also be left out, and others.
    sizes = {"num_hidden_layers": model.layers, "num_attention_heads": model.heads,
             "num_key_value_heads": model.groups, "head_size": model.size}
    decoder = config["model"]["decoder"]
    write(vocab_size=61, decoder=decoder | sizes)
    assert fritc(folder).returncode == 0
    for changes, message in (
            (dict(vocab_size=64), "'model.vocab_size' is 64, and 'decoder.onnx' has logits of 61 "
                                  "tokens"),
            (dict(decoder=decoder | {"num_hidden_layers": 3}),
             f"'model.decoder.num_hidden_layers' is 3, and 'decoder.onnx' has caches of "
             f"{model.layers} layers"),
            (dict(decoder=decoder | {"num_key_value_heads": 3}),
             f"'model.decoder.num_key_value_heads' is 3, and 'decoder.onnx' has caches of "
             f"{model.groups} heads"),
            (dict(decoder=decoder | {"num_attention_heads": 3}),
             f"'model.decoder.num_attention_heads' is 3, and 'decoder.onnx' has attention of "
             f"{model.heads} heads")):
        write(**changes)
        for source in folder, folder / "decoder.onnx":
            done = fritc(source, *(["--context=16"] if source != folder else []))
            assert done.returncode == 1 and done.stderr == (
                f"fritc: error: {folder}/genai_config.json: {message}: one of them is of another "
                "model\n"), done
    # Other names for the caches, which this model does not have, and layers without caches.
    write(decoder=decoder | {"num_hidden_layers": 3, "inputs": {"past_key_names": "key.%d"}})
    assert fritc(folder).returncode == 0
    # It says nothing of another file.
    (folder / "decoder.onnx").rename(folder / "other.onnx")
    assert fritc(folder / "other.onnx", "--context=33").returncode == 0
    for changes, message in (
            ({"decoder": {"filename": "../folder/other.onnx"}},
             "'model.decoder.filename' must be a file in this folder"),
            ({"decoder": {}}, "'model.decoder.filename' must be a file's name"),
            ({"decoder": None}, "'model.decoder' must be an object"),
            ({"vocab_size": "61"}, "'model.vocab_size' must be a number"),
            ({"context_length": -1}, "'model.context_length' must be a number of tokens"),
            ({"vision": {}}, "'model.vision' is a part besides the decoder, which frit does not "
                             "join"),
            ({"decoder": {"pipeline": []}}, "'model.decoder.pipeline' divides the decoder into "
                                            "files, which frit does not join")):
        write(**changes)
        done = fritc(folder)
        assert done.returncode == 1 and done.stderr == (
            f"fritc: error: {folder}/genai_config.json: {message}\n"), done
    check_search(folder, module, config)
    print("ok folder")


def check_search(folder, module, config):
    """How tokens are chosen, where no option says it; as frit-run and from_pretrained do."""
    (folder / "other.onnx").rename(folder / "decoder.onnx")
    letters = [chr(ord("A") + i) for i in range(58)]
    (folder / "tokenizer.json").write_text(json.dumps({
        "model": {"type": "BPE", "vocab": {text: i for i, text in enumerate(letters)},
                  "merges": []}}))
    artifact, (work, prompt) = folder.parent / "f.so", (folder, "".join(letters[t] for t in PROMPT))

    def write(search):
        (work / "genai_config.json").write_text(json.dumps(config | {"search": search}))

    def by_program(*options):
        done = subprocess.run(["frit-run", artifact, f"--tokenizer={folder}", "--max-tokens=12",
                               f"--prompt={prompt}", "--device=cpu", "--json", *options],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["tokens"], done.stderr

    def check(search, options, given=(), **named):
        write(search)
        language = frit.from_pretrained(folder, artifact, march="x86-64-v3",
                                        options=["--context=32", "-fshape=chunk=8"])
        language.ends = []
        expected = list(module.generate(PROMPT, 12, **options))
        assert list(language.generate(PROMPT, 12, **named)) == expected, search
        ends = [i for i, token in enumerate(expected) if token in (3, 44)]
        assert by_program(*given)[0] == expected[:ends[0] if ends else 12], search

    hot = dict(do_sample=True, temperature=1.7, top_k=20, top_p=0.9)
    check(hot, dict(temperature=1.7, top_k=20, top_p=0.9))
    check(hot, dict(temperature=1.7, top_k=20, top_p=0.9, seed=5), ["--seed=5"], seed=5)
    check(hot, dict(temperature=1.7, top_k=3, top_p=0.9), ["--top-k=3"], top_k=3)
    check(hot, {}, ["--temperature=0"], temperature=0)
    check(dict(do_sample=True), dict(temperature=1, top_k=50))
    check(hot | dict(top_k=1), {})
    check(hot | dict(do_sample=False, repetition_penalty=1.9), dict(repetition_penalty=1.9))
    check({}, {})
    assert (list(module.generate(PROMPT, 12, temperature=1.7, top_k=20, top_p=0.9))
            != list(module.generate(PROMPT, 12))), "sampling changes nothing here"
    write(hot | dict(num_beams=4))
    assert by_program()[1] == (f"frit-run: note: '{folder}/genai_config.json' searches 4 beams; "
                               "one text is continued\n")
    for search, message in ((dict(temperature="hot"), "search.temperature: expected a number"),
                            (dict(top_p=1.5), "search.top_p: expected a number from 0 to 1"),
                            (dict(top_k=-1), "search.top_k: expected a number of at least 0"),
                            (dict(top_k=2.5), "search.top_k: expected a whole number"),
                            (dict(repetition_penalty=0), "search.repetition_penalty: expected a "
                                                         "number above 0")):
        write(search)
        done = subprocess.run(["frit-run", artifact, f"--tokenizer={folder}", f"--prompt={prompt}"],
                              capture_output=True, text=True)
        assert done.returncode == 1 and message in done.stderr, done.stderr
        place = next(iter(search))
        try:
            frit.from_pretrained(folder, march="x86-64-v3", options=["--context=32"])
            raise AssertionError(search)
        except ValueError as error:
            assert f"genai_config.json: search.{place} is " in str(error), error
    write({})
    done = subprocess.run(["frit-run", artifact, f"--tokenizer={folder}", f"--prompt={prompt}",
                           "--top-k=3"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr == (
        "frit-run: --top-k has no effect without --temperature above 0\n"), done.stderr


work = Path(sys.argv[1])
work.mkdir(parents=True, exist_ok=True)
path, model = check(work, "packed", "llama")
check(work, "apart", "llama", packed=False)
check(work, "window", "mistral", window=8)
# A window as large as the caches of the imports that are compared.
check(work, "narrow", "mistral", window=5)
# Caches of the window's size, as the builder makes them by default.
check(work, "forgets", "mistral", window=8, forgets=True)
check(work, "coded", "llama", coded=True)
emulate(path, ["prefill", "decode"], "--context=16", "-fshape=chunk=2")
check_folder(work, model)
check_errors(work, model)
