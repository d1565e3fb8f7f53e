"""Runs fritc and frit-run of an unpacked bundle."""
import json
import subprocess
import time
from pathlib import Path

import numpy as np

import memory
from measure import relative_error


class Failure(Exception):
    pass


def widened(values: np.ndarray) -> np.ndarray:
    """Widens bfloat16, which numpy reads as two bytes."""
    if values.dtype != np.dtype("V2"):
        return values
    return (values.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


class Frit:
    def __init__(self, bundle: Path, march: str, flags: list[str]):
        self.bin, self.march, self.flags = bundle / "bin", march, flags

    def call(self, tool: str, *args: str, timeout: float = 300
             ) -> tuple[subprocess.CompletedProcess, float]:
        """The finished process and the seconds it took."""
        start = time.time()
        try:
            done = subprocess.run([self.bin / tool, *args], text=True,
                                  capture_output=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            raise Failure(f"{tool}: not done after {timeout:.0f} s")
        if done.returncode:
            said = (done.stderr or done.stdout).strip()[-500:]
            raise Failure(f"{tool}: exit status {done.returncode}: {said}")
        return done, time.time() - start

    def version(self) -> str:
        return self.call("fritc", "--version")[0].stdout.strip()

    def compile(self, onnx: Path, precision: str, types: list[str],
                artifact: Path) -> dict:
        """Compiles a model; the compiler's time report goes next to the artifact."""
        done, seconds = self.call(
            "fritc", str(onnx), "-o", str(artifact), f"-march={self.march}",
            f"-fprecision={precision}", *types, "-ftime-report", *self.flags)
        artifact.with_suffix(".compile.log").write_text(done.stderr)
        return dict(compile_s=round(seconds, 2),
                    artifact_MiB=round(artifact.stat().st_size / 2**20, 2))

    def info(self, artifact: Path) -> dict:
        done, _ = self.call("frit-run", str(artifact), "--info", "--json")
        target = next(t for t in json.loads(done.stdout)["targets"]
                      if t["arch"] == self.march)
        return dict(
            kernels=target["kernels_per_call"],
            library_calls=target["library_calls"],
            arena_MiB=round(target["arena_bytes"] / 2**20, 2),
            arena_bound_MiB=round(target["arena_lower_bound"] / 2**20, 2))

    def check(self, artifact: Path, given: str, reference: Path) -> dict:
        """Times a process with one call, then compares the outputs of another,
        whose memory is measured."""
        _, first = self.call("frit-run", str(artifact), given)
        written = artifact.with_suffix(".npz")
        with memory.Watch() as watch:
            self.call("frit-run", str(artifact), given, f"--output=@{written}")
        with np.load(written) as out, np.load(reference) as expected:
            errors = [relative_error(widened(out[name]), expected[name])
                      for name in expected.files]
        written.unlink()
        result = dict(error=max(errors), first_output_s=round(first, 2))
        if (most := watch.most()) is not None:
            result |= dict(device_peak_MiB=memory.mebibytes(most))
        return result

    def bench(self, artifact: Path, given: str) -> dict:
        """Device time of a call whose inputs are on the device already. The
        memory is looked at too seldom to disturb it."""
        with memory.Watch(seconds=0.1) as watch:
            done, _ = self.call("frit-run", str(artifact), given, "--bench",
                                "--no-transfers", "--json")
        said = json.loads(done.stdout)
        result = {key: round(said[key], 4)
                  for key in ("ms", "p10", "p90", "runs")}
        if (usual := watch.usual()) is not None:
            result |= dict(device_MiB=memory.mebibytes(usual))
        return result

    def profile(self, artifact: Path, given: str) -> str:
        """Profile by step, in its own process because profiling slows the steps."""
        done, _ = self.call("frit-run", str(artifact), given, "--profile")
        return done.stdout
