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

import numpy as np

from fusions import (Fusion, Tensor, depthwise, layer_norm, normalize, permute,
                     pool, print_cuda, softmax)

def maps():
    big = Tensor("f16", 65536, 1024)
    f = Fusion("relu f16", big)
    yield f.give(f.op("relu", "%x0"))
    f = Fusion("add f16, 2 inputs", big, big)
    yield f.give(f.op("add", "%x0", "%x1"))
    f = Fusion("add add relu f16, 3 inputs", big, big, big)
    yield f.give(f.op("relu", f.op("add", f.op("add", "%x0", "%x1"), "%x2")))
    f = Fusion("add f32, 2 inputs", big.like("f32"), big.like("f32"))
    yield f.give(f.op("add", "%x0", "%x1"))
    f = Fusion("bias of the last dimension, relu f16", big, Tensor("f16", 1024))
    yield f.give(f.op("relu", f.op("add", "%x0", "%x1")))
    image = Tensor("f16", 128, 256, 56, 56)
    f = Fusion("bias of a middle dimension f16", image,
               Tensor("f16", 256, 1, 1))
    yield f.give(f.op("add", "%x0", "%x1"))
    f = Fusion("gelu f16", big)
    yield f.give(f.op("gelu", "%x0"))
    f = Fusion("gelu by tanh f16", big)
    yield f.give(f.op("gelu", "%x0", attributes='approximate = "tanh"'))
    f = Fusion("cast f16 to f32", big)
    yield f.give(f.cast("%x0", "f32"))
    f = Fusion("cast f32 to f16", big.like("f32"))
    yield f.give(f.cast("%x0", "f16"))
    f = Fusion("gelu f16 1x384x4096", Tensor("f16", 1, 384, 4096))
    yield f.give(f.op("gelu", "%x0"))


def rows():
    f = Fusion("row sum f32 65536x4096", Tensor("f32", 65536, 4096))
    yield f.give(f.reduce("%x0", "sum", 1))
    f = Fusion("row maximum f16 16384x12000", Tensor("f16", 16384, 12000))
    yield f.give(f.reduce("%x0", "max", 1))
    for n, m in ((2 << 20, 64), (196608, 384), (131072, 1024), (75648, 197),
                 (32768, 4096), (8192, 16384), (4096, 50304)):
        yield softmax(f"softmax f16 {n}x{m}", Tensor("f16", n, m))
    # Rows that start in the middle of a vector.
    for n, m in ((75648, 198), (75648, 196), (150000, 99), (300007, 49),
                 (1000003, 17), (30011, 517), (16387, 1001)):
        yield softmax(f"softmax f16 {n}x{m}", Tensor("f16", n, m))
    for m in (197, 198):
        yield softmax(f"softmax f32 37825x{m}", Tensor("f32", 37825, m))
    for m in (196, 197, 198, 200):
        x = Tensor("f16", 75648, m)
        yield layer_norm(f"layer norm f16 75648x{m}", x)
        yield layer_norm(f"residual layer norm f16 75648x{m}", x,
                         residual=True)
    for n, m in ((300007, 49), (150000, 99), (30011, 517), (16387, 1001)):
        yield layer_norm(f"layer norm f16 {n}x{m}", Tensor("f16", n, m))
    yield layer_norm("layer norm f32 37825x197", Tensor("f32", 37825, 197))
    for kind, x in (("max", Tensor("f16", 151303, 197)),
                    ("sum", Tensor("f32", 75648, 197))):
        f = Fusion(f"row {kind} {x.element} {x.shape[0]}x197", x)
        yield f.give(f.reduce("%x0", kind, 1))
    yield softmax("softmax bf16 4096x50304", Tensor("bf16", 4096, 50304))
    yield softmax("softmax f32 4096x50304", Tensor("f32", 4096, 50304))
    yield softmax("masked softmax f16 196608x384", Tensor("f16", 32, 6144, 384),
                  2, Tensor("f16", 32, 1, 384))
    for n, m in ((131072, 768), (131072, 1024), (32768, 4096), (8192, 16384)):
        yield layer_norm(f"layer norm f16 {n}x{m}", Tensor("f16", n, m))
    yield layer_norm("layer norm f32 65536x1024", Tensor("f32", 65536, 1024))
    yield layer_norm("residual layer norm f16 131072x1024",
                     Tensor("f16", 131072, 1024), residual=True)
    x = Tensor("f16", 32768, 4096)
    f = Fusion("RMS norm f16 32768x4096", x, Tensor("f32", 4096))
    yield f.give(normalize(f, "%x0", 1, "%x1", None, mean=False))
    for n, m in ((197, 768), (384, 1024), (1024, 768), (12288, 1024)):
        yield layer_norm(f"layer norm f16 {n}x{m}", Tensor("f16", n, m))


