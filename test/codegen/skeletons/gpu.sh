#!/bin/bash
# Builds the checks of the skeletons with nvcc and runs them on this machine's
# GPU. With --bench they are timed too, and so are the emitted kernels of
# build/bandwidth.cu, which bandwidth.py makes, where it is there. With
# --sanitize compute-sanitizer watches their accesses to memory. Exits with 77,
# "skipped", without nvcc or a GPU.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null && nvidia-smi -L >/dev/null 2>&1 || {
  echo "skipped: no nvcc or no GPU"
  exit 77
}
arch=sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader |
  head -1 | tr -d .)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/frit"
ln -s "$(cd "$here/../../../codegen/cuda" && pwd)"/*/*.cuh "$work/frit"
# The first line of a check says what it checks, and where it needs WGMMA.
names=$(cd "$here" && grep -l '^//===- [a-z0-9_]*\.cu - Checks ' *.cu | sed 's/\.cu$//')
if [ "$arch" = sm_90 ]; then
  arch=sm_90a # architecture-specific code needs the suffix
else
  names=$(cd "$here" && for name in $names; do
    head -1 "$name.cu" | grep -q ' on sm_90a ' || echo "$name"
  done)
fi
# The layouts that kernels share with the host are constexpr functions.
build() { nvcc -std=c++20 -O3 --expt-relaxed-constexpr -I"$work" "$@"; }
pids=()
for name in $names; do
  build -gencode "arch=compute_${arch#sm_},code=$arch" \
    -I"$here/../../../runtime/include" "$here/$name.cu" -o "$work/$name" &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid"; done
watch=()
if [ "${1:-}" = --sanitize ]; then
  shift
  watch=(compute-sanitizer --error-exitcode 1)
fi
status=0
for name in $names; do
  echo "== $name"
  "${watch[@]}" "$work/$name" "$@" || status=1
done
emitted=$here/../../../build/bandwidth.cu
if [ "${1:-}" = --bench ] && [ -f "$emitted" ]; then
  build -arch="$arch" "$emitted" -o "$work/bandwidth"
  echo "== emitted kernels"
  "$work/bandwidth"
fi
exit $status
