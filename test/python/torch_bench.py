"""Times torch.compile(backend="frit") beside eager PyTorch and inductor.

    torch_bench.py [--only REGEX] [--backends eager,compile,graph,frit]
                  [--precision fp16] [--seconds S] [--jobs N] [--limit S]

needs PYTHONPATH and FRIT_RUNTIME, or the installed package. Models are those of
test/bench, ten of test/models/architectures.py, and a linear layer. Each has a
process, which compiles it; N at a time do, and the others stand still while one
is timed. Prints as soon as a model is ready, for each backend: ms of a call,
error against eager float32, seconds of the first call, the host's microseconds of
a call; and for frit those of the runtime's part (`frit_run_async`), of PyTorch's
before it calls frit, and of looking whether parameters have changed. Eager
PyTorch and inductor have images in channels_last. What is not ready after S
seconds says so.
"""
import argparse
import copy
import gc
import os
import re
import select
import signal
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import torch

# Last, because the bench has a frit.py of its own.
for folder in ("bench", "models"):
    sys.path.append(str(Path(__file__).parent.parent / folder))

BENCH = [("resnet50", 1), ("resnet50", 32), ("vit-b16", 1), ("vit-b16", 32),
         ("gpt3-small", 1), ("bert-large", 1), ("bert-large", 32),
         ("llama-1b", 1)]
SURVEY = ["resnet18", "efficientnet_b0", "densenet121", "swin_t",
          "convnext_tiny", "mobilenet_v3_large", "mixer_b16_224", "deberta_v2",
          "gpt2", "whisper"]
# A layer, whose call is all overhead.
ROWS = [f"{name}/b{batch}" for name, batch in BENCH] + \
    [f"{name}/b1" for name in SURVEY] + ["linear/b8"]
MODES = {"eager": None, "compile": dict(), "graph": dict(mode="reduce-overhead"),
         "frit": dict(backend="frit")}
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def host_microseconds(call, count: int = 20, seconds: float = 0.3) -> float:
    """The least time that the host takes to enqueue a call."""
    best, end = 1e9, time.perf_counter() + seconds
    while time.perf_counter() < end or best == 1e9:
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - start) / count)
    torch.cuda.synchronize()
    return best * 1e6


def runtime_call(module, inputs):
    """A call of a module of frit, without Python around it."""
    results = module.call_list(inputs)  # which keeps their memory
    (context,) = module._caller.free
    pointers, run = context.repeated.pointers, context.repeated.run

    def call(_kept=results):
        assert run(context.handle, *pointers) == 0
    return call


def last(kind: str):
    """The backend's object that was made last."""
    return [o for o in gc.get_objects() if type(o).__name__ == kind
            and type(o).__module__ == "frit.torch"][-1]


@contextmanager
def only_guards(graph):
    """Lets a graph return the same results at once: what is left of a call is
    what PyTorch does before it calls a backend. Gives a list with the arguments
    of a call."""
    kind, call = type(graph), type(graph).__call__
    kept, seen = [], []

    def same(self, *arguments):
        if not kept:
            kept.append(call(self, *arguments))
            seen.append(arguments)
        return kept[0]
    kind.__call__ = same
    try:
        yield seen
    finally:
        kind.__call__ = call


#===----------------------------------------------------------------------===#
# A model, in a process of its own
#===----------------------------------------------------------------------===#

def build(row: str):
    """Returns a model in float32 on the GPU, and its inputs."""
    name, batch = row.split("/b")
    if name == "linear":
        return torch.nn.Linear(64, 64).cuda(), (torch.randn(int(batch), 64).cuda(),)
    if (name, int(batch)) in BENCH:
        import nets
        import zoo
        turn = nets.LlamaAttention.turn  # whose angles are in float32
        nets.LlamaAttention.turn = lambda self, x: turn(self, x).to(x.dtype)
        model = zoo.ZOO[name]["full"]
        return zoo.make(model, "cuda"), (zoo.draw(model, int(batch)).cuda(),)
    import architectures
    module, inputs = architectures.seeded(
        architectures.cases(int(batch), 128)[name])
    return module.cuda(), tuple(x.cuda() for x in inputs)


def flat(result) -> torch.Tensor:
    return result if isinstance(result, torch.Tensor) else result[0]


class Slow(BaseException):  # which no backend takes for a failure of its own
    """A backend took too long."""


