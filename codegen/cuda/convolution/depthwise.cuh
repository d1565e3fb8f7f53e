//===- depthwise.cuh - Depthwise convolutions -----------------------------===//
//
// y = store(depthwise_conv(x, w)), channels last. A thread computes V channels
// of a strip, L outputs one below the other, with their filters and
// accumulators in registers. It walks down the rows of x under the strip's
// windows, prefetches each row once, several rows ahead, and adds it to the
// accumulators of all windows that contain the row.
//
// The fusion is a Body:
//
//   static constexpr int n, h, w, c;               // x
//   static constexpr int r, s, p, q;               // windows, y
//   static constexpr int strideH, strideW, dilationH, dilationW;
//   static constexpr int padTop, padLeft;
//   void store(const float (&sum)[V], unsigned i) const;  // y[i .. i + V - 1]
//
// Of bytes, x and w are int8_t, w has the taps of a channel together, and the
// padding is x's zero point. The sums are integers below 2^24. Body has
//
//   static constexpr bool signedX, signedW;
//   float zeroX() const, zeroW() const;                   // after the PDL wait
//
// x and y have fewer than 2^31 elements. Blocks and threads are
// one-dimensional; there are at least StripPlace::kThreads of them.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONVOLUTION_DEPTHWISE_CUH
#define FRIT_CODEGEN_CUDA_CONVOLUTION_DEPTHWISE_CUH

#include "frit/byte_numbers.cuh"

