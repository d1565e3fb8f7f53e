"""What a PyTorch user runs today: eager, and what torch.compile makes of it.

    peers.py MODEL PRECISION BATCH     one eager call and nothing else, so that
                                       somebody can watch this process's memory
"""
import copy
import gc
import itertools
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

import memory
from measure import measure, relative_error

BACKENDS = {
    "eager": None,
    "compile": "default",
    "graph": "reduce-overhead",  # torch.compile's kernels in a CUDA graph
    "autotune": "max-autotune",
}
DTYPES = {"fp32": torch.float32, "tf32": torch.float32,
          "fp16": torch.float16, "bf16": torch.bfloat16}


def prepare(module: nn.Module, inputs: list[torch.Tensor], precision: str):
    """A copy of the module, and the inputs, in the precision and the memory
    order that suit PyTorch best."""
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    dtype = DTYPES[precision]
    # Converted one by one, so that no second copy in float32 is ever there.
    converted = {}
    for old in itertools.chain(module.parameters(), module.buffers()):
        new = old.detach().to(dtype if old.is_floating_point() else old.dtype,
                              copy=True)
        converted[id(old)] = (nn.Parameter(new, old.requires_grad)
                              if isinstance(old, nn.Parameter) else new)
    module = copy.deepcopy(module, converted)
    inputs = [x.to("cuda", dtype if x.is_floating_point() else x.dtype)
              for x in inputs]
    if any(isinstance(part, nn.BatchNorm2d) for part in module.modules()):
        module = module.to(memory_format=torch.channels_last)
        inputs = [x.to(memory_format=torch.channels_last) for x in inputs]
    return module, inputs


def run(backend: str, module: nn.Module, inputs: list[torch.Tensor],
        precision: str, expected: np.ndarray, timed: bool) -> dict:
    """`expected` answers the first input. What torch.compile takes, and cuDNN's
    trials of its algorithms, fall into the first call."""
    torch._dynamo.reset()
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated()  # the bench's own, not the peer's
    module, inputs = prepare(module, inputs, precision)
    mode = BACKENDS[backend]
    f = torch.compile(module, mode=mode, dynamic=False) if mode else module
    with torch.inference_mode():
        start = time.time()
        # Widened on the host: on the device that would count as the peer's.
        first = f(inputs[0]).cpu().float()
        result = dict(compile_s=round(time.time() - start, 2),
                      error=relative_error(first.numpy(), expected))
        if timed:
            result |= measure(lambda i: f(inputs[i % len(inputs)]))
    result |= dict(peak_MiB=memory.mebibytes(
        torch.cuda.max_memory_allocated() - held))
    return result


def process_memory(name: str, precision: str, batch: int) -> int | None:
    """Bytes that a process has at most which loads a model and calls it once,
    eagerly; by the driver's count."""
    return memory.of_process([sys.executable, __file__, name, precision,
                              str(batch)])


def main() -> None:
    sys.path.append(str(Path(__file__).parent.parent / "models"))
    import zoo
    name, precision, batch = sys.argv[1:]
    model = zoo.ZOO[name]["full"]
    # The weights reach the device in the precision that they have there.
    module, inputs = prepare(zoo.make(model), [zoo.draw(model, int(batch))],
                             precision)
    torch.backends.cudnn.benchmark = False  # its trials take more
    module.to("cuda")
    with torch.inference_mode():
        module(inputs[0]).cpu()


if __name__ == "__main__":
    main()
