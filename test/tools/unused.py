"""Gives tools options that have no effect on what they are asked for: unused.py FOLDER MODEL"""
import os
import subprocess
import sys

os.chdir(sys.argv[1])
MODEL = sys.argv[2]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def refused(tool, arguments, message):
    done = run(tool, *arguments.split())
    assert done.returncode == 2 and done.stderr == f"{tool}: {message}\n", (arguments, done)
    assert not done.stdout, done


def noted(arguments, message):
    done = run("frit-run", "m.so", *arguments.split())
    assert done.returncode == 0 and done.stderr == f"frit-run: note: {message}\n", done


ASK = "without --prompt, --tokens or --chat"
for arguments, message in {
    "--warmup=1s": "--warmup has no effect without --bench",
    "--duration 1s": "--duration has no effect without --bench",
    "--bench --duration=1s --iterations=3": "--duration has no effect with --iterations",
    "--no-transfers --info": "--no-transfers has no effect without --bench",
    "--tokenizer=here": f"--tokenizer has no effect {ASK}",
    "--max-tokens=3": f"--max-tokens has no effect {ASK}",
    "--tokens=1 --top-k=3": "--top-k has no effect without --temperature above 0",
    "--tokens=1 --seed=3": "--seed has no effect without --temperature above 0",
    "--tokens=1 --perplexity --max-tokens=3": "--max-tokens has no effect with --perplexity",
    "--tokens=1,2 --perplexity --speculate=lookup":
        "--speculate has no effect with --perplexity",
    "--tokens=1 --guesses=2": "--guesses has no effect without --speculate=lookup or --draft",
    "--tokens=1 --input=x=@a.npy": "--input has no effect with --prompt, --tokens or --chat",
    "--tokens=1 --function=main": "--function has no effect with --prompt, --tokens or --chat",
    "--info --input=x=@a.npy": "--input has no effect with --info",
    "--info --shape=batch=1": "--shape has no effect with --info",
    "--l2=1": "--l2 has no effect without --compare",
    "--compare=a.npz --l2=1 --rtol=1": "--rtol has no effect with --l2",
    "--bench --time-report": "--time-report has no effect with --bench, --info, --profile, "
                             "--precision-report or a prompt",
    "--weights=.": "--weights has no effect on this model, which holds its weights itself",
    "--info --weights=.": "--weights has no effect on this model, which holds its weights itself",
}.items():
    refused("frit-run", "m.so " + arguments, message)
noted("--no-cublas", "--no-cublas has no effect on the cpu")
noted("--no-cuda-graph", "--no-cuda-graph has no effect on the cpu")
assert run("frit-run", "m.so", "--threads=1", "--deterministic").stderr == ""

ALONE = "with --evaluate, which trains nothing and runs on one device"
for arguments, message in {
    "--evaluate --seed=3": f"--seed has no effect {ALONE}",
    "--evaluate --no-shuffle": f"--no-shuffle has no effect {ALONE}",
    "--evaluate --keep=3": f"--keep has no effect {ALONE}",
    "--data=x --keep=3": "--keep has no effect without a folder, --checkpoint=run/",
    "--data=x --eval-every=3": "--eval-every has no effect without --eval or --eval-tokens",
    "--data=x --allow-nan --trace-limit=9": "--trace-limit has no effect with --allow-nan",
    "--data=x --join-timeout=9": "--join-timeout has no effect on one device",
}.items():
    refused("frit-train", "m.so " + arguments, message)

for arguments, message in {
    "--info --decode": "--decode has no effect with --info",
    "--chat --json": "--json has no effect with --chat",
    "--chat --no-special": "--no-special has no effect with --chat",
    "--stream": "--stream has no effect without --decode",
}.items():
    refused("frit-tokenize", "here " + arguments, message)

with open("kept.mlir", "w") as file:
    file.write("module {}")
for arguments, message in {
    "--show-dialects -o kept.mlir": "-o has no effect with --show-dialects",
    "-o kept.mlir --list-passes": "-o has no effect with --list-passes",
    "--list-passes --show-dialects": "--list-passes has no effect with --show-dialects",
}.items():
    refused("frit-opt", arguments, message)
assert open("kept.mlir").read() == "module {}"

CUDA = "without a target of CUDA, as -march=sm_90a"
for arguments, options in {
    "--emit=nn -march=sm_90a -O0 -fno-cudnn -fno-fuse":
        {option: "with --emit=nn" for option in ("-march", "-O", "-fno-cudnn", "-fno-fuse")},
    "--emit=plan -march=x86-64 -fexternal-weights=w.safetensors --name=m":
        {option: "with --emit=plan" for option in ("-fexternal-weights", "--name")},
    "--emit=plan --os=windows": {"--os": "with --emit=plan"},
    "-S -march=sm_90a --name=m": {"--name": "with -S"},
    "-c -march=x86-64 -fno-cublas -fno-fork -fno-tuned -fdeterministic -fbatch-invariant":
        {option: CUDA for option in ("-fno-cublas", "-fno-fork", "-fno-tuned", "-fdeterministic",
                                     "-fbatch-invariant")},
}.items():
    done = run("fritc", MODEL, *arguments.split(), "-o", "out")
    said = "".join(f"warning: {option} has no effect {why} [-Wunused]\n"
                   for option, why in options.items())
    assert done.returncode == 0 and done.stderr == said, (arguments, done.stderr, said)
    assert run("fritc", MODEL, *arguments.split(), "-o", "out", "-Wno-unused").stderr == ""

with open("keep", "w") as file:
    file.write("*\n")
KEPT = ("warning: keep: -fkeep-fp32 has no effect without -fprecision=, on a model that computes in "
        "f32 [-Wunused]\n")
for arguments, message in {
    "-frandom-weights=1":
        "warning: -frandom-weights has no effect on a model that lacks no weights [-Wunused]\n",
    "-fkeep-fp32=keep": KEPT,
    "-fkeep-fp32=keep -fprecision=fp32": KEPT,
    "-fkeep-fp32=keep -fprecision=fp16": "",
    "-fkeep-fp32=keep -fprecision=tf32": "",
}.items():
    for stage in "-march=x86-64", "--emit=nn":
        done = run("fritc", MODEL, stage, *arguments.split(), "-o", "out")
        assert done.returncode == 0 and done.stderr == message, (arguments, stage, done.stderr)

done = run("fritc", MODEL, "-march=x86-64", "-Rpass=fuson", "-o", "out")
assert done.stderr == (
    "warning: -Rpass=fuson has no effect: its remarks are fork, fusion, guard, quantization or "
    "sparse; did you mean 'fusion'? [-Wunused]\n"), done
done = run("fritc", MODEL, "-march=x86-64", "-Rpass=guard", "-Rpass-missed=schedul?", "-o", "out")
assert done.stderr == "", done