namespace frit {

/// The rows of x under the windows of a strip of L outputs.
template <class Body, int L> struct StripRows {
  static constexpr int kReach = (Body::r - 1) * Body::dilationH;
  static constexpr int kCount = (L - 1) * Body::strideH + kReach + 1;

  /// Returns the row of output `o`'s window that input row `y` is in, or -1.
  __device__ static constexpr int tap(int y, int o) {
    int down = y - o * Body::strideH;
    return down >= 0 && down <= kReach && down % Body::dilationH == 0
               ? down / Body::dilationH
               : -1;
  }
  __device__ static constexpr bool isRead(int y) {
    for (int o = 0; o < L; ++o)
      if (y < kCount && tap(y, o) >= 0)
        return true;
    return false;
  }
};

/// Position of a thread's strip. Neighbouring threads cover a cache line, then
/// the pixels of a row, whose windows overlap.
template <int V, int L, class Body, class T> struct StripPlace {
  static constexpr unsigned kLine = 128 / sizeof(T);
  static constexpr unsigned kPiece = Body::c % kLine ? Body::c : kLine;
  static constexpr unsigned kVectors = kPiece / V;
  static constexpr unsigned kPieces = Body::c / kPiece;
  static constexpr unsigned kStrips = (Body::p + L - 1) / L;
  static constexpr unsigned kThreads =
      kVectors * Body::q * kStrips * kPieces * Body::n;

  unsigned channel, col, first, image;

  __device__ explicit StripPlace(unsigned thread) {
    unsigned rest = thread / kVectors;
    col = rest % Body::q;
    rest /= Body::q;
    first = rest % kStrips * L;
    rest /= kStrips;
    channel = rest % kPieces * kPiece + thread % kVectors * V;
    image = rest / kPieces;
  }
};

/// Returns whether any window reaches beyond x, including those of the last
/// strip that are below y.
template <class Body, int L> __device__ constexpr bool leavesImage() {
  constexpr int rows = (Body::p + L - 1) / L * L;
  return Body::padTop > 0 || Body::padLeft > 0 ||
         (rows - 1) * Body::strideH + (Body::r - 1) * Body::dilationH >=
             Body::h ||
         (Body::q - 1) * Body::strideW + (Body::s - 1) * Body::dilationW >=
             Body::w;
}

/// Return the halves of a word, which instructions can read without a shift.
__device__ inline uint16_t lowHalf(uint32_t word) {
#ifdef FRIT_EMULATE
  return uint16_t(word);
#else
  uint16_t low;
  asm("{ .reg .b16 t;\n mov.b32 {%0, t}, %1; }" : "=h"(low) : "r"(word));
  return low;
#endif
}
__device__ inline uint16_t highHalf(uint32_t word) {
#ifdef FRIT_EMULATE
  return uint16_t(word >> 16);
#else
  uint16_t high;
  asm("{ .reg .b16 t;\n mov.b32 {t, %0}, %1; }" : "=h"(high) : "r"(word));
  return high;
#endif
}

/// V elements in storage form, in words, the last of which may not be full.
template <class T, int V> struct Elements {
  static constexpr int kWords = (V * sizeof(T) + 3) / 4;
  uint32_t words[kWords];

  /// Loads the elements, or if not `isThere` words of `other`. Loads whole
  /// words: combining parts would wait for the load.
  __device__ void read(const T *from, bool isThere = true, uint32_t other = 0) {
    Pack<uint32_t, kWords> pack = {};
    if (sizeof(T) == 1)
      pack.at[0] = other;
    if (isThere) {
      if constexpr (V * sizeof(T) == 1)
        pack.at[0] = uint8_t(*from);
      else if constexpr (V * sizeof(T) == 2)
        pack.at[0] = *reinterpret_cast<const uint16_t *>(from);
      else
        pack = *reinterpret_cast<const Pack<uint32_t, kWords> *>(from);
    }
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      words[i] = pack.at[i];
  }
  /// Returns an element; of bytes, see byteNumber.
  __device__ float at(int v) const {
    const uint32_t word = words[v * sizeof(T) / 4];
    if constexpr (sizeof(T) == 4)
      return bitsToFloat(word);
    else
      return load(T{v % 2 ? highHalf(word) : lowHalf(word)});
  }
};

/// Returns the number of a byte minus the zero point.
template <bool IsSigned, int N>
__device__ inline float byteNumber(const uint32_t (&words)[N], int i,
                                   float zero) {
  return IsSigned ? signedNumber(byteAt(words, i), zero)
                  : unsignedNumber(byteAt(words, i), zero);
}

/// The filters of a thread: a vector of channels for each tap.
template <int V, class Body, class T> struct DepthwiseFilters {
  Elements<T, V> stored[Body::r * Body::s];

  __device__ void read(const T *filters, unsigned channel) {
#pragma unroll
    for (int tap = 0; tap < Body::r * Body::s; ++tap)
      stored[tap].read(filters + unsigned(tap * Body::c) + channel);
  }
  __device__ float at(int tap, int v, float) const { return stored[tap].at(v); }
};
/// Of bytes, the taps of each channel.
template <int V, class Body> struct DepthwiseFilters<V, Body, int8_t> {
  static constexpr int kTaps = Body::r * Body::s, kWords = (V * kTaps + 3) / 4;
  uint32_t words[kWords] = {};

  __device__ void read(const int8_t *filters, unsigned channel) {
    const int8_t *from = filters + channel * kTaps;
    if constexpr (V % 4 == 0) {
#pragma unroll
      for (int i = 0; i < kWords; ++i)
        words[i] = reinterpret_cast<const uint32_t *>(from)[i];
    } else {
#pragma unroll
      for (int i = 0; i < V * kTaps; ++i)
        words[i / 4] |= uint32_t(uint8_t(from[i])) << i % 4 * 8;
    }
  }
  __device__ float at(int tap, int v, float zero) const {
    return byteNumber<Body::signedW>(words, v * kTaps + tap, zero);
  }
};

/// Computes the convolution. Constant filters are read before the PDL wait.
template <int V, int L, bool IsConstant, class Body, class T>
__device__ inline void depthwise(const Body &body, const T *x,
                                 const T *filters) {
  using Rows = StripRows<Body, L>;
  using Place = StripPlace<V, L, Body, T>;
  using Vector = Elements<T, V>;
  constexpr int kTaps = Body::r * Body::s;
  constexpr bool kPadded = leavesImage<Body, L>();
  // Rows in registers, all but one of them in flight. With one output per
  // strip, all rows, since nothing else hides their latency.
  constexpr int kWords = Body::s * Vector::kWords;
  constexpr int kMost = L == 1       ? Rows::kCount + 1
                        : kWords > 8 ? 2
                                     : 24 / kWords;
  constexpr int kRows = kMost < Rows::kCount + 1 ? kMost : Rows::kCount + 1;
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if constexpr (!IsConstant)
    pdlWait();
  const Place at(thread < Place::kThreads ? thread : Place::kThreads - 1);
  DepthwiseFilters<V, Body, T> stored;
  stored.read(filters, at.channel);
  if constexpr (IsConstant)
    pdlWait();
  if (thread >= Place::kThreads)
    return;
  float zeroX = 0, zeroW = 0;
  uint32_t outside = 0;
  if constexpr (sizeof(T) == 1) {
    zeroX = body.zeroX();
    zeroW = body.zeroW();
    outside = uint32_t(int(zeroX) & 255) * 0x01010101;
  }

  const int top = int(at.first) * Body::strideH - Body::padTop;
  const int left = int(at.col) * Body::strideW - Body::padLeft;
  bool inside[Body::s];
#pragma unroll
  for (int s = 0; s < Body::s; ++s)
    inside[s] = unsigned(left + s * Body::dilationW) < unsigned(Body::w);
  const T *const corner =
      x + ((int64_t(int(at.image) * Body::h + top) * Body::w + left) * Body::c +
           at.channel);
  auto load = [&](Vector(&row)[Body::s], int y) {
    const bool isRow = unsigned(top + y) < unsigned(Body::h);
#pragma unroll
    for (int s = 0; s < Body::s; ++s)
      row[s].read(corner +
                      (int64_t(y) * Body::w + s * Body::dilationW) * Body::c,
                  !kPadded || (isRow && inside[s]), outside);
  };
  Vector rows[kRows][Body::s];
#pragma unroll
  for (int y = 0; y < kRows - 1; ++y)
    if (Rows::isRead(y))
      load(rows[y], y);
  float filter[kTaps][V];
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap)
#pragma unroll
    for (int v = 0; v < V; ++v)
      filter[tap][v] = stored.at(tap, v, zeroW);

  float sums[L][V] = {};
#pragma unroll
  for (int y = 0; y < Rows::kCount; ++y) {
    if (Rows::isRead(y + kRows - 1))
      load(rows[(y + kRows - 1) % kRows], y + kRows - 1);
    if (!Rows::isRead(y))
      continue;
#pragma unroll
    for (int s = 0; s < Body::s; ++s)
#pragma unroll
      for (int v = 0; v < V; ++v) {
        float value;
        if constexpr (sizeof(T) == 1)
          value = byteNumber<Body::signedX>(rows[y % kRows][s].words, v, zeroX);
        else
          value = rows[y % kRows][s].at(v);
#pragma unroll
        for (int o = 0; o < L; ++o)
          if (const int r = Rows::tap(y, o); r >= 0)
            sums[o][v] += value * filter[r * Body::s + s][v];
      }
#pragma unroll
    for (int o = 0; o < L; ++o)
      if (y == o * Body::strideH + Rows::kReach &&
          (Body::p % L == 0 || at.first + o < Body::p))
        body.store(sums[o],
                   ((at.image * Body::p + at.first + o) * Body::q + at.col) *
                           Body::c +
                       at.channel);
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_CONVOLUTION_DEPTHWISE_CUH
