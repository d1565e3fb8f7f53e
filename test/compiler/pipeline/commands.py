"""What the scripts of this folder share."""
import subprocess
import sys

import onnx
from onnx import helper


def run(*command, **more):
    """Runs a command; ends the script with what it printed if it fails."""
    done = subprocess.run(list(map(str, command)), capture_output=True,
                          text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
    return done


def save(model, path, name, opset):
    """Writes a model of `nodes` and `weights`. `inputs` and `want` are arrays by
    name, from which inputs and outputs have their types."""
    def info(name, array):
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        return helper.make_tensor_value_info(name, kind, array.shape)
    graph = helper.make_graph(
        model.nodes, name, [info(*i) for i in model.inputs.items()],
        [info(*o) for o in model.want.items()], model.weights)
    onnx.save(helper.make_model(
        graph, ir_version=11, opset_imports=[helper.make_opsetid("", opset)]),
        path)
