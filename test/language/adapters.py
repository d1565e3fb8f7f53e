"""Adapters of low rank, as PEFT saves them: adapters.py WORK"""
import json
import subprocess
import sys
from pathlib import Path

import frit
import numpy as np
from emulated import emulate
from folders import make, write_safetensors
from reference import Decoder
from sessions import CAPACITY, PROMPT, fails

MODULES = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
           "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")
GPT2 = ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")


def compiled(work, name, out, *options):
    artifact = work / f"{out}.so"
    subprocess.run(["fritc", work / name, "-march=x86-64-v3", f"--context={CAPACITY}",
                    "-fshape=chunk=1,16", *options, "-o", artifact], check=True,
                   stderr=subprocess.DEVNULL)
    return frit.load(artifact, device="cpu", threads=1)


def adapter(path, model, modules, rank, seed, size=0.3, kind=np.float32, **config):
    """Writes an adapter and returns a model whose weights have it merged."""
    rng = np.random.default_rng(seed)
    path.mkdir()
    config = dict(peft_type="LORA", r=rank, lora_alpha=3 * rank / 2, bias="none",
                  use_rslora=False, use_dora=False, modules_to_save=None,
                  base_model_name_or_path="x", target_modules=list(modules)) | config
    (path / "adapter_config.json").write_text(json.dumps(config))
    merged = Decoder(model.folder, CAPACITY)
    merged.tensors, tensors = dict(model.tensors), {}
    for name, weight in model.tensors.items():
        module = name.removesuffix(".weight")
        if not name.endswith(".weight") or not any(module.endswith(m) for m in modules):
            continue
        shape = weight.shape[::-1] if model.gpt2 else weight.shape
        own = next((v for p, v in config.get("rank_pattern", {}).items() if module.endswith(p)),
                   rank)
        a, b = (rng.normal(size=s).astype(np.float32) * size
                for s in ((own, shape[1]), (shape[0], own)))
        alpha = next((v for p, v in config.get("alpha_pattern", {}).items()
                      if module.endswith(p)), config["lora_alpha"])
        scale = alpha / (own ** 0.5 if config["use_rslora"] else own)
        stored = []
        for matrix in (a, b):
            if kind == "bf16":
                bits = (matrix.view(np.uint32) >> 16).astype(np.uint16)
                stored.append(bits)
            else:
                stored.append(matrix.astype(kind))
        wide = [(m.astype(np.uint32) << 16).view(np.float32) if kind == "bf16"
                else m.astype(np.float32) for m in stored]
        delta = np.float32(scale) * (wide[1] @ wide[0])
        merged.tensors[name] = weight + (delta.T if model.gpt2 else delta)
        tensors[f"base_model.model.{module}.lora_A.weight"] = stored[0]
        tensors[f"base_model.model.{module}.lora_B.weight"] = stored[1]
    assert tensors
    write_safetensors(path / "adapter_model.safetensors", tensors)
    return merged


def same(module, path, model):
    """A session with the adapter is the merged model, in prefill and in decode."""
    with frit.Session(module) as session:
        session.load_adapter(path)
        logits = session.prefill(PROMPT * 4)
        expected = model.logits(PROMPT * 4)
        assert np.allclose(logits, expected, atol=1e-4), np.abs(logits - expected).max()
        assert session.decode(12).tolist() == [model.generate(PROMPT * 4, 12)]


def check_llama(work):
    make(work, "llama")
    model = Decoder(work / "llama", CAPACITY)
    model.folder = work / "llama"
    module = compiled(work, "llama", "llama", "--lora-rank=4", "--verify=4")
    plain = model.generate(PROMPT, 12)
    assert list(module.generate(PROMPT, 12)) == plain
    adapters = {}
    for name, modules, rank, options in (
            ("all", MODULES, 4, {}), ("few", ("self_attn.q_proj", "mlp.down_proj"), 2, {}),
            ("root", MODULES[:3], 3, dict(use_rslora=True)),
            ("half", MODULES, 1, dict(kind=np.float16, init_lora_weights="gaussian")),
            ("brain", MODULES, 2, dict(kind="bf16")),
            ("patterns", MODULES, 2, dict(rank_pattern={"layers.1.self_attn.q_proj": 4,
                                                        "up_proj": 1},
                                          alpha_pattern={"v_proj": 9.0}))):
        adapters[name] = adapter(work / name, model, modules, rank, len(adapters), **options)
        same(module, work / name, adapters[name])
    many = adapters["all"].generate(PROMPT, 12)
    assert many != plain
    # One takes the place of the other; sessions have their own; copies have them, too.
    one, other = frit.Session(module), frit.Session(module)
    one.load_adapter(work / "all")
    one.load_adapter(work / "few")
    one.prefill(PROMPT)
    other.prefill(PROMPT)
    few = adapters["few"].generate(PROMPT, 12)
    assert one.decode(5).tolist() == [few[:5]] and other.decode(12).tolist() == [plain]
    copy = one.fork()
    one.load_adapter(None)
    assert copy.decode(7).tolist() == [few[5:]]
    one.rewind(0)
    one.prefill(PROMPT)
    assert one.decode(12).tolist() == [plain]
    # Guesses are checked by the adapted model.
    assert list(module.generate(PROMPT, 12, adapter=work / "all", speculate="lookup")) == many
    shown = subprocess.run(["frit-run", work / "llama.so", "--tokens=5,7,9,11",
                            "--max-tokens=12", f"--lora={work / 'all'}"], check=True,
                           capture_output=True, text=True).stdout
    assert shown.split() == [str(t) for t in many], shown
    print("ok llama")
    return module, model


