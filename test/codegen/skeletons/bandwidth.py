#!/usr/bin/env python3
"""Compares the bandwidth of emitted memory-bound kernels with that of a copy.

Usage: bandwidth.py --frit-opt=build/dev/bin/frit-opt -o build/bandwidth.cu

Writes a program that holds the kernels frit emits for a table of fusions. Built
with nvcc on a machine with a GPU (gpu.sh does), it prints for each the time of
a launch inside a CUDA graph, the bytes of its operands over that time, and what
part this is of the rate of a copy in the same run: of a large one, and of one
of as many bytes, which has to start and to end as well. Launches overlap as
frit's do: each starts ahead of the end of the one before and waits for it.
Arguments choose rows by a substring of their names.
"""

import argparse
import re

from bandwidth_cases import GROUPS
from fusions import print_cuda

PROGRAM = r"""
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {
void check(cudaError_t error) {
  if (error == cudaSuccess)
    return;
  fprintf(stderr, "%s\n", cudaGetErrorString(error));
  exit(1);
}

/// Values in [-1, 1), or indices into a table.
__global__ void fill(unsigned char *at, size_t count, char kind) {
  size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < count; i += size_t(gridDim.x) * blockDim.x) {
    unsigned hash = unsigned(i) * 2654435761u;
    hash = (hash ^ hash >> 15) * 2246822519u;
    hash ^= hash >> 13;
    float value = int(hash & 0xffff) / 32768.0f - 1.0f;
    if (kind == 'h')
      frit::store(reinterpret_cast<frit::f16 *>(at)[i], value);
    else if (kind == 'b')
      frit::store(reinterpret_cast<frit::bf16 *>(at)[i], value);
    else if (kind == 'f')
      reinterpret_cast<float *>(at)[i] = value;
    else
      reinterpret_cast<long long *>(at)[i] = hash % 30522;
  }
}

struct Parameter {
  size_t count;
  char kind;
  size_t bytes() const {
    return count * (kind == 'f' ? 4 : kind == 'l' ? 8 : 2);
  }
};
struct Row {
  const char *name, *schedule;
  const void *kernel;
  dim3 grid, block;
  size_t shared, moved;
  std::vector<Parameter> parameters;
  std::vector<uint64_t> scalars;
};

/// Launches as the runtime does: with PDL, kernels wait for their inputs.
void launch(const void *kernel, dim3 grid, dim3 block, void **arguments,
            size_t shared, cudaStream_t stream) {
  cudaLaunchAttribute early;
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  check(cudaLaunchKernelExC(&config, kernel, arguments));
}

/// Milliseconds per `run`, measured in a graph of many.
template <class Run> float timeOf(size_t moved, const Run &run) {
  int times = int(std::max(1.0, 400e-6 / (moved / 4e12 + 2e-6)));
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  check(cudaStreamCreate(&stream));
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < times; ++i)
    run(stream);
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&executable, graph, 0));
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start));
  check(cudaEventCreate(&stop));
  std::vector<float> all;
  for (int i = 0; i < 14; ++i) {
    check(cudaEventRecord(start, stream));
    check(cudaGraphLaunch(executable, stream));
    check(cudaEventRecord(stop, stream));
    check(cudaEventSynchronize(stop));
    float milliseconds;
    check(cudaEventElapsedTime(&milliseconds, start, stop));
    if (i >= 3)
      all.push_back(milliseconds / times);
  }
  check(cudaGraphExecDestroy(executable));
  check(cudaGraphDestroy(graph));
  check(cudaStreamDestroy(stream));
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

/// Faster inside a graph than the driver's own copy.
__global__ void copy(const uint4 *from, uint4 *to, unsigned count) {
  frit::pdlTrigger();
  frit::pdlWait();
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    to[i] = from[i];
}

/// Bytes per second of a copy that reads and writes `bytes` in all.
double copyRate(size_t bytes) {
  uint4 *from, *to;
  check(cudaMalloc(&from, bytes / 2));
  check(cudaMalloc(&to, bytes / 2));
  fill<<<1024, 256>>>(reinterpret_cast<unsigned char *>(from), bytes / 8, 'f');
  unsigned count = unsigned(bytes / 32);
  void *arguments[] = {&from, &to, &count};
  float time = timeOf(bytes, [&](cudaStream_t stream) {
    launch(reinterpret_cast<const void *>(&copy), (count + 255) / 256, 256,
           arguments, 0, stream);
  });
  check(cudaFree(from));
  check(cudaFree(to));
  return bytes / (time * 1e-3);
}

void measure(const Row &row, double copy) {
  std::vector<unsigned char *> buffers;
  std::vector<void *> arguments;
  for (const Parameter &parameter : row.parameters) {
    unsigned char *&buffer = buffers.emplace_back();
    check(cudaMalloc(&buffer, parameter.bytes()));
    fill<<<1024, 256>>>(buffer, parameter.count, parameter.kind);
  }
  for (unsigned char *&buffer : buffers)
    arguments.push_back(&buffer);
  for (const uint64_t &scalar : row.scalars)
    arguments.push_back(const_cast<uint64_t *>(&scalar));
  check(cudaDeviceSynchronize());
  if (row.shared > 48 * 1024)
    check(cudaFuncSetAttribute(row.kernel,
                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                               int(row.shared)));
  float time = timeOf(row.moved, [&](cudaStream_t stream) {
    launch(row.kernel, row.grid, row.block, arguments.data(), row.shared,
           stream);
  });
  double rate = row.moved / (time * 1e-3);
  for (unsigned char *buffer : buffers)
    check(cudaFree(buffer));
  printf("%-58s %9.2f us %7.0f GB/s %5.2f %5.2f  %s\n", row.name, time * 1e3,
         rate * 1e-9, rate / copy, rate / copyRate(row.moved), row.schedule);
}
} // namespace

int main(int argc, char **argv) {
  std::vector<Row> rows = {
@ROWS@  };
  double copy = copyRate(size_t(1) << 30);
  printf("copy %.0f GB/s; of it, and of a copy of as many bytes:\n",
         copy * 1e-9);
  for (const Row &row : rows) {
    bool chosen = argc < 2;
    for (int i = 1; i < argc; ++i)
      chosen |= strstr(row.name, argv[i]) != nullptr;
    if (chosen)
      measure(row, copy);
  }
}
"""

