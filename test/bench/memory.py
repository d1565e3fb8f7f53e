"""Device memory in use as the driver counts it, over all processes: nothing
else may run there. None if it cannot be measured."""
import statistics
import subprocess
import sys
import threading
from collections.abc import Callable

import torch

# A process that creates a driver context, waits until it was measured, and ends.
CONTEXT = """
import ctypes, time
cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
assert not cuda.cuInit(0)
assert not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
time.sleep(0.05)
"""


def used() -> int | None:
    """Bytes."""
    try:
        free, total = torch.cuda.mem_get_info()
    except Exception:  # a run goes on without this figure
        return None
    return total - free


def mebibytes(of: int | None) -> float | None:
    return None if of is None else round(of / 2**20, 1)


class Watch:
    """Samples the increase of memory since it was entered. Misses allocations
    that last less than `seconds`."""

    def __init__(self, seconds: float = 0.001,
                 count: Callable[[], int | None] = used):
        self.seconds, self.count = seconds, count
        self.before: int | None = None
        self.seen: list[int] = []
        self.end = threading.Event()
        self.watcher = threading.Thread(target=self.watch, daemon=True)

    def watch(self) -> None:
        while self.before is not None and not self.end.wait(self.seconds):
            now = self.count()
            if now is None:
                self.before = None
            else:
                self.seen.append(now - self.before)

    def __enter__(self) -> "Watch":
        self.before = self.count()
        self.watcher.start()
        return self

    def __exit__(self, *_) -> None:
        self.end.set()
        self.watcher.join()

    def most(self) -> int | None:
        """Bytes."""
        return None if self.before is None else max(self.seen, default=None)

    def usual(self) -> int | None:
        """The median, in bytes."""
        return (None if self.before is None or not self.seen
                else statistics.median_high(self.seen))


def of_process(command: list[str]) -> int | None:
    """Peak memory of a process in bytes."""
    with Watch() as memory:
        done = subprocess.run(command, capture_output=True)
    return memory.most() if done.returncode == 0 else None


def context() -> int | None:
    """Memory of a process that only creates a context."""
    return of_process([sys.executable, "-c", CONTEXT])
