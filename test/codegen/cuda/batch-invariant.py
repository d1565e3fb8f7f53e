"""Schedules that decide the order of sums, for several numbers of rows: batch-invariant.py WORK

Prints those of products, attention and reductions of a language model's functions, and fails if they
differ between numbers of rows with -fbatch-invariant, or do not without it.
"""
import re
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "language"))
import folders  # noqa: E402

SIZES = dict(hidden_size=128, intermediate_size=192, vocab_size=331, max_position_embeddings=1024)
#: Skeletons and calls that sum; elements of others depend on no others of their tensor.
SUMS = r"\w*gem[mv]|\w*attention|dequantize|row\w*|column\w*"
#: Sequences and tokens of a chunk: 1, 8, 16, 17, 32 and 512 rows, and their decode of one each.
CASES = [(1, 1), (8, 1), (1, 16), (17, 1), (2, 16), (32, 16)]


def schedules(folder, batch, chunk, *options):
    text = subprocess.run(["fritc", f"{folder}/", "-march=sm_90a", "--context=1024",
                           f"--batch={batch}", f"-fshape=chunk={chunk}", "--emit=fused",
                           *options, "-o", "-"], check=True, capture_output=True, text=True).stdout
    prefill, decode = text.split("// -----")
    found = []
    for function in (prefill, decode):
        # Stages and blocks of rows do not change the order.
        function = re.sub(r"stages = \d+, |, rows = \d+", "", function)
        found.append(re.findall(rf"schedule\((#cuda\.(?:{SUMS})\b(?:<[^>]*>)?)", function))
    return found


def check(work, *options, name="llama"):
    sizes = SIZES if name == "llama" else dict(n_embd=128, n_positions=1024, vocab_size=331)
    config = folders.CONFIGS[name] | sizes
    folder = work / name
    folders.write_folder(folder, config, folders.random_tensors(config, 1))
    held, plain = [], []
    for case in CASES:
        held += schedules(folder, *case, "-fbatch-invariant", *options)
        plain += schedules(folder, *case, *options)
    for (batch, chunk), one in zip([case for case in CASES for _ in range(2)], held):
        assert one == held[0], f"{name}: {batch} x {chunk} {options}:\n{one}\n{held[0]}"
    assert any(one != plain[0] for one in plain)
    print(name, *options)
    for schedule in dict.fromkeys(held[0]):
        print(" ", schedule)


if __name__ == "__main__":
    check(Path(sys.argv[1]), "-fprecision=bf16")
    check(Path(sys.argv[1]), "-fprecision=bf16", "-fweights=int4")
    check(Path(sys.argv[1]), "-fprecision=fp32")
    check(Path(sys.argv[1]), "-fprecision=bf16", name="gpt2")