def transposes():
    half = lambda *shape: Tensor("f16", *shape)
    full = lambda *shape: Tensor("f32", *shape)
    yield permute("f32 16384x8192", full(16384, 8192), 1, 0)
    yield permute("f16 16384x8192", half(16384, 8192), 1, 0)
    yield permute("f16 16381x8191", half(16381, 8191), 1, 0)
    yield permute("NCHW to NHWC f16 256x256x56x56", half(256, 256, 56, 56),
                  0, 2, 3, 1)
    yield permute("NHWC to NCHW f16 256x56x56x256", half(256, 56, 56, 256),
                  0, 3, 1, 2)
    yield permute("NCHW to NHWC f16 256x1024x7x7", half(256, 1024, 7, 7),
                  0, 2, 3, 1)
    yield permute("NHWC to NCHW f16 256x7x7x1024", half(256, 7, 7, 1024),
                  0, 3, 1, 2)
    yield permute("NCHW to NHWC f32 128x1024x7x7", full(128, 1024, 7, 7),
                  0, 2, 3, 1)
    yield permute("NCHW to NHWC f16 96x129x97x97", half(96, 129, 97, 97),
                  0, 2, 3, 1)
    for n, channels in ((60, 201), (80, 161), (48, 257), (40, 289), (38, 319)):
        yield permute(f"NCHW to NHWC f16 {n}x{channels}x97x97",
                      half(n, channels, 97, 97), 0, 2, 3, 1)
    yield permute("021 f16 512x197x769", half(512, 197, 769), 0, 2, 1)
    yield permute("021 f16 64x1021x1021", half(64, 1021, 1021), 0, 2, 1)
    yield permute("heads f16 64x512x16x64", half(64, 512, 16, 64), 0, 2, 1, 3)
    yield permute("reversed f16 512x384x520", half(512, 384, 520), 2, 1, 0)
    yield permute("reversed f32 512x384x260", full(512, 384, 260), 2, 1, 0)
    for n, rows, cols, run in ((64, 512, 64, 33), (64, 511, 63, 33),
                               (128, 512, 64, 17), (48, 512, 64, 49),
                               (32, 512, 64, 65), (12, 512, 64, 197),
                               (8, 128, 64, 1001), (96, 512, 512, 3),
                               (64, 512, 64, 34), (64, 512, 64, 36),
                               (24, 512, 64, 100)):
        yield permute(f"0213 f16 {n}x{rows}x{cols}x{run}",
                      half(n, rows, cols, run), 0, 2, 1, 3)
    for run in (33, 34, 49):
        yield permute(f"0213 f32 32x512x64x{run}", full(32, 512, 64, run),
                      0, 2, 1, 3)
    for n in (1, 32, 128):
        yield permute(f"image to NHWC f32 to f16 {n}x3x224x224",
                      full(n, 3, 224, 224), 0, 2, 3, 1, to="f16")
    yield permute("image to NHWC f32 512x3x224x224", full(512, 3, 224, 224),
                  0, 2, 3, 1)
    yield permute("image to NCHW f16 512x224x224x3", half(512, 224, 224, 3),
                  0, 3, 1, 2)
    yield permute("f16 8388608x5", half(8388608, 5), 1, 0)
    yield permute("f16 5x8388608", half(5, 8388608), 1, 0)
    yield permute("f16 8388608x6", half(8388608, 6), 1, 0)
    yield permute("f16 6x8388608", half(6, 8388608), 1, 0)
    yield permute("f16 4194304x7", half(4194304, 7), 1, 0)
    yield permute("f16 1048576x25", half(1048576, 25), 1, 0)


