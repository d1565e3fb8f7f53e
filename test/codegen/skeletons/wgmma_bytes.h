//===- wgmma_bytes.h - Shared code of the check of wgmma_bytes.cuh --------===//
//
// Problems for wgmma_bytes.cuh, their tensor maps and launches.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_WGMMA_BYTES_H
#define FRIT_TEST_CODEGEN_SKELETONS_WGMMA_BYTES_H

#include "frit/byte_pair.cuh"
#include "integer_gemm.h"

/// A tile of the skeleton.
template <int TileM, int TileN, int Stages, int Cluster = 1, int Split = 1,
          int Blocks = 1, bool ReadsBoxes = false>
struct Staged {
  static constexpr frit::WgmmaLayout layout = {
      TileM, TileN, Stages, Cluster, Split, Blocks, false, false, ReadsBoxes};
  static constexpr int tileM = TileM, tileN = TileN, stages = Stages;
  static constexpr int cluster = Cluster, split = Split, blocks = Blocks;
  static constexpr int sms = 132; // of the H200 that tiles are scheduled for
  static constexpr int raster = layout.rasterRows(sms);
};

/// A convolution with such a tile; ping-pong where it pays, or as asked for.
template <class Of, int PingPong = -1> struct Tiled : Of {
  static constexpr int64_t m = int64_t(Of::n) * Of::p * Of::q;
  static constexpr bool pingPong =
      PingPong < 0 ? Of::layout.pingPongs(m, Of::k, 1, Of::sms) : PingPong > 0;
};

/// A convolution of 8-bit floats whose sums are stored as they are.
template <class P, frit::Float8 X, frit::Float8 W> struct FloatTiled : P {
  static constexpr frit::Float8 floatX = X, floatW = W;

  __device__ void store(const float (&sum)[P::kVector],
                        const typename P::Columns &,
                        const typename P::Elements &, unsigned row,
                        unsigned col, bool isInside) const {
    frit::storeVectorIf(isInside, floats + row * P::k + col, sum);
  }
  float *floats;
};

/// Sums of bytes and of numbers of type T that come through boxes. Results of
/// type D leave through boxes, as far as they fit. Blocks have tiles of the
/// same columns, if their number allows that.
template <class P, class T, class D> struct Added : P {
  static constexpr int boxed = sizeof(T), raster = 1;
  using Stored = D;
  struct Elements {
    T of[8];
  };
  __device__ Elements elements(unsigned row, unsigned col) const {
    Elements elements;
    frit::loadOwn(elements.of, added + row * P::k + col);
    return elements;
  }
  __device__ Elements boxedElements(const unsigned char *at) const {
    Elements elements;
    frit::loadOwn(elements.of, reinterpret_cast<const T *>(at));
    return elements;
  }
  __device__ void storeTo(const int (&sum)[8], const typename P::Columns &,
                          const Elements &elements, unsigned, unsigned,
                          bool isInside, D *to) const {
    D out[8];
#pragma unroll
    for (int v = 0; v < 8; ++v)
      out[v] = D(sum[v] + elements.of[v]);
    frit::storeVectorIf(isInside, to, out);
  }
  __device__ void store(const int (&sum)[8], const typename P::Columns &columns,
                        const Elements &elements, unsigned row, unsigned col,
                        bool isInside) const {
    storeTo(sum, columns, elements, row, col, isInside, to + row * P::k + col);
  }
  const T *added;
  D *to;
};
/// Sums and a number for each column, which comes from shared memory: Kept
/// columns, all of them or, if a block has one tile, those of a tile.
template <class P, int Kept> struct Shifted : P {
  static constexpr int columnsKept = Kept, columnBytes = 4 * Kept, raster = 1;
  static constexpr frit::WgmmaLayout layout = [] {
    frit::WgmmaLayout layout = P::layout;
    layout.columnBytes = columnBytes;
    return layout;
  }();
  struct Columns {
    int32_t of[P::kVector];
  };
  __device__ static int32_t numberOf(int col) { return col * col % 1000 - 9; }
  __device__ Columns columns(unsigned col) const {
    Columns columns;
    for (int v = 0; v < P::kVector; ++v)
      columns.of[v] = numberOf(col + v);
    return columns;
  }
  __device__ void store(const int (&sum)[P::kVector], const Columns &columns,
                        const typename P::Elements &, unsigned row,
                        unsigned col, bool isInside) const {
    int32_t out[P::kVector];
    for (int v = 0; v < P::kVector; ++v)
      out[v] = sum[v] + columns.of[v];
    frit::storeVectorIf(isInside, P::y + row * P::k + col, out);
  }
};

