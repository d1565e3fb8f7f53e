"""The same bits at any batch on the emulator: invariant.py WORK FAMILY[,OPTION...]...

With -fbatch-invariant a prompt is continued alone, then as one of several sequences of other lengths,
by chunks of other sizes. Its logits after the prompt and after each step must be equal bit for bit.
"""
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import folders
from emulated import compile_kernels

sys.path.append(str(Path(__file__).resolve().parents[1]))
import parts  # noqa: E402

CONTEXT, PROMPT, STEPS = 1024, 150, 3
#: Sequences, and tokens of a chunk of prefill.
ALONE = (1, 150)
AMONG = [(2, 64), (8, 30), (17, 25), (32, 50)]
QUIET = dict(check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Emulated:
    """A model's functions, emulated over one state."""

    def __init__(self, folder, name, options):
        self.model, self.kernels, self.state, self.before = (
            folder.with_name(f"{name}{end}")
            for end in (".so", ".kernels.so", ".npz", "-before.npz"))
        compile_kernels(f"{folder}/", options, self.model, self.kernels)

    def __call__(self, function, **inputs):
        arguments = ["emulate_run", self.model, self.kernels, f"--function={function}",
                     f"--output={self.state}", "--seeds=1"]
        if self.state.exists():
            arguments.append(f"--state={self.state.replace(self.before)}")
        for name, value in inputs.items():
            file = self.state.with_name(f"{self.state.stem}-{name}.npy")
            np.save(file, np.array(value, np.int32))
            arguments.append(f"--input={name}=@{file}")
        subprocess.run(arguments, **QUIET)
        return np.load(self.state)["logits"]


def follow(folder, batch, chunk, options):
    """Returns the first sequence's logits after its prompt and after each step."""
    rng = np.random.default_rng(1)
    prompts = [rng.integers(0, 331, PROMPT).tolist()]
    prompts += [rng.integers(0, 331, 2 + 37 * i % PROMPT).tolist() for i in range(1, batch)]
    model = Emulated(folder, f"{folder.name}-{batch}",
                     [f"--context={CONTEXT}", f"--batch={batch}", f"-fshape=chunk={chunk}", *options])
    for at in range(0, PROMPT, chunk):
        parts = [prompt[at:at + chunk] for prompt in prompts]
        logits = model("prefill", tokens=[part + [0] * (chunk - len(part)) for part in parts],
                       count=[len(part) for part in parts])
    rows = [logits[0]]
    rows += [model("decode")[0] for _ in range(STEPS)]
    return np.stack(rows)


def check(work, name, cases, *options):
    config = folders.CONFIGS[name] | dict(vocab_size=331)
    config |= (dict(n_embd=128, n_positions=CONTEXT) if name == "gpt2" else
               dict(hidden_size=128, intermediate_size=192, max_position_embeddings=CONTEXT))
    folder = work / (name + "".join(options))
    folders.write_folder(folder, config, folders.random_tensors(config, 1))
    flags = ["-fbatch-invariant", *options]
    with ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(lambda case: follow(folder, *case, flags), cases))
    assert np.isfinite(rows[0]).all() and len(np.unique(rows[0], axis=0)) == 1 + STEPS
    for (batch, chunk), found in zip(cases, rows):
        differ = np.flatnonzero((found.view(np.uint32) != rows[0].view(np.uint32)).any(1))
        assert not differ.size, (name, options, batch, chunk, "differs after step", differ[0])
    print("equal", name, *options)


if __name__ == "__main__":
    work = Path(sys.argv[1])
    (work / "headers").mkdir(parents=True)
    assert shutil.which("emulate_run")
    among = parts.pick("sequences beside another", AMONG)
    for family in sys.argv[2:]:
        name, *options = family.split(",")
        check(work, name, [ALONE, *among], *options)
