"""light_resnet50 of the onnx package, on its stored output: light.py WORK

The graph generates its weights, and its input follows the package's convention for
these models: the numbers 0 to n-1 over n, in the input's shape.
"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import numpy_helper

work = pathlib.Path(sys.argv[1])
work.mkdir(parents=True, exist_ok=True)
light = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"
model = light / "light_resnet50.onnx"
graph = onnx.load(model).graph
weights = {i.name for i in graph.initializer}
(shape,) = [[d.dim_value for d in i.type.tensor_type.shape.dim]
            for i in graph.input if i.name not in weights]
size = int(np.prod(shape))
image = (np.arange(size, dtype=np.float32) / size).reshape(shape)
np.save(work / "image.npy", image)
stored = onnx.TensorProto()
stored.ParseFromString((light / "light_resnet50_output_0.pb").read_bytes())
np.save(work / "expected.npy", numpy_helper.to_array(stored))
for command in (
    ["fritc", str(model), "-march=x86-64-v3", "-o", str(work / "light.so")],
    ["frit-run", str(work / "light.so"), "--device=cpu",
     f"--input=@{work / 'image.npy'}", f"--compare={work / 'expected.npy'}",
     "--l2=1e-4"],
):
    subprocess.run(command, check=True)