@torch.no_grad()
def compiled(row: str, args: argparse.Namespace) -> dict:
    """Compiles a row by each backend. Returns calls and what is known of them."""
    from measure import relative_error

    import frit.torch
    module, inputs = build(row)
    expected = flat(module(*inputs)).float().cpu().numpy()
    dtype = DTYPES[args.precision]
    whole = inputs
    module = module.to(dtype)
    inputs = tuple(x.to(dtype) if x.is_floating_point() else x for x in inputs)
    try:
        module(*inputs)
    except RuntimeError:  # it mixes types
        row += " fp32"
        module, inputs = build(row.split()[0])[0], whole
    # In the order that suits PyTorch best.
    theirs, their_inputs = module, inputs
    if any(isinstance(part, torch.nn.BatchNorm2d) for part in module.modules()):
        theirs = copy.deepcopy(module).to(memory_format=torch.channels_last)
        their_inputs = tuple(x.to(memory_format=torch.channels_last)
                             for x in inputs)
    found = {}

    def late(*_):
        raise Slow

    signal.signal(signal.SIGALRM, late)
    for backend in args.backends.split(","):  # no reset, which forgets the last
        mode = MODES[backend]
        used, given = (module, inputs) if backend == "frit" else \
            (theirs, their_inputs)
        fast = used if mode is None else torch.compile(used, dynamic=False,
                                                       **mode)
        start = time.time()
        signal.alarm(max(1, int(args.end - start)))
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                for _ in range(3):
                    made = flat(fast(*given)).float().cpu().numpy()
                    first = found.get(backend, {}).get("first") or \
                        time.time() - start
                    found[backend] = dict(first=first)
            found[backend] |= dict(call=fast, given=given, error=relative_error(made,
                                                                   expected))
            if reasons := [str(w.message) for w in caught
                           if w.category is frit.torch.Fallback]:
                found[backend]["said"] = "; ".join(reasons)[:200]
            elif backend == "frit":
                found[backend] |= dict(module=last("_Compiled").module,
                                       graph=last("_Graph"))
        except Slow:
            found[backend] = dict(said=f"not ready after {args.limit:.0f} s")
        except Exception as error:  # the next backend all the same
            found[backend] = dict(said=f"{type(error).__name__}: "
                                  f"{str(error).strip()[:300]}")
        finally:
            signal.alarm(0)
    return dict(backends=found, inputs=inputs, row=row)


@torch.no_grad()
def timed(made: dict, args: argparse.Namespace) -> str:
    from measure import measure
    line, inputs = f"{made['row']:22}", made["inputs"]
    for backend, found in made["backends"].items():
        line += f" | {backend}"
        if "call" in found:
            def full(_=0, call=found["call"], given=found["given"]):
                return call(*given)
            ms = measure(full, args.seconds)["ms"]
            line += (f" {ms:.3f} ms {found['error']:.1e} "
                     f"first {found['first']:.0f} s "
                     f"host {host_microseconds(full):.0f} us")
        if "module" in found and [
                info.dims for info in found["module"].info.inputs
                ] == [tuple(x.shape) for x in inputs]:
            call = runtime_call(found["module"], inputs)
            line += f" (runtime {host_microseconds(call):.0f}, "
            with only_guards(found["graph"]) as seen:
                line += f"PyTorch {host_microseconds(full):.0f}, "
            kept, = found["graph"].compiled.values()
            line += f"watch {host_microseconds(lambda: kept.changed(*seen)):.0f})"
        if "said" in found:
            line += f" {found['said']}"
    return line


def work(row: str, args: argparse.Namespace) -> None:
    """Compiles, says so, waits for a line, and prints the times."""
    torch.set_num_threads(2)
    try:
        made = compiled(row, args)
        print("ready", flush=True)
        sys.stdin.readline()
        print(timed(made, args), flush=True)
    except Exception as error:
        import traceback
        traceback.print_exc()
        print(f"{row}: {type(error).__name__}: {str(error)[:300]}", flush=True)


#===----------------------------------------------------------------------===#
# All of them
#===----------------------------------------------------------------------===#

def descendants(process: int) -> "list[int]":
    """A process and all that came from it."""
    found = [process]
    for parent in found:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += map(int, children.read_text().split())
            except OSError:  # has ended
                pass
    return found


class Worker:
    def __init__(self, row: str, seconds: float):
        self.row = row
        environment = {"TORCHINDUCTOR_COMPILE_THREADS": "3", **os.environ}
        self.process = subprocess.Popen(
            [sys.executable, *sys.argv, "--limit", f"{seconds:.0f}", "--row",
             row], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env=environment,
            start_new_session=True)

    def send(self, number: int) -> None:
        """Signals its processes; inductor's have sessions of their own."""
        for process in descendants(self.process.pid):
            try:
                os.kill(process, number)
            except ProcessLookupError:  # has ended
                pass

    def finish(self, others: "list[Worker]") -> str:
        """Lets it time while the others stand still; returns its line."""
        for other in others:
            other.send(signal.SIGSTOP)
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline().strip()
        for other in others:
            other.send(signal.SIGCONT)
        self.send(signal.SIGKILL)
        self.process.wait()
        return line or f"{self.row}: ended"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--backends", default="eager,frit,compile")
    parser.add_argument("--precision", default="fp16", choices=DTYPES)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--limit", type=float, default=600)
    parser.add_argument("--after", type=float, default=0,
                        help="time nothing before so many seconds")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.end = time.time() + args.limit
    if args.row:
        return work(args.row, args)
    waiting = [row for row in ROWS if re.search(args.only, row)]
    running: list[Worker] = []
    start, late = time.time(), args.end + 45  # for what is being timed
    while (waiting or running) and time.time() < late:
        while waiting and len(running) < args.jobs and time.time() < args.end:
            running.append(Worker(waiting.pop(0), args.end - time.time()))
        if not running:
            break
        if time.time() < start + args.after:
            time.sleep(0.2)
            continue
        ready, _, _ = select.select([w.process.stdout for w in running], [], [],
                                    1)
        for worker in [w for w in running if w.process.stdout in ready]:
            running.remove(worker)
            said = worker.process.stdout.readline().strip()
            print(worker.finish(running) if said == "ready" else
                  said or f"{worker.row}: ended", flush=True)
    for worker in running:
        worker.send(signal.SIGKILL)
    for row in [w.row for w in running] + waiting:
        print(f"{row}: not ready after {args.limit:.0f} s", flush=True)


if __name__ == "__main__":
    main()
