"""Exports a network in each of the ways that exports.test reads, and writes
what PyTorch trains it to.

    make.py FOLDER

needs torch and onnxscript, and was run with PyTorch 2.15. The statistics and
weights of the norms differ from each other, so that no exporter merges them.
"""
import copy
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import torch

warnings.filterwarnings("ignore")
folder = Path(sys.argv[1])


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 4, 3, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(4)
        self.conv2 = torch.nn.Conv2d(4, 4, 3)
        self.bn2 = torch.nn.BatchNorm2d(4)
        self.fc = torch.nn.Linear(4, 10)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.bn2(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


torch.manual_seed(0)
net = Net()
with torch.no_grad():
    for norm in (net.bn1, net.bn2):
        for tensor in (norm.weight, norm.running_var):
            tensor.uniform_(0.5, 2)
        for tensor in (norm.bias, norm.running_mean):
            tensor.normal_()
example = torch.randn(2, 3, 8, 8)
preserve = torch.onnx.TrainingMode.PRESERVE
names = {"input_names": ["image"], "output_names": ["logits"]}
for name, options in {
        "folded_script": dict(dynamo=False),
        "folded": dict(dynamo=True, external_data=False),
        "script": dict(dynamo=False, training=preserve, do_constant_folding=False),
        "plain": dict(dynamo=True, optimize=False, external_data=False),
}.items():
    torch.onnx.export(net.eval(), (example,), folder / f"{name}.onnx", **names, **options)

# The second norm keeps its running statistics.
frozen = copy.deepcopy(net).train()
frozen.bn2.eval()
torch.onnx.export(copy.deepcopy(frozen), (example,), folder / "frozen.onnx", **names, dynamo=True, optimize=False, external_data=False)
# With TRAINING the older exporter would put all of the network in training mode.
# It runs the network, which moves the statistics of the first norm.
torch.onnx.export(copy.deepcopy(frozen), (example,), folder / "frozen_script.onnx", **names, dynamo=False,
                  do_constant_folding=False, training=preserve)
script = onnx.load(folder / "frozen_script.onnx")
for tensor in script.graph.initializer:
    tensor.CopyFrom(onnx.numpy_helper.from_array(frozen.state_dict()[tensor.name].numpy(), tensor.name))
onnx.save(script, folder / "frozen_script.onnx")


def train(net, name):
    """Three steps of SGD with momentum, and evaluation after them."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    random = np.random.default_rng(7)
    expected = {}
    for step in range(3):
        image = random.standard_normal((2, 3, 8, 8)).astype(np.float32)
        labels = random.integers(0, 10, 2)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(torch.from_numpy(image)), torch.from_numpy(labels))
        loss.backward()
        optimizer.step()
        expected |= {f"image{step}": image, f"labels{step}": labels, f"loss{step}": loss.detach().numpy()}
    with torch.no_grad():
        expected["logits"] = net.eval()(torch.from_numpy(image)).numpy()
    expected |= {k: v.numpy() for k, v in net.state_dict().items() if "num_batches" not in k}
    np.savez_compressed(folder / f"{name}.npz", **expected)


train(frozen, "frozen")
train(net.train(), "expected")
