//===- hopper.h - Tensor maps and launches of the checks for sm_90a -------===//
//
// The host's side of wgmma_gemm.cuh, wgmma_conv.cuh and wgmma_attention.cuh,
// after their header comments alone: what a compiler that prints P has to work
// out. For the driver on a GPU, and for the emulator.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_SKELETONS_HOPPER_H
#define FRIT_TEST_SKELETONS_HOPPER_H

#include "harness.h"

#include "frit/wgmma_layout.cuh"

#ifdef FRIT_EMULATE
#include "tensor_map.h"
#else
#include <cuda.h>
#include <cuda_runtime.h>
#endif

namespace harness {

/// How a product is cut up.
using Cut = frit::WgmmaLayout;

/// Blocks of a product of m × n elements in each of a batch.
constexpr int gridOf(const Cut &cut, int64_t m, int64_t n, int64_t batch,
                     int processors) {
  int64_t rows = cut.tileM * cut.cluster, cols = cut.tileN;
  int64_t tiles = (m + rows - 1) / rows * ((n + cols - 1) / cols) * batch;
  if (cut.split > 1)
    return int(tiles * cut.split);
  int64_t most = processors * cut.blocks / cut.cluster;
  return int(std::min(tiles, most) * cut.cluster);
}

#ifdef FRIT_EMULATE

/// So few that blocks have several tiles of small problems.
inline int processorCount() { return 5; }

inline frit::TensorMap toMap(const emu::TensorMap &map) {
  require(map.isValid(), "a tensor map was refused");
  frit::TensorMap result = {};
  memcpy(&result, &map, sizeof map);
  return result;
}

/// A map of N dimensions; strides in elements of all but the first.
template <class T, size_t N>
frit::TensorMap tiledMap(const T *at, const int64_t (&dims)[N],
                         const int64_t (&strides)[N - 1], const int64_t (&box)[N]) {
  emu::TensorMap map;
  map.address = reinterpret_cast<char *>(const_cast<T *>(at));
  map.rank = N;
  map.elementBytes = sizeof(T);
  map.swizzle = 128;
  for (size_t i = 0; i < N; ++i) {
    map.dims[i] = dims[i];
    map.box[i] = box[i];
    map.elementStrides[i] = 1;
  }
  for (size_t i = 0; i < N - 1; ++i)
    map.strides[i] = (strides[i] ? strides[i] : 8) * sizeof(T);
  return toMap(map);
}

/// An im2col map of x: n × h × w × c, by 64 channels or what it has; `steps` is
/// how many elements neighbours along w, h and n are apart.
template <class T>
frit::TensorMap pixelMap(const T *at, const int64_t (&dims)[4],
                         const int64_t (&steps)[3], const int (&lower)[2],
                         const int (&upper)[2], const int (&strides)[2],
                         int pixels, int channels = 64) {
  emu::TensorMap map;
  map.address = reinterpret_cast<char *>(const_cast<T *>(at));
  map.rank = 4;
  map.elementBytes = sizeof(T);
  map.swizzle = channels * 2;
  map.isIm2col = true;
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
  return toMap(map);
}

/// Launches a kernel whose blocks stand in clusters.
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

template <class T> inline constexpr CUtensorMapDataType kMapType = {};
template <>
inline constexpr CUtensorMapDataType kMapType<f16> =
    CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
template <>
inline constexpr CUtensorMapDataType kMapType<bf16> =
    CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
template <>
inline constexpr CUtensorMapDataType kMapType<float> =
    CU_TENSOR_MAP_DATA_TYPE_FLOAT32;

inline frit::TensorMap toMap(const CUtensorMap &map) {
  static_assert(sizeof(map) == sizeof(frit::TensorMap));
  frit::TensorMap result;
  memcpy(&result, &map, sizeof result);
  return result;
}

/// A map of N dimensions; strides in elements of all but the first.
template <class T, size_t N>
frit::TensorMap tiledMap(const T *at, const int64_t (&dims)[N],
                         const int64_t (&strides)[N - 1], const int64_t (&box)[N]) {
  static auto encode = driverFunction<decltype(&cuTensorMapEncodeTiled)>(
      "cuTensorMapEncodeTiled");
  cuuint64_t size[N], bytes[N - 1];
  cuuint32_t boxes[N], ones[N];
  for (size_t i = 0; i < N; ++i) {
    size[i] = dims[i];
    boxes[i] = box[i];
    ones[i] = 1;
  }
  // Of a dimension of size 1 any stride is right.
  for (size_t i = 0; i < N - 1; ++i)
    bytes[i] = (strides[i] ? strides[i] : 8) * sizeof(T);
  CUtensorMap map;
  require(encode(&map, kMapType<T>, N, const_cast<T *>(at), size, bytes, boxes,
                 ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
                 CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS,
          "a tensor map was refused");
  return toMap(map);
}

/// An im2col map of x: n × h × w × c, by 64 channels or what it has; `steps` is
/// how many elements neighbours along w, h and n are apart.
template <class T>
frit::TensorMap pixelMap(const T *at, const int64_t (&dims)[4],
                         const int64_t (&steps)[3], const int (&lower)[2],
                         const int (&upper)[2], const int (&strides)[2],
                         int pixels, int channels = 64) {
  static auto encode = driverFunction<decltype(&cuTensorMapEncodeIm2col)>(
      "cuTensorMapEncodeIm2col");
  cuuint64_t size[4], bytes[3];
  cuuint32_t each[4] = {1, cuuint32_t(strides[0]), cuuint32_t(strides[1]), 1};
  for (int i = 0; i < 4; ++i)
    size[i] = dims[i];
  for (int i = 0; i < 3; ++i)
    bytes[i] = sizeof(T) * steps[i];
  CUtensorMap map;
  require(encode(&map, kMapType<T>, 4, const_cast<T *>(at), size, bytes, lower,
                 upper, channels, pixels, each, CU_TENSOR_MAP_INTERLEAVE_NONE,
                 channels == 64   ? CU_TENSOR_MAP_SWIZZLE_128B
                 : channels == 32 ? CU_TENSOR_MAP_SWIZZLE_64B
                                  : CU_TENSOR_MAP_SWIZZLE_32B,
                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS,
          "an im2col map was refused");
  return toMap(map);
}

/// Launches a kernel whose blocks stand in clusters; `early` lets it start
/// while the kernel before it still runs.
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

/// Lets a kernel have so much dynamic shared memory.
inline void allowShared(const void *kernel, int bytes) {
  require(cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

/// Launches it into `launchStream`, where it starts early if that is one.
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

/// A kernel of a product.
inline void launchCut(const void *kernel, const Cut &cut, int grid,
                      void **arguments, cudaStream_t stream = nullptr,
                      bool early = false) {
  launchClusters(kernel, grid, cut.threads(), cut.blocksPerCluster(),
                 cut.sharedBytes(), arguments, stream, early);
}

#endif

/// Runs the kernel of a product of m × n elements in each of a batch.
template <class... Parameters>
void launchCut(void (*kernel)(Parameters...), const Cut &cut, int64_t m,
               int64_t n, int64_t batch, const Parameters &...arguments) {
  launchClusters(kernel, gridOf(cut, m, n, batch, processorCount()), cut.threads(),
                 cut.blocksPerCluster(), cut.sharedBytes(), arguments...);
}

/// `run`, where there are warpgroup products.
template <class Checks, class Benches>
int runOnHopper(int argc, char **argv, const Checks &checks,
                const Benches &benches) {
  if (hasWgmma())
    return run(argc, argv, checks, benches);
  printf("skipped: no GPU of compute capability 9.0\n");
  return 0;
}

} // namespace harness

#endif // FRIT_TEST_SKELETONS_HOPPER_H
