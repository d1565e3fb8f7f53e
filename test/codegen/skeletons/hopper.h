//===- hopper.h - Tensor maps and launches of the checks for sm_90a -------===//
//
// Host side of wgmma_gemm.cuh, wgmma_conv.cuh and wgmma_attention.cuh: tensor
// maps and launches that the compiler would derive, written after their header
// comments. For the driver on a GPU, and for the emulator.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_HOPPER_H
#define FRIT_TEST_CODEGEN_SKELETONS_HOPPER_H

#include "harness.h"

#include "frit/artifact.h"
#include "frit/wgmma_layout.cuh"

#include <deque>

#ifdef FRIT_EMULATE
#include "tensor_map.h"
#else
#include <cuda.h>
#include <cuda_runtime.h>
#endif

namespace harness {

namespace artifact = frit::artifact;

/// The tiling of a product.
using Cut = frit::WgmmaLayout;

/// SMs of an H200, for which tiles are scheduled.
inline constexpr int kSms = 132;

#ifdef FRIT_EMULATE

/// Returns few SMs, so that blocks get several tiles of small problems.
inline int processorCount() { return 5; }

/// Encodes a map of the tensor at `at` as a kernel's parameter. Maps are kept
/// to the end of the process.
inline frit::TensorMap encode(const artifact::TensorMap &map, const void *at) {
  static std::deque<emu::TensorMap> maps;
  maps.push_back({map, static_cast<char *>(const_cast<void *>(at))});
  require(maps.back().isValid(), "a tensor map was refused");
  emu::EncodedMap encoded;
  encoded.map = &maps.back();
  frit::TensorMap result = {};
  memcpy(&result, &encoded, sizeof encoded);
  return result;
}

/// Launches a kernel in clusters.
template <class... Parameters>
void launchClusters(void (*kernel)(Parameters...), int grid, int threads,
                    int cluster, int shared, const Parameters &...arguments) {
  if (!emu::launch(
          grid, threads, shared, [&] { kernel(arguments...); }, cluster))
    ++failures;
}

inline void waitForDevice() {}
inline bool hasWgmma() { return true; }

#else

inline int processorCount() {
  static int count = [] {
    int count;
    require(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    return count;
  }();
  return count;
}

template <class Function> Function driverFunction(const char *name) {
  void *function = nullptr;
  cudaDriverEntryPointQueryResult found;
  require(cudaGetDriverEntryPointByVersion(name, &function, 12000,
                                           cudaEnableDefault, &found));
  require(function != nullptr, "the driver knows no tensor maps");
  return reinterpret_cast<Function>(function);
}

/// Encodes a map of the tensor at `at` as a kernel's parameter.
inline frit::TensorMap encode(const artifact::TensorMap &map, const void *at) {
  static auto tiled = driverFunction<decltype(&cuTensorMapEncodeTiled)>(
      "cuTensorMapEncodeTiled");
  static auto im2col = driverFunction<decltype(&cuTensorMapEncodeIm2col)>(
      "cuTensorMapEncodeIm2col");
  const auto type =
      map.type == artifact::DType::f16    ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
      : map.type == artifact::DType::bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
      : map.type == artifact::DType::f32  ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                                          : CU_TENSOR_MAP_DATA_TYPE_UINT8;
  const auto swizzle = map.swizzle == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                       : map.swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                           : CU_TENSOR_MAP_SWIZZLE_32B;
  cuuint64_t dims[artifact::kMaxMapRank], strides[artifact::kMaxMapRank - 1];
  std::copy(std::begin(map.dims), std::end(map.dims), dims);
  std::copy(std::begin(map.strides), std::end(map.strides), strides);
  void *address = const_cast<void *>(at);
  CUtensorMap encoded;
  static_assert(sizeof(encoded) == sizeof(frit::TensorMap));
  CUresult status =
      map.kind == artifact::MapKind::tiled
          ? tiled(&encoded, type, map.rank, address, dims, strides, map.box,
                  map.elementStrides, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
          : im2col(&encoded, type, map.rank, address, dims, strides, map.lower,
                   map.upper, map.channels, map.pixels, map.elementStrides,
                   CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  require(status == CUDA_SUCCESS, "a tensor map was refused");
  frit::TensorMap result;
  memcpy(&result, &encoded, sizeof result);
  return result;
}

/// Launches a kernel with clusters. `early` lets it start while the preceding
/// kernel runs (PDL).
inline void launchClusters(const void *kernel, int grid, int threads,
                           int cluster, int shared, void **arguments,
                           cudaStream_t stream, bool early) {
  cudaLaunchAttribute attributes[2];
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = cluster;
  attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(grid);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = early ? 2 : 1;
  require(cudaLaunchKernelExC(&config, kernel, arguments));
}

/// Allows a kernel `bytes` of dynamic shared memory.
inline void allowShared(const void *kernel, int bytes) {
  require(cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

/// Launches into `launchStream`, with PDL if set.
template <class... Parameters>
void launchClusters(void (*kernel)(Parameters...), int grid, int threads,
                    int cluster, int shared, const Parameters &...arguments) {
  auto function = reinterpret_cast<const void *>(kernel);
  allowShared(function, shared);
  void *pointers[] = {
      const_cast<void *>(static_cast<const void *>(&arguments))...};
  launchClusters(function, grid, threads, cluster, shared, pointers,
                 launchStream, launchStream != nullptr);
}

inline void waitForDevice() { require(cudaDeviceSynchronize()); }

inline bool hasWgmma() {
  cudaDeviceProp properties;
  require(cudaGetDeviceProperties(&properties, 0));
  return properties.major == 9;
}

/// Launches a kernel of a product.
inline void launchCut(const void *kernel, const Cut &cut, int grid,
                      void **arguments, cudaStream_t stream = nullptr,
                      bool early = false) {
  launchClusters(kernel, grid, cut.threads(), cut.blocksPerCluster(),
                 cut.sharedBytes(), arguments, stream, early);
}

#endif

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

template <class T> inline constexpr artifact::DType kTypeOf = {};
template <>
inline constexpr artifact::DType kTypeOf<f16> = artifact::DType::f16;
template <>
inline constexpr artifact::DType kTypeOf<bf16> = artifact::DType::bf16;
template <>
inline constexpr artifact::DType kTypeOf<float> = artifact::DType::f32;

/// Returns a map of N dimensions; strides are in elements and of all but the
/// first.
template <class T, size_t N>
frit::TensorMap tiledMap(const T *at, const int64_t (&dims)[N],
                         const int64_t (&strides)[N - 1],
                         const int64_t (&box)[N]) {
  artifact::TensorMap map;
  map.type = kTypeOf<T>;
  map.rank = N;
  map.swizzle = 128;
  for (size_t i = 0; i < N; ++i) {
    map.dims[i] = dims[i];
    map.box[i] = uint32_t(box[i]);
    map.elementStrides[i] = 1;
  }
  // Any stride is valid for a dimension of size 1.
  for (size_t i = 0; i < N - 1; ++i)
    map.strides[i] = (strides[i] ? strides[i] : 8) * sizeof(T);
  return encode(map, at);
}

/// Returns an im2col map of x: n × h × w × c, by 64 channels, or all if there
/// are fewer. `steps` has the strides in elements along w, h and n.
template <class T>
frit::TensorMap pixelMap(const T *at, const int64_t (&dims)[4],
                         const int64_t (&steps)[3], const int (&lower)[2],
                         const int (&upper)[2], const int (&strides)[2],
                         int pixels, int channels = 64) {
  artifact::TensorMap map;
  map.kind = artifact::MapKind::im2col;
  map.type = kTypeOf<T>;
  map.rank = 4;
  map.swizzle = channels * 2;
  map.channels = channels;
  map.pixels = pixels;
  for (int i = 0; i < 4; ++i) {
    map.dims[i] = dims[i];
    map.elementStrides[i] = i == 1 || i == 2 ? strides[i - 1] : 1;
  }
  for (int i = 0; i < 3; ++i)
    map.strides[i] = sizeof(T) * steps[i];
  for (int i = 0; i < 2; ++i) {
    map.lower[i] = lower[i];
    map.upper[i] = upper[i];
  }
  return encode(map, at);
}

/// Runs the kernel of a product of a batch of m × n matrices.
template <class... Parameters>
void launchCut(void (*kernel)(Parameters...), const Cut &cut, int64_t m,
               int64_t n, int64_t batch, const Parameters &...arguments) {
  launchClusters(kernel, cut.gridOf(m, n, batch, processorCount()),
                 cut.threads(), cut.blocksPerCluster(), cut.sharedBytes(),
                 arguments...);
}

/// Calls `run` if the device has WGMMA.
template <class Checks, class Benches>
int runOnHopper(int argc, char **argv, const Checks &checks,
                const Benches &benches) {
  if (hasWgmma())
    return run(argc, argv, checks, benches);
  printf("skipped: no GPU of compute capability 9.0\n");
  return 0;
}

} // namespace harness

#endif // FRIT_TEST_CODEGEN_SKELETONS_HOPPER_H
