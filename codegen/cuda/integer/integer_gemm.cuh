//===- integer_gemm.cuh - Products and convolutions of bytes --------------===//
//
// y = end(conv(x - xZero, w - wZero)), channels last, as an implicit matrix
// product of pixels by filters. x has signed or unsigned bytes, and so has w.
// Padding is xZero. The problem is a struct of constants:
//
//   struct P {
//     static constexpr int n, h, w, c;              // x
//     static constexpr int k, r, s;                 // filters, their size
//     static constexpr int p, q;                    // y's height and width
//     static constexpr int strideH, strideW, dilationH, dilationW;
//     static constexpr int padTop, padLeft;
//     static constexpr bool signedX, signedW;       // bytes, or
//     static constexpr Float8 floatX, floatW;       // floats of 8 bits
//     static constexpr bool early;                  // w: before the PDL wait
//     static constexpr bool centered;               // zero points are 0
//     static constexpr int tileM, tileN, warpM, warpN, depth, stages, split;
//     static constexpr int cluster;                 // 1 below sm_90
//     static constexpr bool wgmma;                  // see integer_wgmma.cuh
//
//     // The end: `kVector` neighbouring sums of a pixel, stored together.
//     static constexpr int kVector;                 // divides k
//     struct Columns;                               // what only filters change
//     Columns columns(unsigned col) const;
//     struct Elements;                              // what is read for sums
//     Elements elements(unsigned row, unsigned col) const;
//     void store(const int (&sum)[kVector], const Columns &columns,
//                const Elements &elements, unsigned row, unsigned col,
//                bool isInside) const;              // stores if isInside
//     // Sums of floats are floats.
//   };
//
// A product of matrices is a convolution of n images of one pixel. Tensors have
// less than 2^31 elements. The grid has one cluster per tile, in one dimension.
// Dynamic shared memory: stages · (tileM + tileN) · depth, or what the sums of
// the groups of warps or of a block of a cluster take, if that is more.
//
// Where c is a multiple of 16 bytes, pieces are copied asynchronously; of 8 or
// 4, in parts. Other channels are gathered byte by byte.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_INTEGER_INTEGER_GEMM_CUH
#define FRIT_CODEGEN_CUDA_INTEGER_INTEGER_GEMM_CUH

#include "frit/integer_end.cuh"
#include "frit/integer_wgmma.cuh"

namespace frit {

/// Whether the zero points of a problem P are known to be 0.
template <class P> inline constexpr bool kIsCentered = false;
template <class P>
  requires requires { P::centered; }
inline constexpr bool kIsCentered<P> = P::centered;

/// Bytes per copy, if runs of `Run` bytes follow each other; 1 if they are too
/// short for asynchronous copies.
template <int64_t Run>
inline constexpr int kCopyBytes = Run % 16 == 0  ? 16
                                  : Run % 8 == 0 ? 8
                                  : Run % 4 == 0 ? 4
                                                 : 1;

/// Fills a piece of 16 bytes: from `from` + at(i) for the bytes from i on, or
/// with `fill` where at(i) is negative.
template <int Width, class At>
__device__ inline void copyPiece(unsigned char *to, const unsigned char *from,
                                 uint32_t fill, const At &at) {
  if constexpr (Width > 1) {
#pragma unroll
    for (int i = 0; i < 16; i += Width) {
      int place = at(i);
      if (place < 0 && fill) {
#pragma unroll
        for (int j = 0; j < Width; j += 4)
          *reinterpret_cast<uint32_t *>(to + i + j) = fill;
      } else {
        copyAsync<Width>(to + i, from + (place < 0 ? 0 : place),
                         place < 0 ? 0 : Width);
      }
    }
  } else {
    uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      words[i] = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        int place = at(i * 4 + j);
        uint32_t byte = place < 0 ? fill & 255 : uint32_t(from[place]);
        words[i] |= byte << 8 * j;
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
      reinterpret_cast<uint32_t *>(to)[i] = words[i];
  }
}

/// The bytes of x and w that a thread copies: always the same piece of several
/// lines of a tile.
template <class P> struct IntegerOperands {
  using Plan = IntegerPlan<P>;
  static constexpr int kTaps = P::r * P::s * P::c;
  static constexpr int kSteps = (kTaps + P::depth - 1) / P::depth;
  static constexpr int kPixels = P::n * P::p * P::q;
  static constexpr int kTilesM = (kPixels + P::tileM - 1) / P::tileM;
  static constexpr int kTilesN = (P::k + P::tileN - 1) / P::tileN;
  /// Whether the pixels of y are those of x.
  static constexpr bool kIsPointwise =
      P::r * P::s == 1 && P::strideH == 1 && P::strideW == 1 &&
      P::padTop == 0 && P::padLeft == 0 && P::p == P::h && P::q == P::w;
  static constexpr int kLines = Plan::kThreads / Plan::kPieces;
  static constexpr int kMine = (P::tileM + kLines - 1) / kLines;

  const unsigned char *x, *w;
  int firstFilter, piece, line;
  uint32_t fill = 0;
  /// The window of each line's pixel: the image's offset, the first tap's place
  /// in it. Outside of x for a line past the last pixel.
  int image[kMine], top[kMine], left[kMine];

  __device__ IntegerOperands(const void *x, const void *w, int firstPixel,
                             int firstFilter)
      : x(static_cast<const unsigned char *>(x)),
        w(static_cast<const unsigned char *>(w)), firstFilter(firstFilter),
        piece(threadIdx.x % Plan::kPieces), line(threadIdx.x / Plan::kPieces) {
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      const int pixel = firstPixel + line + i * kLines;
      const bool isInside = pixel < kPixels;
      if constexpr (kIsPointwise) {
        image[i] = isInside ? pixel * P::c : -1;
      } else {
        const int row = pixel / P::q;
        image[i] = row / P::p * (P::h * P::w * P::c);
        top[i] = isInside ? row % P::p * P::strideH - P::padTop : kOutside;
        left[i] = pixel % P::q * P::strideW - P::padLeft;
      }
    }
  }

