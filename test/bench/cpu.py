#!/usr/bin/env python3
"""Times frit's CPU target and ONNX Runtime alternately on the same cores.

    cpu.py --bin build/release/bin model.onnx --input image=x.npy [--threads 2]

Needs numpy and onnxruntime, no GPU and no PyTorch. Prints one JSON line.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--bin", type=Path, required=True, metavar="DIR",
                        help="where fritc and frit-run are")
    parser.add_argument("--input", required=True, metavar="NAME=FILE.npy")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--march", default="x86-64-v3")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    name, file = args.input.split("=", 1)
    # Restricts both to the same cores, however they count threads.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:args.threads])

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = args.threads
    session = onnxruntime.InferenceSession(args.model, options,
                                           ["CPUExecutionProvider"])
    fed = {name: np.load(file)}
    expected = session.run(None, fed)[0]

    def ort() -> float:
        times = []
        for _ in range(20):
            start = time.perf_counter()
            session.run(None, fed)
            times.append(time.perf_counter() - start)
        return statistics.median(times) * 1e3

    with tempfile.TemporaryDirectory() as work:
        artifact, written = Path(work, "model.so"), Path(work, "out.npz")
        run = [args.bin / "frit-run", artifact, "--device=cpu",
               f"--input={name}=@{file}"]
        start = time.time()
        subprocess.run([args.bin / "fritc", args.model, "-o", artifact,
                        f"-march={args.march}"], check=True)
        seconds = time.time() - start
        subprocess.run([*run, f"--output=@{written}"], check=True,
                       stdout=subprocess.DEVNULL)
        with np.load(written) as outputs:
            out = outputs[session.get_outputs()[0].name].astype(np.float64)

        def frit() -> float:
            done = subprocess.run([*run, "--bench", "--json"], check=True,
                                  capture_output=True, text=True)
            return json.loads(done.stdout)["ms"]

        # Alternating, so that other load slows both.
        pairs = [(frit(), ort()) for _ in range(args.rounds)]
    frit_ms, ort_ms = (statistics.median(side) for side in zip(*pairs))
    print(json.dumps(dict(
        model=args.model.name, threads=args.threads, march=args.march,
        frit_ms=round(frit_ms, 2), onnxruntime_ms=round(ort_ms, 2),
        ratio=round(frit_ms / ort_ms, 2), compile_s=round(seconds, 2),
        error=float(np.linalg.norm(out - expected)
                    / np.linalg.norm(expected)))))


if __name__ == "__main__":
    main()
