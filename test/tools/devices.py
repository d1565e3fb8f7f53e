"""Reads devices, whose content has no end, where tools take files: devices.py FOLDER

A device is refused at once, with a message and status 1; pipes and the null device are read.
"""
import json
import os
import shutil
import subprocess
import sys

import onnx

os.chdir(sys.argv[1])
MODEL = sys.argv[2]
shutil.copy(MODEL, "m.onnx")
CPU = ["fritc", "m.onnx", "-march=x86-64", "-o", "m.so"]


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)


def refused(*command, says="it is a device", status=1):
    done = run(command)
    assert done.returncode == status and says in done.stderr, (command, done)
    assert done.stderr.count("\n") == 1 and not os.path.exists("m.so"), (command, done)


refused("fritc", "/dev/zero", "-o", "m.so")
refused(*CPU, "-fprecision=fp16", "-fkeep-fp32=/dev/zero")
refused(*CPU, "-fconst-input=image=@/dev/zero")
refused(*CPU, "-fquantize=int8", "--scales=/dev/zero")
refused(*CPU, "-fquantize=int8", "--calibrate=/dev/zero", says="it is not a regular file")
refused(*CPU, "--train=/dev/zero")
refused(*CPU, "--custom-op=/dev/zero")
refused("fritc", "m.onnx", "-march=sm_90a", "-S", "-o", "m.so", "-ftune-use=/dev/zero")
refused("fritc", "@/dev/zero", status=2)
refused("frit-opt", "/dev/zero")
refused("frit-reduce", "/dev/zero", "--test=true")

# By links, too, and in the folder of a language model.
os.symlink("/dev/zero", "link")
refused(*CPU, "-fquantize=int8", "--scales=link")
os.mkdir("llama")
with open("llama/config.json", "w", encoding="utf-8") as config:
    json.dump({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 8,
               "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1,
               "num_attention_heads": 1, "max_position_embeddings": 8}, config)
with open("llama/model.safetensors.index.json", "w", encoding="utf-8") as index:
    index.write("{}")
os.symlink("/dev/zero", "llama/quantize_config.json")
refused("fritc", "llama", "-march=x86-64", "-o", "m.so", says="weight_map")

# External data of a model that is reduced.
model = onnx.load("m.onnx")
onnx.save(model, "external.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
os.unlink("m.data")
os.symlink("/dev/zero", "m.data")
refused("frit-reduce", "external.onnx", "--test=true")

# Zeros are no message, however many.
with open("zeros.onnx", "wb") as zeros:
    zeros.truncate(1 << 40)
refused("fritc", "zeros.onnx", "-o", "m.so", says="is not an ONNX model")
open("empty", "wb").close()
refused(*CPU, "-fconst-input=image=@empty", says="is neither an .npy file nor a tensor")

done = run([*CPU, "-fprecision=fp16", "-fkeep-fp32=/dev/null"])
assert done.returncode == 0, done
done = run([*CPU, "-fprecision=fp16", "-fkeep-fp32=/dev/stdin"], input="node_linear\n")
assert done.returncode == 0 and done.stderr == "", done