  __device__ void copyX(unsigned char *to, int step) const {
    const int first = step * P::depth + piece * 16;
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      const int row = line + i * kLines;
      if (P::tileM % kLines == 0 || row < P::tileM)
        copyPiece<kCopyBytes<P::c>>(
            to + Plan::Tile::offset(row, piece), x, fill,
            [&](int j) { return placeOf(i, first + j); });
    }
  }

  __device__ void copyW(unsigned char *to, int step) const {
    const int first = step * P::depth + piece * 16;
#pragma unroll
    for (int i = 0; i < P::tileN; i += kLines) {
      const int row = line + i, filter = firstFilter + Plan::filterOf(row);
      if (P::tileN % kLines == 0 || row < P::tileN)
        copyPiece<kCopyBytes<kTaps>>(
            to + Plan::Tile::offset(row, piece), w, 0, [&](int j) {
              const int tap = first + j;
              return filter < P::k && tap < kTaps ? filter * kTaps + tap : -1;
            });
    }
  }

private:
  static constexpr int kOutside = -(1 << 30);

  /// Returns the byte of x under a tap of a line's pixel; negative outside.
  __device__ int placeOf(int i, int tap) const {
    if (kTaps % P::depth != 0 && tap >= kTaps)
      return -1;
    if constexpr (kIsPointwise)
      return image[i] < 0 ? -1 : image[i] + tap;
    const int cell = tap / P::c;
    const int row = top[i] + cell / P::s * P::dilationH;
    const int col = left[i] + cell % P::s * P::dilationW;
    if (unsigned(row) >= unsigned(P::h) || unsigned(col) >= unsigned(P::w))
      return -1;
    return image[i] + (row * P::w + col) * P::c + tap % P::c;
  }
};

/// Most matrices of 16 by 8 sums of a warp that leave registers for what the
/// end reads.
inline constexpr int kFewMatrices = 4;

