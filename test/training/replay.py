"""Compares 100 training steps that one CUDA graph replays with steps that are
launched kernel by kernel: every loss and all state, bit for bit. Halfway, a new
context goes on with the latter's state, as after a checkpoint.

    replay.py FOLDER [DEVICE]

The learning rate changes before every step. The loss scale doubles every three
steps, so that 16-bit gradients overflow again and again; a step whose gradients
did must leave weights, moments and the step's number as they were. On the cpu
target, which has no graphs, two contexts must agree.
"""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from runtime import DETERMINISTIC, NO_CUDA_GRAPH, Step

folder = Path(sys.argv[1])
device = sys.argv[2] if len(sys.argv) > 2 else "cpu"
model = Path(__file__).parent / "exports/plain.onnx"
STEPS, INTERVAL = 100, 3


def check_overflow(before, after, overflowed):
    """Checks what the state becomes by a step that is complete."""
    scale, steps = before["loss_scale"], before["loss_scale_steps"] + 1
    grows = steps == INTERVAL
    assert after["loss_scale"] == scale * (0.5 if overflowed else 2 if grows else 1)
    assert after["loss_scale_steps"] == (0 if overflowed or grows else steps)
    assert after["step"] == before["step"] + (not overflowed)
    for name, value in before.items():
        trains = name.startswith(("conv", "bn", "fc")) and "running" not in name and not name.endswith("gradient")
        if trains:
            assert np.array_equal(value, after[name]) == overflowed, (name, overflowed)
        assert np.isfinite(after[name]).all(), name


def compare(name, optimizer, **options):
    (folder / "train.json").write_text(json.dumps(
        {"loss": {"kind": "cross_entropy"}, "optimizer": optimizer, "loss_scale": {"interval": INTERVAL},
         "dropout": [{"after": ["relu*"], "rate": 0.25}], **options}))
    artifact = folder / f"{name}.so"
    march = "x86-64-v3" if device == "cpu" else "native"
    subprocess.run(["fritc", model, "--train=" + str(folder / "train.json"), "-fprecision=amp-fp16",
                    "-march=" + march, "-o", artifact], check=True)
    accumulate = options.get("accumulate", 1)
    steps = [Step(artifact, device=device, flags=DETERMINISTIC | flags)
             for flags in (0, NO_CUDA_GRAPH)]
    random = np.random.default_rng(5)
    overflows = 0
    states = [s.read() for s in steps]
    for i in range(STEPS):
        if i == STEPS // 2:
            steps[1].close()
            steps[1] = Step(artifact, device=device, flags=DETERMINISTIC | NO_CUDA_GRAPH)
            steps[1].write(**states[1])
        inputs = {"image": random.standard_normal((2, 3, 8, 8)).astype(np.float32),
                  "labels": random.integers(0, 10, 2)}
        metrics = []
        for step in steps:
            step.write(learning_rate=np.float32(0.01 / (1 + i % 7)))
            metrics.append(step.train(**inputs))
        before, states = states[0], [s.read() for s in steps]
        for kind, (a, b) in {"output": metrics, "state": states}.items():
            for key in a:
                assert a[key].tobytes() == b[key].tobytes(), f"{name}: {kind} {key} differs after step {i + 1}"
        if i % accumulate == accumulate - 1:
            overflowed = not np.isfinite(metrics[0]["gradient_norm"])
            overflows += overflowed
            check_overflow(before, states[0], overflowed)
    for step in steps:
        step.close()
    assert 5 < overflows < STEPS / accumulate - 5, overflows
    print(f"{name}: {STEPS} steps are equal, {overflows} of them with overflows")


compare("sgd", {"kind": "sgd", "momentum": 0.9}, clip_norm=1)
compare("adamw", {"kind": "adamw", "weight_decay": 0.01}, accumulate=2)