/// Sums and numbers that do not come through boxes.
template <class P, class T, class D> struct Unread : P {
  static constexpr int raster = 1;
  using Stored = D;
  __device__ void storeTo(const int (&sum)[8], const typename P::Columns &,
                          const typename P::Elements &, unsigned row,
                          unsigned col, bool isInside, D *to) const {
    D out[8];
#pragma unroll
    for (int v = 0; v < 8; ++v)
      out[v] =
          D(sum[v] + (isInside && row < unsigned(P::m) && col < unsigned(P::k)
                          ? added[row * P::k + col + v]
                          : T(0)));
    frit::storeVectorIf(isInside, to, out);
  }
  __device__ void store(const int (&sum)[8], const typename P::Columns &columns,
                        const typename P::Elements &elements, unsigned row,
                        unsigned col, bool isInside) const {
    storeTo(sum, columns, elements, row, col, isInside, to + row * P::k + col);
  }
  const T *added;
  D *to;
};

/// Sums of bytes, and three times the codes of another product. `Box` says
/// whether results, of a byte each, leave through boxes.
template <class P> struct Summed : P {
  static constexpr int raster = 1;
  struct Elements {
    frit::Codes<8> first = {};
  };
  __device__ Elements elements(unsigned, unsigned) const { return {}; }
  template <class D>
  __device__ void storeAll(const int (&sum)[8], const Elements &elements,
                           bool isInside, D *to) const {
    D out[8];
#pragma unroll
    for (int v = 0; v < 8; ++v)
      out[v] = D(sum[v] + 3 * int8_t(frit::byteAt(elements.first.words, v)));
    frit::storeVectorIf(isInside, to, out);
  }
  __device__ void store(const int (&sum)[8], const typename P::Columns &,
                        const Elements &elements, unsigned row, unsigned col,
                        bool isInside) const {
    storeAll(sum, elements, isInside, P::y + row * P::k + col);
  }
};
template <class P> struct SummedBoxes : Summed<P> {
  using Stored = int8_t;
  __device__ void storeTo(const int (&sum)[8], const typename P::Columns &,
                          const typename Summed<P>::Elements &elements,
                          unsigned, unsigned, bool isInside, int8_t *to) const {
    this->storeAll(sum, elements, isInside, to);
  }
  __device__ void store(const int (&)[8], const typename P::Columns &,
                        const typename Summed<P>::Elements &, unsigned,
                        unsigned, bool) const {}
};
/// The other product: the operands of `Of`, whose sums become codes.
template <class P, class Of> struct FirstOf : P {
  static constexpr bool signedX = Of::signedX, signedW = Of::signedW;
  static constexpr int h = Of::h, w = Of::w, c = Of::c, r = Of::r, s = Of::s;
  static constexpr int strideH = Of::strideH, strideW = Of::strideW;
  static constexpr int dilationH = Of::dilationH, dilationW = Of::dilationW;
  static constexpr int padTop = Of::padTop, padLeft = Of::padLeft;
  struct Elements {};
  __device__ Elements elements(unsigned, unsigned) const { return {}; }
  __device__ void keep(const int (&sum)[8], const typename P::Columns &,
                       const Elements &, unsigned, unsigned,
                       frit::Codes<8> &to) const {
    int8_t out[8];
#pragma unroll
    for (int v = 0; v < 8; ++v)
      out[v] = int8_t(sum[v] >> 4);
    frit::storeVectorIf(true, to, out);
  }
};

template <class P, class Q>
__global__ void __launch_bounds__(P::layout.threads(), P::blocks)
    pairedSums(int32_t *y, const uint8_t *x0, const uint8_t *w0,
               const uint8_t *x, const uint8_t *w, const uint8_t *zero,
               const __grid_constant__ frit::TensorMap mapX0,
               const __grid_constant__ frit::TensorMap mapW0,
               const __grid_constant__ frit::TensorMap mapX,
               const __grid_constant__ frit::TensorMap mapW,
               const __grid_constant__ frit::TensorMap mapY) {
  frit::pdlTrigger();
  P end;
  end.y = y;
  Q first;
  first.y = nullptr;
#ifdef FRIT_HAS_WGMMA
  frit::wgmmaBytePair(end, first, &mapX0, &mapW0, &mapX, &mapW, &mapY);
#else
  frit::bytePairFloor(end, first, {x0, zero}, {w0, zero}, {x, zero}, {w, zero});
#endif
}

template <class P, class T, class D>
__global__ void __launch_bounds__(P::layout.threads(), P::blocks)
    addedSums(const T *added, D *to,
              const __grid_constant__ frit::TensorMap mapX,
              const __grid_constant__ frit::TensorMap mapW,
              const __grid_constant__ frit::TensorMap mapR,
              const __grid_constant__ frit::TensorMap mapY) {
  frit::pdlTrigger();
  P end;
  end.added = added;
  end.to = to;
#ifdef FRIT_HAS_WGMMA
  frit::wgmmaBytes(end, &mapX, &mapW, &mapR, &mapY);
#endif
}