def check_gpt2(work):
    make(work, "gpt2")
    model = Decoder(work / "gpt2", CAPACITY)
    model.folder = work / "gpt2"
    module = compiled(work, "gpt2", "gpt2", "--lora-rank=2")
    same(module, work / "g", adapter(work / "g", model, GPT2, 2, 1, fan_in_fan_out=True))
    half = compiled(work, "gpt2", "bf16", "--lora-rank=2", "-fprecision=bf16")
    with frit.Session(half) as session, frit.Session(module) as exact:
        for each in (session, exact):
            each.load_adapter(work / "g")
        got, expected = session.prefill(PROMPT), exact.prefill(PROMPT)
        plain = module_logits(module)
        # Rounding to bf16 changes little beside what the adapter does.
        assert np.abs(got - expected).max() < 0.15 * np.abs(plain - expected).max()
    print("ok gpt2")


def module_logits(module):
    with frit.Session(module) as session:
        return session.prefill(PROMPT)


def tools_fail(work, text, path):
    done = subprocess.run(["frit-run", work / "llama.so", "--tokens=5", f"--lora={path}"],
                          capture_output=True, text=True)
    assert done.returncode == 1 and text in done.stderr, done


def check_errors(work, module, model):
    session = frit.Session(module)

    def wrong(name, message, tool=None, change=None, tensors=None, modules=MODULES[:1], rank=2,
              **config):
        path = work / name
        adapter(path, model, modules, rank, 1, **config)
        if change:
            change(path)
        if tensors:
            write_safetensors(path / "adapter_model.safetensors", tensors)
        fails(message, lambda: session.load_adapter(path))
        tools_fail(work, tool or message, path)

    pair = {"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight":
            np.zeros((2, 32), np.float32),
            "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight":
            np.zeros((32, 2), np.float32)}
    first, second = pair

    def but(**changed):
        return {n: changed.get(n[-8], v) for n, v in pair.items()}

    wrong("deep", "'layers.7.self_attn.q_proj.lora_A', and model 'llama' does not: it is an "
          "adapter of another model",
          tensors={n.replace("layers.0", "layers.7"): v for n, v in pair.items()})
    wrong("wide", "'layers.0.self_attn.q_proj.lora_A' is 2x64, and that of model 'llama' 4x32",
          tensors=but(A=np.zeros((2, 64), np.float32)))
    wrong("rank", "has the rank 5, and model 'llama' takes up to 4; fritc --lora-rank=5", rank=5)
    wrong("single", "has 'layers.0.self_attn.q_proj.lora_A' without "
          "'layers.0.self_attn.q_proj.lora_B'", tensors={first: pair[first]})
    wrong("differ", "differ in their rank", tensors=but(A=np.zeros((1, 32), np.float32)))
    wrong("flat", "is not an f32 matrix in host memory",
          tensors=but(A=np.zeros(64, np.float32)))
    wrong("nan", "has the number nan, which the model's type f32 does not hold",
          tensors=but(B=np.full((32, 2), np.nan, np.float32)))
    wrong("other", "is no matrix of an adapter of low rank",
          tensors={"base_model.model.lm_head.weight": np.zeros((2, 2), np.float32)})
    wrong("kind", '"peft_type" is not "LORA"', peft_type="IA3")
    wrong("dora", '"use_dora" is true, which is not supported',
          tool='"use_dora" is not supported here', use_dora=True)
    wrong("bias", '"bias" is "all", which is not supported', tool='"bias" is not "none"',
          bias="all")
    # PEFT takes a part of the model's weights away where training begins so.
    wrong("pissa", '"init_lora_weights" is "pissa_niter_4", which changes the weights of the '
          "model itself", init_lora_weights="pissa_niter_4")
    wrong("tokens", '"alora_invocation_tokens" is [1, 2], which is not supported',
          tool='"alora_invocation_tokens" is not supported here', alora_invocation_tokens=[1, 2])
    wrong("text", '"r" is no number',
          change=lambda path: (path / "adapter_config.json").write_text(
              '{"peft_type": "LORA", "r": "x", "lora_alpha": 1}'))
    wrong("zero", '"r" is not positive',
          change=lambda path: (path / "adapter_config.json").write_text(
              '{"peft_type": "LORA", "r": 0, "lora_alpha": 1}'))
    wrong("cut", "is no complete safetensors file", tool="adapter_model.safetensors",
          change=lambda path: (path / "adapter_model.safetensors").write_bytes(b"\x09"))
    wrong("gone", "adapter_config.json: No such file", tool="adapter_config.json': No such file",
          change=lambda path: (path / "adapter_config.json").unlink())
    # What failed has changed nothing.
    session.prefill(PROMPT)
    assert session.decode(12).tolist() == [model.generate(PROMPT, 12)]
    plain = compiled(work, "llama", "plain")
    fails("model 'llama' takes no adapters; fritc --lora-rank=RANK lets it",
          lambda: frit.Session(plain).load_adapter(work / "all"))
    print("ok errors")


def main(work):
    module, model = check_llama(work)
    check_gpt2(work)
    check_errors(work, module, model)
    emulate(work / "llama", ["decode", "verify"], "--context=16", "-fshape=chunk=2",
            "-fprecision=fp32", "--lora-rank=4", "--verify=3")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
