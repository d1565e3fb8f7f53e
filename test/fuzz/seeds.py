"""Seeds of the fuzzer: small valid files, and dictionaries of their
words."""
import io
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import folder_seeds
import numpy as np

DTYPES = ("F32 F64 F16 BF16 I8 I16 I32 I64 U8 U16 U32 U64 BOOL F8_E4M3 F8_E5M2 "
          "F8_E4M3FNUZ F8_E5M2FNUZ F8_E8M0 F4_E2M1 I4 U4 I2 U2").split()
TYPES = ("f32 f64 f16 bf16 i8 i16 i32 i64 ui8 ui16 ui32 ui64 i1 f8E4M3FN "
         "f8E5M2 f8E4M3FNUZ f8E5M2FNUZ f8E8M0FNU f4E2M1FN i4 ui4 i2 ui2").split()


def onnx_models(root):
    """The conformance models. Integers and numbers that are inputs there are
    constants here, since most operators need them to be known."""
    import onnx
    sys.path.insert(0, str(root / "test/conformance"))
    import cases
    for kind in ("node", "simple", "pytorch-operator"):
        for case in cases.load(kind):
            model = onnx.ModelProto()
            model.CopyFrom(case.model)
            arrays = case.data[0][0] if case.data else []
            for info, array in list(zip(model.graph.input, arrays)):
                if array is not None and array.size <= 16 and (
                        array.dtype.kind in "iub" or array.size == 1):
                    model.graph.initializer.append(
                        onnx.numpy_helper.from_array(np.asarray(array),
                                                     info.name))
                    model.graph.input.remove(info)
            yield case.name, model.SerializeToString()


def json_graphs(root):
    fritc = root / "build/dev/bin/fritc"
    with tempfile.TemporaryDirectory() as folder:
        model, graph = pathlib.Path(folder, "m.onnx"), pathlib.Path(folder, "m")
        for name, data in onnx_models(root):
            model.write_bytes(data)
            done = subprocess.run([fritc, "--emit=json", model, "-o", graph],
                                  capture_output=True)
            if done.returncode == 0:
                yield name, graph.read_bytes()
    yield "weights", json.dumps({
        "frit": 1, "weights": "w.safetensors", "outputs": ["y", "b"],
        "inputs": [{"name": "x", "type": "f32", "shape": ["batch", 3]}],
        "nodes": [{"op": "add", "inputs": ["x", "a"], "outputs": ["y"]}],
    }).encode()


def safetensors(tensors, metadata=None):
    header, data = ({"__metadata__": metadata} if metadata else {}), b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def safetensors_files():
    yield "empty", safetensors({})
    yield "two", safetensors({"a": ("F32", [2, 3], bytes(24)),
                              "b": ("I64", [], bytes(8))}, {"format": "pt"})
    for dtype in DTYPES:
        size = {"64": 8, "32": 4, "16": 2}.get(dtype[-2:], 1)
        yield dtype, safetensors({"\u00e4\n": (dtype, [0, 4], b""),
                                  "x": (dtype, [2], bytes(2 * size))})


def tensor_files():
    from onnx import numpy_helper
    arrays = {str(t): np.arange(6).reshape(2, 3).astype(t)
              for t in "f4 f8 f2 i1 i2 i4 i8 u1 u2 u4 u8 b1".split()}
    arrays |= {"scalar": np.float32(3), "empty": np.zeros((0, 2), "i4"),
               "long": np.zeros(500, "f4"), "big": np.arange(6, dtype=">f4"),
               "fortran": np.asfortranarray(np.ones((2, 3)))}
    for name, array in arrays.items():
        file = io.BytesIO()
        np.save(file, array)
        yield f"npy-{name}", file.getvalue()
        if name != "big":
            yield (f"pb-{name}",
                   numpy_helper.from_array(array, name).SerializeToString())
    for save in (np.savez, np.savez_compressed):
        file = io.BytesIO()
        save(file, **{n: arrays[n] for n in ("f4", "scalar", "long", "i8")})
        yield f"npz-{save.__name__}", file.getvalue()