def image_padded():
    for n in (1, 32, 128):
        f = Fusion(f"image to NHWC, 8 channels, f32 to f16 {n}x3x224x224",
                   Tensor("f32", n, 3, 224, 224))
        value = f.op("transpose", f.cast("%x0", "f16"),
                     to=Tensor("f16", n, 224, 224, 3),
                     attributes="perm = array<i64: 0, 2, 3, 1>",
                     run=lambda a: a.transpose(0, 2, 3, 1))
        yield f.give(f.op("pad", value, to=Tensor("f16", n, 224, 224, 8),
                          run=lambda a: np.pad(a, [(0, 0)] * 3 + [(0, 5)]),
                          attributes="low = array<i64: 0, 0, 0, 0>, "
                          "high = array<i64: 0, 0, 0, 5>"))


def images_folded():
    for n in (1, 32, 128):
        f = Fusion(f"image to 2x2 pixels of 4 channels, f32 to f16 {n}",
                   Tensor("f32", n, 3, 112, 2, 112, 2))
        value = f.op("transpose", f.cast("%x0", "f16"),
                     to=Tensor("f16", n, 112, 112, 2, 2, 3),
                     attributes="perm = array<i64: 0, 2, 4, 3, 5, 1>",
                     run=lambda a: a.transpose(0, 2, 4, 3, 5, 1))
        yield f.give(f.op("pad", value, to=Tensor("f16", n, 112, 112, 2, 2, 4),
                          run=lambda a: np.pad(a, [(0, 0)] * 5 + [(0, 1)]),
                          attributes="low = array<i64: 0, 0, 0, 0, 0, 0>, "
                          "high = array<i64: 0, 0, 0, 0, 0, 1>"))


def pools():
    for n in (1, 32, 128):
        yield pool(f"max 3x3/2 NHWC f16 {n}x112x112x64", "max",
                   Tensor("f16", n, 112, 112, 64), 3, 2, 1, True)
    yield pool("max 3x3/2 NHWC f32 128x112x112x64", "max",
               Tensor("f32", 128, 112, 112, 64), 3, 2, 1, True)
    yield pool("max 3x3/2 NCHW f16 128x64x112x112", "max",
               Tensor("f16", 128, 64, 112, 112), 3, 2, 1, False)
    yield pool("max 3x3/2 NCHW f32 64x64x112x112", "max",
               Tensor("f32", 64, 64, 112, 112), 3, 2, 1, False)
    yield pool("max 2x2/2 NCHW f32 64x64x112x112", "max",
               Tensor("f32", 64, 64, 112, 112), 2, 2, 0, False)
    yield pool("average 3x3/1 NHWC f16 128x35x35x288", "avg",
               Tensor("f16", 128, 35, 35, 288), 3, 1, 1, True)
    yield pool("average 3x3/1 NHWC f32 128x35x35x192", "avg",
               Tensor("f32", 128, 35, 35, 192), 3, 1, 1, True)
    yield pool("average 3x3/1 NHWC f16 128x17x17x768", "avg",
               Tensor("f16", 128, 17, 17, 768), 3, 1, 1, True)
    yield pool("average 3x3/1 NHWC f16 128x8x8x2048", "avg",
               Tensor("f16", 128, 8, 8, 2048), 3, 1, 1, True)
    yield pool("average 5x5/1 NHWC f16 64x35x35x192", "avg",
               Tensor("f16", 64, 35, 35, 192), 5, 1, 2, True)
    yield pool("max 5x5/1 NHWC f16 64x20x20x512", "max",
               Tensor("f16", 64, 20, 20, 512), 5, 1, 2, True)
    yield pool("average 2x2/2 NCHW f16 128x128x56x56", "avg",
               Tensor("f16", 128, 128, 56, 56), 2, 2, 0, False)


