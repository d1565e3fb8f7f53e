"""Times torch.compile(backend="frit") beside eager PyTorch and inductor.

    torch_bench.py [--only REGEX] [--backends eager,compile,graph,frit]
                   [--precision fp16] [--seconds S]

needs PYTHONPATH and FRIT_RUNTIME, or the installed package. Prints for each
model: ms of a call, error against eager float32, seconds of the first call, MiB
of device memory beside the parameters; and the host's microseconds of a call,
beside those of the same call of the runtime (`frit_run_async`).
"""
import argparse
import gc
import re
import sys
import time
import warnings
from pathlib import Path

import torch

import frit.torch

# Last, because the bench has a frit.py of its own.
for folder in ("bench", "models"):
    sys.path.append(str(Path(__file__).parent.parent / folder))
import zoo  # noqa: E402
from measure import measure, relative_error  # noqa: E402

ROWS = [("resnet50", 1), ("resnet50", 32), ("vit-b16", 1), ("vit-b16", 32),
        ("gpt3-small", 1), ("bert-large", 1), ("bert-large", 32),
        ("llama-1b", 1)]
MODES = {"eager": None, "compile": dict(), "graph": dict(mode="reduce-overhead"),
         "frit": dict(backend="frit")}
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def host_microseconds(call, count: int = 20) -> float:
    """The least time that the host takes to enqueue a call."""
    best = 1e9
    for _ in range(20):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - start) / count)
    torch.cuda.synchronize()
    return best * 1e6


def runtime_call():
    """The last call of frit's that was compiled, without Python around it."""
    module = last_compiled().module
    context = module._free[-1]
    call = [*context.calls.values()][-1]
    results = [*call.results.values()][-1]
    run = frit._lib.frit_run_async
    arguments = (context.handle, call.inputs.array, call.inputs.count,
                 results.array, results.count)
    return lambda: run(*arguments)


def last_compiled():
    found = [o for o in gc.get_objects()
             if type(o).__name__ == "_Compiled" and hasattr(o, "module")]
    assert found, "frit compiled nothing"
    return found[-1]


@torch.no_grad()
def run(name: str, batch: int, backend: str, precision: str, seconds: float,
        state: dict) -> str:
    model = zoo.ZOO[name]["full"]
    dtype = DTYPES[precision]
    if "module" not in state:
        state["module"] = zoo.make(model, "cuda")
        x = zoo.draw(model, batch).cuda()
        state["x"] = x
        state["expected"] = flat(state["module"](x)).float().cpu().numpy()
        state["module"] = state["module"].to(dtype)
    x = state["x"]
    x = x.to(dtype) if x.is_floating_point() else x
    module = state["module"]
    torch._dynamo.reset()
    gc.collect()
    torch.cuda.empty_cache()
    held = torch.cuda.mem_get_info()[0]
    mode = MODES[backend]
    fast = module if mode is None else torch.compile(module, dynamic=False,
                                                     **mode)
    start = time.time()
    made = flat(fast(x)).float().cpu().numpy()
    first = time.time() - start
    error = relative_error(made, state["expected"])
    times = measure(lambda i: fast(x), seconds)
    memory = (held - torch.cuda.mem_get_info()[0]) / 2**20
    line = (f"{name} b{batch} {precision} {backend:8} {times['ms']:8.3f} ms  "
            f"error {error:.1e}  first {first:6.1f} s  +{memory:6.0f} MiB  "
            f"host {host_microseconds(lambda: fast(x)):6.1f} us")
    if backend == "frit":
        call = runtime_call()
        line += f", runtime {host_microseconds(call):6.1f} us"
    return line


def flat(result):
    return result if isinstance(result, torch.Tensor) else result[0]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--backends", default="eager,compile,graph,frit")
    parser.add_argument("--precision", default="fp16", choices=DTYPES)
    parser.add_argument("--seconds", type=float, default=1)
    args = parser.parse_args()
    warnings.simplefilter("always", frit.torch.Fallback)
    for name, batch in ROWS:
        if not re.search(args.only, f"{name}/b{batch}"):
            continue
        state: dict = {}
        for backend in args.backends.split(","):
            try:
                print(run(name, batch, backend, args.precision, args.seconds,
                          state), flush=True)
            except Exception as error:  # the next row all the same
                print(f"{name} b{batch} {backend}: {type(error).__name__}: "
                      f"{str(error)[:1000]}", flush=True)
        state.clear()
        gc.collect()
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
