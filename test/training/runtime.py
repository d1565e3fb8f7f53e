"""A training artifact in Python, by the package frit.

    step = Step("step.so")                    # and its peer eval_step
    loss = step.train(image=x, labels=y)["loss"]
    step.write(learning_rate=np.float32(1e-3))
    weights = step.read()                     # every state by name

The package is the one that PYTHONPATH has, or that of build/dev; with
FRIT_RUNTIME, which names the runtime as a shared library, the one in
tools/python.
"""
import importlib.util
import os
import sys
import warnings
from pathlib import Path

if not importlib.util.find_spec("frit"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / (
        "tools/python" if "FRIT_RUNTIME" in os.environ else "build/dev/python")))
import frit  # noqa: E402
from frit._abi import check  # noqa: E402
from frit._abi import lib  # noqa: E402
from frit._arrays import describe  # noqa: E402
from frit._calls import Tensors  # noqa: E402

warnings.simplefilter("always", frit.RuntimeRemark)
NO_CUDA_GRAPH, DETERMINISTIC = 1, 16  # flags of a Step


class Step:
    """The functions of a training artifact. They share their state.

    The runtime's remarks go to stderr."""

    def __init__(self, artifact, device="", flags=0):
        self.module = frit.load(
            artifact, device=device, deterministic=bool(flags & DETERMINISTIC),
            disable=["cuda_graph"] if flags & NO_CUDA_GRAPH else [])
        self.evaluation = self.module.function("eval_step")
        # Before another has memory: the peer shares that of the first.
        self.contexts = [m._caller.state_context() for m in (self.module,
                                                      self.evaluation)]

    def train(self, **inputs):
        return self.module.run(inputs)

    def evaluate(self, **inputs):
        return self.evaluation.run(inputs)

    def read(self, *names):
        return self.module.read_state(*names)

    def write(self, **arrays):
        self.module.write_state(arrays)

    def enqueue(self, inputs):
        """Enqueues a training step on `stream`, on inputs in device memory,
        PyTorch's tensors by name. Its outputs are not asked for."""
        described = [describe(t, None) for t in inputs.values()]
        tensors = Tensors([name.encode() for name in inputs],
                          [(d.dtype, d.shape, d.device) for d in described])
        tensors.point([d.pointer for d in described])
        check(lib.frit_run_async(self.contexts[0].handle, tensors.array,
                                 tensors.count, None, 0))
        self.module._handles.remarks.show()

    def profile(self, inputs):
        """Returns (microseconds, kind, kernel, node) of a call's steps, longest
        first; the inputs as in `enqueue`."""
        steps = self.module.profile(**{n: t.cpu().numpy()
                                       for n, t in inputs.items()})
        return sorted(((round(s.duration, 1), s.kind, s.kernel, s.node[:100])
                       for s in steps), reverse=True)

    def stream(self):
        """The contexts' CUstream."""
        return lib.frit_context_stream(self.contexts[0].handle)

    def group_id(self):
        """Returns the id of a new group of ranks."""
        return self.module.group_id()

    def join(self, rank, size, group):
        """Makes training steps average over the ranks of a group."""
        self.module.join(rank, size, group)

    def close(self):
        self.module.close()