def depthwises():
    # MobileNet's, EfficientNet's, ConvNeXt's and ConvMixer's.
    for n in (1, 32):
        for size, c, k, stride in (
                (112, 32, 3, 1), (112, 96, 3, 2), (56, 144, 3, 1),
                (28, 240, 5, 1), (14, 576, 3, 1), (14, 672, 5, 1),
                (7, 960, 3, 1), (7, 1152, 5, 1), (56, 96, 7, 1),
                (14, 384, 7, 1), (7, 768, 7, 1), (32, 768, 9, 1)):
            pad = k // 2
            yield depthwise(f"depthwise f16 {k}x{k}/{stride} {n}x{size}x{size}x{c}",
                            Tensor("f16", n, size, size, c), (k, k),
                            (stride, stride), (pad,) * 4)


def columns():
    for n in (1, 32, 128, 1024):
        f = Fusion(f"mean of 7x7 NHWC f16 {n}x7x7x2048",
                   Tensor("f16", n, 7, 7, 2048))
        total = f.reduce(f.cast("%x0", "f32"), "sum", 1, 2)
        mean = f.op("div", total, f.constant(49))
        yield f.give(f.cast(mean, "f16"))
    f = Fusion("mean of 7x7 NCHW f16 1024x2048x7x7",
               Tensor("f16", 1024, 2048, 7, 7))
    total = f.reduce(f.cast("%x0", "f32"), "sum", 2, 3)
    yield f.give(f.cast(f.op("div", total, f.constant(49)), "f16"))
    f = Fusion("column sum f32 65536x1024", Tensor("f32", 65536, 1024))
    yield f.give(f.reduce("%x0", "sum", 0))
    f = Fusion("column sum f16 64x4096x512", Tensor("f16", 64, 4096, 512))
    yield f.give(f.reduce("%x0", "sum", 1))
    yield softmax("softmax of a middle dimension f16 64x256x3136",
                  Tensor("f16", 64, 256, 3136))
    yield softmax("softmax of a middle dimension f32 64x21x128x128",
                  Tensor("f32", 64, 21, 16384))
    for n in (1, 64):
        x = Tensor("f16", n, 256, 56, 56)
        weights = Tensor("f32", 256, 1, 1)
        f = Fusion(f"layer norm of channels NCHW f16 {n}x256x56x56", x,
                   weights, weights)
        yield f.give(normalize(f, "%x0", 1, "%x1", "%x2"))


def gathers():
    for n in (384, 12288):
        table = Tensor("f16", 30522, 1024)
        out = Tensor("f16", n, 1024)
        f = Fusion(f"gather f16 {n} rows of 1024", table, Tensor("i64", n))
        f.read = out.bytes + 8 * n
        yield f.give(f.op("gather", "%x0", "%x1", to=out))
        weights = Tensor("f32", 1024)
        f = Fusion(f"embedding and layer norm f16 {n}x1024", table,
                   Tensor("i64", n), out, weights, weights)
        f.read = 2 * out.bytes + 8 * n
        value = f.op("add", f.op("gather", "%x0", "%x1", to=out), "%x2")
        yield f.give(normalize(f, value, 1, "%x3", "%x4"))


GROUPS = {"map": maps, "row": rows, "transpose": transposes,
          "padded": image_padded, "folded": images_folded,
          "pool": pools, "depthwise": depthwises, "column": columns,
          "gather": gathers}

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
