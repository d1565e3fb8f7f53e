#!/bin/bash
# Compares a model's CUDA target with its CPU target, on the host:
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$1 python=$2 model=$3 tolerance=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bin/fritc" "$model" -march=x86-64,sm_90a "$@" -o "$work/model.so"
"$bin/fritc" -S "$model" -march=sm_90a "$@" -o "$work/model.cu"
"$python" "$here/emulate.py" "$work/model.cu" -o "$work/kernels.so"
"$bin/emulate_run" "$work/model.so" "$work/kernels.so" --rtol="$tolerance"
