#!/bin/bash
# Exports the example, compiles it and compares it with PyTorch:
#   run.sh FOLDER [-march=sm_90a,x86-64-v3] [--custom-op=… and other options]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1
shift
"${PYTHON:-python3}" "$here/export.py" "$out/model.onnx" "$out/x.npy" "$out/expected.npz"
fritc "$out/model.onnx" --custom-op="$here/softcap.json" --custom-op="$here/scan.json" \
  -o "$out/model.so" "$@"
frit-run "$out/model.so" --input=x=@"$out/x.npy" --compare="$out/expected.npz"
