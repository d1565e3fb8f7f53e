"""Rows of a run on several GPUs of one machine at the same time."""
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path


def run(command: list[str], gpus: int, work: Path, rows: list[str],
        end: float) -> Iterator[dict]:
    """Yields each row's results as they arrive. A row runs by the same command as this
    process, on any free GPU; none starts after `end`."""
    waiting, results = queue.SimpleQueue(), queue.SimpleQueue()
    for row in rows:
        waiting.put(row)

    def one(row: str, gpu: int) -> None:
        child = subprocess.Popen(
            [sys.executable, *command, "--gpus=1", f"--only=^{row}$",
             f"--work={work / f'gpu{gpu}'}",
             f"--budget={max(0.0, end - time.time()):.0f}"],
            env=os.environ | {"CUDA_VISIBLE_DEVICES": str(gpu)},
            stdout=subprocess.PIPE, text=True)
        answered = False
        for line in child.stdout:
            if line.startswith("{") and "backend" in (said := json.loads(line)):
                answered |= "row" in said
                results.put(said)
        if child.wait() < 0 or not answered:
            results.put(dict(row=row, backend="frit",
                             failed=f"its process ended: {child.returncode}"))

    def work_through(gpu: int) -> None:
        while True:
            try:
                row = waiting.get_nowait()
            except queue.Empty:
                return results.put(None)
            one(row, gpu)

    for gpu in range(gpus):
        threading.Thread(target=work_through, args=(gpu,), daemon=True).start()
    busy = gpus
    while busy:
        result = results.get()
        if result is None:
            busy -= 1
        else:
            yield result
