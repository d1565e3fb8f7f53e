"""Times calls on the GPU, and measures the distance of arrays."""
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

#: Duration of a batch of calls.
BATCH_MS = 20


def measure(call: Callable[[int], object], seconds: float = 2.0,
            least: int = 10, most: int = 300) -> dict:
    """Milliseconds of call(i), the mean of a batch of some 20 ms between two GPU
    events, as `frit-run --bench --no-transfers` times batches; the host's launching
    included."""
    for i in range(4):
        call(i)

    def sample(batch: int) -> float:
        before, after = (torch.cuda.Event(enable_timing=True) for _ in "ba")
        torch.cuda.synchronize()
        before.record()
        for i in range(batch):
            call(i)
        after.record()
        after.synchronize()
        return before.elapsed_time(after) / batch

    batch = min(max(int(BATCH_MS / max(sample(1), 1e-3)), 1), 256)
    times: list[float] = []
    start = time.time()
    while len(times) < least or (len(times) < most
                                 and time.time() - start < seconds):
        times.append(sample(batch))
    deciles = statistics.quantiles(times, n=10)
    return dict(ms=round(statistics.median(times), 4),
                p10=round(deciles[0], 4), p90=round(deciles[-1], 4),
                runs=len(times) * batch)


def relative_error(out: np.ndarray, expected: np.ndarray) -> float:
    """‖out − expected‖ / ‖expected‖ in double precision; infinite where the
    shapes differ or something is not a number."""
    if out.shape != expected.shape:
        return float("inf")
    expected = expected.astype(np.float64)
    apart = np.linalg.norm((out.astype(np.float64) - expected).ravel())
    if apart == 0:
        return 0.0
    error = apart / np.linalg.norm(expected.ravel())
    return float(error) if np.isfinite(error) else float("inf")
