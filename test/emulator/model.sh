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
export FRIT_NVRTC=$bin/../lib/libemulated_nvrtc.so
export FRIT_EMULATOR_HEADERS=${FRIT_EMULATOR_HEADERS:-$bin/../emulator/headers}
"$bin/fritc" "$model" -march=x86-64,"$arch" "$@" -o "$work/model.so"
"$python" "$here/emulate.py" "$work/model.so" -o "$work/kernels.so" \
  --arch="${arch//[!0-9]/}"
"$bin/emulate_run" "$work/model.so" "$work/kernels.so" --rtol="$tolerance"