KINDS = {"f16": "h", "bf16": "b", "f32": "f", "i64": "l"}


def row_text(fusion, name, launch):
    schedule, grid, block, shared, scalars = launch
    tensors = [*fusion.inputs, *(fusion.types[v] for v in fusion.outputs)]
    parameters = ", ".join(f"{{{t.count}u, '{KINDS[t.element]}'}}"
                           for t in tensors)
    return (f'      {{"{fusion.name}", "{schedule}",\n       '
            f'reinterpret_cast<const void *>(&{name}),\n       '
            f'dim3({grid}), dim3({block}), {shared}, {fusion.moved}u,\n       '
            f'{{{parameters}}}, {{{", ".join(map(str, scalars))}}}}},\n')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--frit-opt", required=True)
    parser.add_argument("--only", help="a regular expression of row names")
    parser.add_argument("-o", required=True)
    args = parser.parse_args()
    fusions = []
    for group, cases in GROUPS.items():
        for fusion in cases():
            fusion.name = f"{group}: {fusion.name}"
            if not args.only or re.search(args.only, fusion.name):
                fusions.append(fusion)
    text, launches = print_cuda(args.frit_opt, fusions)
    rows = ""
    for at, (fusion, launch) in enumerate(zip(fusions, launches)):
        schedule, grid, block, shared, scalars = launch
        rows += row_text(fusion, f"k{at}", (
            schedule, grid.replace("x", ", "),
            block, shared or 0, scalars))
    with open(args.o, "w") as file:
        file.write(text + PROGRAM.replace("@ROWS@", rows))


if __name__ == "__main__":
    main()
