"""Runs a model as PyTorch users do: eager, and with torch.compile.

    peers.py MODEL PRECISION BATCH WEIGHTS

loads the weights of a file and makes one eager call, to be measured as a process.
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


def narrowed(module: nn.Module, precision: str) -> nn.Module:
    """Copies and converts piece by piece, so that there is never a second float32
    model."""
    dtype = DTYPES[precision]
    converted = {}
    for old in itertools.chain(module.parameters(), module.buffers()):
        new = old.detach().to(dtype if old.is_floating_point() else old.dtype,
                              copy=True)
        converted[id(old)] = (nn.Parameter(new, old.requires_grad)
                              if isinstance(old, nn.Parameter) else new)
    return copy.deepcopy(module, converted)


def arrange(module: nn.Module, inputs: list[torch.Tensor], precision: str):
    """Both on the device, in the memory order that suits PyTorch best."""
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    dtype = DTYPES[precision]
    module = module.to("cuda")
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
    torch.backends.cudnn.benchmark = True
    module, inputs = arrange(narrowed(module, precision), inputs, precision)
    mode = BACKENDS[backend]
    f = torch.compile(module, mode=mode, dynamic=False) if mode else module
    with torch.inference_mode():
        start = time.time()
        # Widen on the host: device memory would count as the peer's.
        first = f(inputs[0]).cpu().float()
        result = dict(compile_s=round(time.time() - start, 2),
                      error=relative_error(first.numpy(), expected))
        if timed:
            result |= measure(lambda i: f(inputs[i % len(inputs)]))
    result |= dict(peak_MiB=memory.mebibytes(
        torch.cuda.max_memory_allocated() - held))
    return result


def process(module: nn.Module, name: str, precision: str, batch: int,
            weights: Path) -> dict:
    """Time and peak device memory of a process that loads the model's weights in the row's
    precision from a file and calls it once, eagerly,
    without cuDNN's autotuning."""
    dtype = DTYPES[precision]
    torch.save({key: value.to("cpu", dtype if value.is_floating_point()
                              else value.dtype)
                for key, value in module.state_dict().items()}, weights)
    start = time.time()
    most = memory.of_process([sys.executable, __file__, name, precision,
                              str(batch), str(weights)])
    seconds = time.time() - start
    weights.unlink()
    return dict(first_output_s=round(seconds, 2),
                device_peak_MiB=memory.mebibytes(most))


def main() -> None:
    sys.path.append(str(Path(__file__).parent.parent / "models"))
    import zoo
    name, precision, batch, weights = sys.argv[1:]
    model = zoo.ZOO[name]["full"]
    with torch.device("meta"):
        module = model.build().eval()
    module.load_state_dict(torch.load(weights, mmap=True), assign=True)
    module, inputs = arrange(module, [zoo.draw(model, int(batch))], precision)
    with torch.inference_mode():
        module(inputs[0]).cpu()


if __name__ == "__main__":
    main()
