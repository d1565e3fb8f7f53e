"""Models that read a source, T5 and Whisper: sources.py WORK"""
import json
import subprocess
import sys
from pathlib import Path

import frit
import numpy as np

import encoders
from emulated import emulate
from sessions import fails

CONTEXT, COUNT = 40, 24


def compiled(work, name, out, *options):
    artifact = work / f"{out}.so"
    subprocess.run(["fritc", work / name, "-march=x86-64-v3", f"--context={CONTEXT}",
                    "-fshape=chunk=1,16", *options, "-o", artifact], check=True,
                   stderr=subprocess.DEVNULL)
    return frit.load(artifact, device="cpu", threads=1)


def check_model(work, name, sources, prompt):
    """Logits and tokens after sources of several lengths, one after another."""
    encoders.make(work, name)
    model = encoders.load(work / name)
    module = compiled(work, name, name, "--verify=4")
    kinds = set()
    with frit.Session(module) as session:
        fails(f"model '{name}' continues a source, which frit_session_encode",
              lambda: session.prefill(prompt))
        for source in sources:
            session.encode(source)
            assert session.length() == 0
            logits = session.prefill(prompt)
            expected = model.logits(model.encode(source), prompt)
            assert np.allclose(logits, expected, atol=2e-4), np.abs(logits - expected).max()
            tokens = model.generate(source, prompt, COUNT)
            assert session.decode(COUNT).tolist() == [tokens]
            # Another reply to the same source; a copy has it, too.
            copy = session.fork()
            for each in (session, copy):
                each.rewind(0)
                each.prefill(prompt + tokens[:9])
                assert each.decode(5).tolist() == [tokens[9:14]]
            copy.close()
            assert list(module.generate(prompt, COUNT, source=source)) == tokens
            assert list(module.generate(prompt, COUNT, source=source,
                                        speculate="lookup")) == tokens
            kinds |= {tuple(tokens)}
    assert len(kinds) == len(sources), "each source has tokens of its own"
    print("ok", name)
    return module, model


def check_batch(work, model):
    """Sequences with sources of several lengths."""
    rng = np.random.default_rng(9)
    module = compiled(work, "t5-gated", "batch", "--batch=3", "--source=20")
    sources = [rng.integers(2, 61, count).tolist() for count in (3, 20, 11)]
    with frit.Session(module) as session:
        session.encode(sources)
        for i in range(3):
            session.prefill([0], i)
        assert session.decode(COUNT).tolist() == [model.generate(source, [0], COUNT)
                                                  for source in sources]
    print("ok batch")


def check_functions(work):
    """What the artifact says of itself, and what the encoder returns."""
    module = compiled(work, "whisper", "whisper-encode")
    names = json.loads(subprocess.run(["frit-run", work / "whisper-encode.so", "--info", "--json"],
                                      check=True, capture_output=True, text=True).stdout)
    assert "encode" in str(names), names
    features = np.random.default_rng(1).normal(size=(1, 10, 48)).astype(np.float32)
    got = np.array(module.function("encode")(features))
    expected = encoders.load(work / "whisper").encode(features[0])
    assert got.shape == (1, 24, 32) and np.allclose(got[0], expected, atol=1e-4)
    print("ok functions")


def check_tool(work, model, sound, text):
    """frit-run reads tokens and spectra."""
    np.save(work / "sound.npy", sound)
    whisper = encoders.load(work / "whisper")
    for name, source, tokens, expected in (
            ("t5-gated", ",".join(map(str, text)), "0", model.generate(text, [0], 12)),
            ("whisper", f"@{work}/sound.npy", "1,7,9", whisper.generate(sound, [1, 7, 9], 12))):
        shown = subprocess.run(["frit-run", work / f"{name}.so", f"--source={source}",
                                f"--tokens={tokens}", "--max-tokens=12"], check=True,
                               capture_output=True, text=True).stdout
        assert shown.split() == [str(token) for token in expected], shown
    print("ok frit-run")


def check_errors(work, t5, plain):
    session = frit.Session(t5)
    fails("input 'source' has chunk 65, and the model holds 1..64",
          lambda: session.encode([5] * 65))
    fails("vocabulary", lambda: session.encode([5, 61]))
    session.encode([5])
    session.prefill([0])
    fails("has no function of the role encode: it continues tokens alone",
          lambda: frit.Session(plain).encode([5]))

    def wrong(name, message, options=(), **config):
        encoders.make(work / "wrong", name, **config)
        done = subprocess.run(["fritc", work / "wrong" / name, *options, "-march=x86-64-v3", "-o",
                               work / "wrong.so"], capture_output=True, text=True)
        assert done.returncode and message in done.stderr, done

    wrong("t5", '"feed_forward_proj" is "swish"; relu, gated-gelu and gated-silu are supported',
          feed_forward_proj="swish")
    wrong("t5", '"relative_attention_num_buckets" is no multiple of 4',
          relative_attention_num_buckets=6)
    wrong("t5", '"num_layers" is 2000; up to 1000 are supported', num_layers=2000)
    wrong("whisper", '3 heads do not divide the width of 32 ("d_model")',
          encoder_attention_heads=3)
    wrong("whisper", "--source gives the tokens of a source, but the model reads a sound",
          options=["--source=8"])
    wrong("whisper", "a context of 65 tokens exceeds the 64 that the model is for, and it has no "
          "positions beyond them", options=["--context=65"])
    print("ok errors")


def main(work):
    rng = np.random.default_rng(4)
    texts = [rng.integers(2, 61, count).tolist() for count in (23, 1, 64)]
    check_model(work, "t5", texts, [0])
    t5, model = check_model(work, "t5-gated", texts, [0])
    # Attention by distance reads no more keys than there are, as does that to the source.
    fused = subprocess.run(["fritc", work / "t5", "-march=x86-64-v3", f"--context={CONTEXT}",
                            "-fshape=chunk=1", "--emit=fused", "-o", "-"], check=True,
                           capture_output=True, text=True).stdout
    layers, functions = encoders.CONFIGS["t5"]["num_decoder_layers"], 2
    assert fused.count("#cpu.ranged_attention") == 2 * layers * functions
    sounds = [rng.normal(size=(10, 48)).astype(np.float32) for _ in range(2)]
    check_model(work, "whisper", sounds, [1, 7, 9])
    check_batch(work, model)
    check_functions(work)
    check_tool(work, model, sounds[0], texts[0])
    for name in ("t5", "whisper"):
        emulate(work / name, ["encode", "prefill", "decode"], "--context=16", "-fshape=chunk=2",
                "-fprecision=fp32", *["--source=16"][:name == "t5"])
    import folders
    folders.make(work, "llama")
    check_errors(work, t5, compiled(work, "llama", "llama"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