def plans(build):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([build / "test/fuzz/fuzz_plan_seeds", folder],
                       check=True)
        for file in pathlib.Path(folder).iterdir():
            yield file.name, file.read_bytes()


def tokenizers(root):
    sys.path.insert(0, str(root / "test/gguf"))
    import gguf_file
    words = {"a": 0, "b": 1, "ab": 2, "\u0120": 3, "\u2581": 4, "\u2581a": 5, "<s>": 6}
    words |= {f"<0x{byte:02X}>": 7 + byte for byte in range(256)}
    bpe = {"type": "BPE", "vocab": words, "merges": ["a b", ["\u2581", "a"]],
           "unk_token": "<s>", "byte_fallback": True, "fuse_unk": True}
    added = [{"id": 6, "content": "<s>", "special": True, "lstrip": True},
             {"id": 300, "content": "it", "normalized": True, "single_word": True}]
    ends = {"type": "TemplateProcessing", "single": [
        {"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [6]}}}
    level = {"type": "ByteLevel", "add_prefix_space": False}
    parts = {
        "normalizer": [{"type": t} for t in (
            "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Strip",
            "ByteLevel")] + [{"type": "Prepend", "prepend": "\u2581"}, {
                "type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
            {"type": "Precompiled", "precompiled_charsmap": "AAQAAA" + "A" * 1370}],
        "pre_tokenizer": [level, {"type": "Metaspace"}, {"type": "Whitespace"},
                          {"type": "Digits", "individual_digits": True},
                          {"type": "Punctuation"}, {"type": "BertPreTokenizer"},
                          {"type": "Split", "pattern": {"Regex": r"\w+|[^\w\s]+|\s+(?!\S)"},
                           "behavior": "MergedWithNext", "invert": True}],
        "decoder": [{"type": t} for t in ("ByteLevel", "Metaspace", "BPEDecoder")] + [
            {"type": "Sequence", "decoders": [
                {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
                {"type": "ByteFallback"}, {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}],
        "post_processor": [ends, {"type": "Sequence", "processors": [level, ends]}]}
    for name, choices in parts.items():
        for number, part in enumerate(choices):
            yield f"{name}-{number}", json.dumps(
                {"model": bpe, "added_tokens": added, name: part}).encode()
    yield "unigram", json.dumps({
        "pre_tokenizer": {"type": "Metaspace"}, "model": {
            "type": "Unigram", "unk_id": 0, "byte_fallback": True,
            "vocab": [[word, -number] for word, number in words.items()]}}).encode()
    for model in ("gpt2", "llama"):
        yield f"gguf-{model}", gguf_file.make({
            "general.architecture": "llama", "tokenizer.ggml.model": model,
            "tokenizer.ggml.pre": "qwen2", "tokenizer.ggml.tokens": [*words],
            "tokenizer.ggml.scores": [-1.0] * len(words),
            "tokenizer.ggml.token_type": [1] * 6 + [3] + [6] * 256,
            "tokenizer.ggml.merges": ["a b"], "tokenizer.ggml.bos_token_id": 6,
            "tokenizer.ggml.add_bos_token": True,
            "tokenizer.chat_template": TEMPLATE},
            {"x": (0, (2, 2), bytes(16)), "y": (12, (256,), bytes(144))})


def gguf_models(root):
    sys.path[:0] = [str(root / "test/gguf"), str(root / "test/language")]
    import convert
    import definition
    import folders
    small = dict(vocab_size=5, hidden_size=8, intermediate_size=8, num_hidden_layers=1,
                 num_attention_heads=2, num_key_value_heads=1, head_dim=4)
    for name, config in folders.CONFIGS.items():
        if config["model_type"] not in convert.ARCHITECTURES:
            continue
        config = config | (dict(n_embd=8, n_layer=1, n_head=2, n_positions=4, vocab_size=5)
                           if name == "gpt2" else small)
        yield name, convert.convert(config, folders.random_tensors(config, 1))
    config = folders.llama(**small | dict(hidden_size=32, head_dim=16))
    for name, (number, weights, size) in definition.TYPES.items():
        if weights > 32:
            continue
        tensors = folders.random_tensors(config, 1)
        raw = {key: (number, bytes(value.size // weights * size))
               for key, value in tensors.items()
               if value.ndim == 2 and value.shape[1] % weights == 0}
        yield name, convert.convert(config, tensors, raw=raw)


def make(target, root, build):
    """Pairs of a name and bytes."""
    return {"onnx": lambda: onnx_models(root),
            "json": lambda: json_graphs(root),
            "safetensors": safetensors_files,
            "numpy": tensor_files,
            "plan": lambda: plans(build),
            "tokenizer": lambda: tokenizers(root),
            "gguf": lambda: gguf_models(root),
            "folder": lambda: folder_seeds.make(root)}[target]()


TEMPLATE = """{#- c -#}{% set ns = namespace(n=0) %}{% macro f(x, y='z') %}{{ x ~ y }}{% endmacro %}
{%- for m in messages if m.role is string %}
  {% if loop.index0 % 2 == 0 and m['content'][1:] not in ['', none] %}
{{ f(m.content | trim | upper, y=loop.length) }}{{ m | tojson(indent=2) }}
  {% else %}{% set ns.n = ns.n + 1 %}{{ m.content.split('e', 1)[::-1] | join('-') }}{% endif %}
{% endfor %}{{ range(3) | map('string') | list }}{{ ns.n if ns.n > 0 else raise_exception('no') }}"""


def words(target, root):
    """Words that a mutation may insert."""
    if target == "onnx":
        import onnx
        for schema in onnx.defs.get_all_schemas():
            yield schema.name.encode()
            yield from (name.encode() for name in schema.attributes)
    if target == "json":
        operators = subprocess.run([root / "build/dev/bin/fritc", "--help-ops"],
                                   capture_output=True, text=True).stdout
        for line in operators.splitlines():
            yield f'"{line.split()[0]}"'.encode() if line.strip() else b""
        for word in (*TYPES, "frit", "op", "name", "inputs", "outputs", "nodes",
                     "attributes", "weights", "type", "shape", "batch"):
            yield f'"{word}"'.encode()
    if target == "safetensors":
        for word in (*DTYPES, "dtype", "shape", "data_offsets", "__metadata__"):
            yield f'"{word}"'.encode()
    if target == "numpy":
        for word in ("\x93NUMPY", "PK\x01\x02", "PK\x03\x04", "PK\x05\x06",
                     "'descr': ", "'fortran_order': ", "'shape': ", "False",
                     "True", "'<f4'", "'|b1'", "'V2'", "(2, 3)", "(0,)"):
            yield word.encode("latin-1")
    if target == "gguf":
        for word in ("llama", "qwen3", "gemma3", "phi3", "gpt2", "attention.key_length",
                     "rope.scaling.type", "linear", "output.weight", "blk.0.attn_q.bias",
                     "rope_freqs.weight", "attention.sliding_window", "expert_count"):
            yield word.encode()
    if target == "folder":
        yield from folder_seeds.words()
    if target == "tokenizer":
        for word in ("type", "vocab", "merges", "normalizer", "Sequence", "decoders",
                     "pretokenizers", "normalizers", "Regex", "String", "BPE",
                     "Unigram", "unk_id", "\\w", "\\s", "[^", "(?=", "(a|aa)+",
                     "tokenizer.ggml.pre", "llama-bpe", "general.alignment",
                     "{% for x in messages %}", "{%- endfor -%}", "{% if x %}", "{% endif %}",
                     "{{ x.y[::2] }}", " | tojson", "namespace(a=1)", "{% macro f(x) %}",
                     "{% endmacro %}", " is defined", ".split('a')", "{% raw %}", " ~ ", "loop."):
            yield word.encode()
    if target == "plan":
        yield from (b"FRITPLAN", b"sm_90a", b"x86-64", b"compute_80")
        for power in (8, 16, 31, 32, 40, 63):
            yield struct.pack("<Q", 1 << power)
            yield struct.pack("<Q", (1 << power) - 1)
        yield bytes(8)