/// Computes tile number `tile` by the stages at `shared`. The zero points are
/// one byte each; floats have none.
template <class P>
__device__ inline void integerTile(const P &end, const void *x, const void *w,
                                   const void *xZero, const void *wZero,
                                   unsigned char *shared, int tile) {
  using Plan = IntegerPlan<P>;
  using Operands = IntegerOperands<P>;
  static_assert(Plan::kNeighbours % P::kVector == 0 && P::k % P::kVector == 0);
  constexpr int cols = Operands::kTilesN, rows = Operands::kTilesM;
  // Bands of rows keep what concurrent blocks read small.
  constexpr int kBand = 8;
  const int band = tile / (kBand * cols) * kBand;
  const int height = rows - band < kBand ? rows - band : kBand;
  const int firstPixel = (band + tile % (kBand * cols) % height) * P::tileM;
  const int firstFilter = tile % (kBand * cols) / height * P::tileN;
  Operands operands(x, w, firstPixel, firstFilter);
  auto stageOf = [&](int step) {
    return shared + step % P::stages * Plan::kStageBytes;
  };

  // The block's share of the steps; blocks of a cluster may have none.
  unsigned rank = 0;
#ifdef FRIT_HAS_CLUSTERS
  if constexpr (P::cluster > 1)
    rank = clusterRank();
#else
  static_assert(P::cluster == 1);
#endif
  constexpr int kEach = (Operands::kSteps + P::cluster - 1) / P::cluster;
  const int begin = int(rank) * kEach;
  const int steps =
      Operands::kSteps - begin < kEach ? Operands::kSteps - begin : kEach;

  // The first stages; filters may not depend on the kernels before this one.
  // Copies run ahead by one stage less, or two if products are under way.
  constexpr int kDistance = P::stages - (P::wgmma ? 2 : 1);
  if constexpr (P::early)
#pragma unroll 1
    for (int step = 0; step < kDistance && step < steps; ++step)
      operands.copyW(stageOf(step) + Plan::kBytesA, begin + step);
  pdlWait();
  int zeroX = 0, zeroW = 0;
  if constexpr (!kHasFloats<P> && !kIsCentered<P>) {
    zeroX = P::signedX ? *static_cast<const int8_t *>(xZero)
                       : int(*static_cast<const uint8_t *>(xZero));
    zeroW = P::signedW ? *static_cast<const int8_t *>(wZero)
                       : int(*static_cast<const uint8_t *>(wZero));
    operands.fill = uint32_t(zeroX & 255) * 0x01010101u;
  }
#pragma unroll 1
  for (int step = 0; step < kDistance; ++step) {
    if (step < steps) {
      if constexpr (!P::early)
        operands.copyW(stageOf(step) + Plan::kBytesA, begin + step);
      operands.copyX(stageOf(step), begin + step);
    }
    commitCopies();
  }

  const int warp = threadIdx.x / 32 % Plan::kWarps;
  const int group = threadIdx.x / (Plan::kWarps * 32);
  const int row = warp % Plan::kWarpsM * P::warpM;
  const int col = warp / Plan::kWarpsM * P::warpN;
  constexpr int kShare = P::depth / P::split;
  // Commits a group even if it is empty, since waiting counts groups.
  auto copyAhead = [&](int step) {
    const int next = step + kDistance;
    if (next < steps) {
      operands.copyX(stageOf(next), begin + next);
      operands.copyW(stageOf(next) + Plan::kBytesA, begin + next);
    }
    commitCopies();
  };
  IntegerSums<P> sums;
  using Sum = typename IntegerSums<P>::Sum;
  using Places = SumPlaces<Plan::kCountM, 16, Plan::kCountN, Plan::kGroup>;
  auto isMine = [&](int i, int j, int half) {
    return sums.isOf(rank, i, j, half);
  };
  // A small tile's end loads what it reads before there are sums.
  constexpr bool kLoadsFirst = Plan::kCountM * Plan::kCountN <= kFewMatrices;
  SumEnd<Places, P> sumEnd = {end};
  auto beginEnd = [&] {
    sumEnd.begin(firstPixel + row, firstFilter + col, Operands::kPixels,
                 isMine);
  };
  if (kLoadsFirst && group == 0)
    beginEnd();
  if constexpr (kUsesWgmma<P>) {
    multiplyByWgmma(sums, stageOf, copyAhead, steps, row, zeroX, zeroW);
  } else {
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      waitCopies<kDistance - 1>();
      // All copies have arrived, and no thread reads the next stage any more.
      __syncthreads();
      copyAhead(step);
      const unsigned char *a = stageOf(step), *b = a + Plan::kBytesA;
#pragma unroll
      for (int k = 0; k < kShare; k += 32)
        sums.multiply(a, b, row, col, group * kShare + k, zeroX, zeroW);
    }
  }
  if (!kHasFloats<P> && steps > 0)
    sums.center(steps * kShare, zeroX, zeroW);
  if constexpr (P::split > 1)
    sums.merge(reinterpret_cast<Sum *>(shared));
#ifdef FRIT_HAS_CLUSTERS
  if constexpr (P::cluster > 1)
    sums.mergeCluster(reinterpret_cast<Sum *>(shared), rank);
#endif
  if (group == 0) {
    if (!kLoadsFirst)
      beginEnd();
    sumEnd.end([&](int i, int j, int c) { return sums.of[i][j][c]; }, isMine);
  }
#ifdef FRIT_HAS_CLUSTERS
  if constexpr (P::cluster > 1)
    sums.endCluster();
#endif
}

/// Computes the tile of the block.
template <class P>
__device__ inline void integerGemm(const P &end, const void *x, const void *w,
                                   const void *xZero = nullptr,
                                   const void *wZero = nullptr) {
  integerTile(end, x, w, xZero, wZero, integerShared<P>(),
              int(blockIdx.x) / P::cluster);
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_INTEGER_INTEGER_GEMM_CUH
