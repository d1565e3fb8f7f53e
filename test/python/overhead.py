"""Times what a call of torch.compile(backend="frit") takes on the host, beside a
backend that does nothing.

    overhead.py [--device cuda|cpu] [--layers 1,60] [--repeats N]

needs PYTHONPATH and FRIT_RUNTIME, or the installed package. Models are chains of
small linear layers, each with two parameters. Prints microseconds of a call, the
least of many:

    PyTorch   with a backend that returns the same tensor: PyTorch's guards
    frit      with frit
    runtime   of the C interface alone, called by ctypes
    ours      frit - PyTorch - runtime: what the package adds

    beyond   frit - runtime

by default; "modules stay", without guards of modules and with "freeze", which does
not look whether parameters change; and "inputs only", a function with guards of
its inputs alone, whose parameters are in PyTorch's graph.
"""
import argparse
import gc
import time

import torch

import frit.torch


def microseconds(calls, repeats: int, count: int = 20) -> "list[float]":
    """The host's times for calls, in turns, few of which are in a GPU's queue."""
    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    best = [1e9 for _ in calls]
    for _ in range(repeats):
        for index, call in enumerate(calls):
            call()
            wait()
            start = time.perf_counter()
            for _ in range(count):
                call()
            best[index] = min(best[index],
                              (time.perf_counter() - start) / count)
    wait()
    return [seconds * 1e6 for seconds in best]


def runtime_call(graph, x):
    """A call of a graph's module, without Python around it."""
    compiled, = graph.compiled.values()
    results = compiled.module.call_list([x])
    context = compiled.caller.free[-1]
    pointers, run = context.repeated.pointers, context.repeated.run

    def call():
        assert run(context.handle, *pointers) == 0
        return results  # where it writes to
    return call


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available()
                        else "cpu")
    parser.add_argument("--layers", default="1,60")
    parser.add_argument("--repeats", type=int, default=200)
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'parameters':11} {'said':14} {'PyTorch':>8} {'frit':>8} "
          f"{'runtime':>8} {'ours':>8} {'beyond':>8}   us")
    skip = torch.compiler.skip_guard_on_all_nn_modules_unsafe
    for layers in map(int, args.layers.split(",")):
        net = torch.nn.Sequential(*(torch.nn.Linear(16, 16)
                                    for _ in range(layers))).to(args.device)
        x = torch.randn(8, 16, device=args.device)
        for name, subject, guards, own, inside in (
                ("nothing", net, {}, {}, False),
                ("modules stay", net, {"guard_filter_fn": skip},
                 {"freeze": True}, False),
                ("inputs only", lambda x: net(x),
                 {"guard_filter_fn": frit.torch.inputs_only}, {"freeze": True},
                 True)):
            torch._dynamo.reset()
            with torch.no_grad(), torch._dynamo.config.patch(
                    install_free_tensors=inside):
                nothing = torch.compile(subject, options={**guards},
                                        dynamic=False, backend=lambda *_, **__:
                                        lambda *_: (x,))
                fast = torch.compile(subject, backend="frit", dynamic=False,
                                     options={**guards, **own})
                for call in nothing, fast, fast:
                    call(x)
            with torch.no_grad():
                graph = [o for o in gc.get_objects()
                         if type(o) is frit.torch._Graph][-1]
                floor, ours = microseconds(
                    [lambda: nothing(x), lambda: fast(x)], args.repeats)
                runtime, = microseconds([runtime_call(graph, x)], args.repeats)
            print(f"{2 * layers:<11} {name:14} {floor:8.1f} {ours:8.1f} "
                  f"{runtime:8.1f} {ours - floor - runtime:8.1f} "
                  f"{ours - runtime:8.1f}")


if __name__ == "__main__":
    main()