template <class P>
__global__ void __launch_bounds__(P::layout.threads(), P::blocks)
    stagedSums(const uint8_t *x, const uint8_t *w, const uint8_t *xZero,
               const uint8_t *wZero, typename frit::ByteSumOf<P>::Type *y,
               const __grid_constant__ frit::TensorMap mapX,
               const __grid_constant__ frit::TensorMap mapW) {
  frit::pdlTrigger();
  P end;
  if constexpr (frit::kHasFloats<P>)
    end.floats = y;
  else
    end.y = y;
#ifdef FRIT_HAS_WGMMA
  frit::wgmmaBytes(end, &mapX, &mapW);
#else
  frit::byteFloor(end, x, w, xZero, wZero);
#endif
}

#ifndef __CUDACC_RTC__
#include "hopper.h"

namespace harness {

/// Encodes a map of bytes that is swizzled by `swizzle` bytes.
inline frit::TensorMap byteMap(artifact::TensorMap map, const uint8_t *at,
                               int swizzle = 128) {
  map.type = artifact::DType::u8;
  map.swizzle = swizzle;
  for (uint32_t i = 0; i < map.rank; ++i)
    if (!map.elementStrides[i])
      map.elementStrides[i] = 1;
  return encode(map, at);
}

/// Returns the maps of x and of w.
template <class P> frit::TensorMap mapOfX(const uint8_t *x) {
  artifact::TensorMap map;
  if (P::r * P::s == 1 && P::strideH == 1 && P::strideW == 1 &&
      P::padTop == 0 && P::padLeft == 0) {
    map.rank = 2;
    map.dims[0] = P::c;
    map.dims[1] = P::m;
    map.strides[0] = P::c;
    map.box[0] = 128;
    map.box[1] = P::tileM;
    return byteMap(map, x);
  }
  // The formulas of wgmma_bytes.cuh, which are only in device code for sm_90a.
  const bool isRow =
      P::s > 1 && P::padLeft == 0 && P::strideW == 1 && P::dilationW == 1 &&
      P::q + P::s - 1 <= P::w &&
      (P::s * P::c == 32 || P::s * P::c == 64 || P::s * P::c == 128);
  const int channels = isRow ? P::s * P::c : P::c;
  const int width = isRow ? P::w - P::s + 1 : P::w;
  const int line =
      P::r * P::s > 1 && (channels == 32 || channels == 64) ? channels : 128;
  map.kind = artifact::MapKind::im2col;
  map.rank = 4;
  map.channels = line;
  map.pixels = P::tileM;
  const int dims[] = {channels, width, P::h, P::n};
  std::copy(dims, dims + 4, map.dims);
  map.strides[0] = P::c;
  map.strides[1] = P::c * P::w;
  map.strides[2] = P::c * P::w * P::h;
  map.elementStrides[1] = P::strideW;
  map.elementStrides[2] = P::strideH;
  map.lower[0] = -P::padLeft;
  map.lower[1] = -P::padTop;
  map.upper[0] = (P::q - 1) * P::strideW - P::padLeft + 1 - width;
  map.upper[1] = (P::p - 1) * P::strideH - P::padTop + 1 - P::h;
  return byteMap(map, x, line);
}
template <class P> frit::TensorMap mapOfW(const uint8_t *w) {
  constexpr int depth = P::r * P::s * P::c;
  artifact::TensorMap map;
  map.rank = 5;
  const int64_t dims[] = {depth, 2, 4, 4, P::k / 32};
  const int64_t strides[] = {1, 8, 2, 32};
  const int box[] = {128, 2, 4, 4, P::tileN / P::cluster / 32};
  for (int i = 0; i < 5; ++i) {
    map.dims[i] = dims[i];
    map.box[i] = box[i];
  }
  for (int i = 0; i < 4; ++i)
    map.strides[i] = strides[i] * depth;
  return byteMap(map, w);
}

/// Returns the map of boxes of numbers of `bytes` bytes, one per sum.
template <class P> frit::TensorMap mapOfBoxes(const void *at, int bytes) {
  artifact::TensorMap map;
  map.type = bytes == 2 ? artifact::DType::f16 : artifact::DType::u8;
  map.rank = 2;
  map.swizzle = 128;
  map.dims[0] = P::k;
  map.dims[1] = P::m;
  map.strides[0] = P::k * bytes;
  map.box[0] = 128 / bytes;
  map.box[1] = 16;
  map.elementStrides[0] = map.elementStrides[1] = 1;
  return encode(map, at);
}

/// Runs the kernel.
template <class P, class Sum>
void launchStaged(const uint8_t *x, const uint8_t *w, const uint8_t *zero,
                  Sum *y) {
  static_assert(P::layout.fits());
  launchCut(&stagedSums<P>, P::layout, P::m, P::k, 1, x, w, zero, zero, y,
            mapOfX<P>(x), mapOfW<P>(w));
}

} // namespace harness

#endif

#endif // FRIT_TEST_CODEGEN_SKELETONS_WGMMA_BYTES_H
