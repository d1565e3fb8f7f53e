#!/bin/bash
# Compares a model's CUDA target with its CPU target, on the host. The target is
# sm_90a, or FRIT_EMULATED_ARCH.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$1 python=$2 model=$3 tolerance=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
arch=${FRIT_EMULATED_ARCH:-sm_90a}
"$bin/fritc" "$model" -march=x86-64,"$arch" "$@" -o "$work/model.so"
"$bin/fritc" -S "$model" -march="$arch" "$@" -o "$work/model.cu"
"$python" "$here/emulate.py" "$work/model.cu" -o "$work/kernels.so" \
  --arch="${arch//[!0-9]/}"
"$bin/emulate_run" "$work/model.so" "$work/kernels.so" --rtol="$tolerance"
