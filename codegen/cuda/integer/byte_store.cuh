//===- byte_store.cuh - What follows sums of bytes on sm_90a --------------===//
//
// The end of the tiles of wgmma_bytes.cuh. Its sums may meet those of another
// product, which have become codes (byte_pair.cuh).
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_INTEGER_BYTE_STORE_CUH
#define FRIT_CODEGEN_CUDA_INTEGER_BYTE_STORE_CUH

#include "frit/integer_gemm.cuh"
#include "frit/wgmma_tile.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// Bytes of an element that the end reads through boxes, and of one that it
/// stores through them; 0 if it does not.
template <class P, int Bytes>
inline constexpr int kByteBoxed =
    P::kVector == 8 && P::split == 1 && Bytes <= 2 &&
            P::tileN * Bytes % kLineBytes == 0
        ? Bytes
        : 0;
template <class P> inline constexpr int kByteBoxRead = 0;
template <class P>
  requires requires { P::boxed; }
inline constexpr int kByteBoxRead<P> = kByteBoxed<P, P::boxed>;
template <class P> inline constexpr int kByteBoxStored = 0;
template <class P>
  requires requires { typename P::Stored; }
inline constexpr int kByteBoxStored<P> =
    kByteBoxRead<P> == 0 || kByteBoxRead<P> == int(sizeof(typename P::Stored))
        ? kByteBoxed<P, int(sizeof(typename P::Stored))>
        : 0;

/// Bytes that ends of P read for columns from shared memory, and how many
/// columns: a block's, if all of its tiles have the same. Without these numbers
/// they come from memory.
template <class P> inline constexpr int kColumnsBytes = 0;
template <class P> inline constexpr int kColumnsKept = P::k;
template <class P>
  requires requires { P::columnBytes; }
inline constexpr int kColumnsBytes<P> = P::columnBytes;
template <class P>
  requires requires { P::columnBytes; }
inline constexpr int kColumnsKept<P> = P::columnsKept;

/// The product that computes a convolution P.
template <class P> struct ByteProduct {
  using Bytes = P;
  static constexpr bool hasBoxes = kByteBoxRead<P> || kByteBoxStored<P>;
  using D = unsigned char;
  static constexpr int64_t m = int64_t(P::n) * P::p * P::q, n = P::k;
  static constexpr int64_t batch = 1, ldd = P::k, strideD = 0;
  static constexpr bool transposeA = false, transposeB = true;
  static constexpr int tileM = P::tileM, tileN = P::tileN, stages = P::stages;
  static constexpr int cluster = P::cluster, split = P::split;
  static constexpr int blocks = P::blocks, raster = P::raster;
  static constexpr bool pingPong = P::pingPong;
  static constexpr bool constantB = P::early;
  static constexpr int columnBytes = kColumnsBytes<P>;
};

template <class P>
  requires kMultipliesBytes<P>
struct WgmmaElements<P> {
  using Bytes = typename P::Bytes;
  using Sum = typename ByteSumOf<Bytes>::Type;

  template <bool AlongA, bool AlongB>
  __device__ static void multiply(Sum (&sums)[P::tileN / 2], uint64_t a,
                                  uint64_t b, bool accumulate) {
    static_assert(AlongA && AlongB);
    if constexpr (kHasFloats<Bytes>)
      WgmmaBytes<P::tileN>::template multiplyFloats<Bytes::floatX,
                                                    Bytes::floatW>(sums, a, b,
                                                                   accumulate);
    else
      WgmmaBytes<P::tileN>::template multiplyBytes<Bytes::signedX,
                                                   Bytes::signedW>(sums, a, b,
                                                                   accumulate);
  }
};

/// What a thread keeps of a tile for its end: nothing, but the codes of the
/// product Q, which P's end finds in its elements as `first`.
template <class Places, class Q, class Source> struct ByteKept {
  using End = SumEnd<Places, Q, Source>;
  using Code = Codes<Q::kVector>;
  const Q &problem;
  End sumEnd = {problem};
  Code of[End::kSteps] = {};

  __device__ void begin(int row, int col, int rows) {
    sumEnd.begin(row, col, rows);
  }
  template <class SumAt> __device__ void keep(const SumAt &sumAt) {
    auto isMine = [](int, int, int) { return true; };
    auto nothing = [](int) {};
    sumEnd.template end<End::kSteps>(
        sumAt, isMine, nothing, nothing,
        [&](int step, int row, int col, const auto &mine, const auto &columns,
            const auto &elements) {
          problem.keep(mine, columns, elements, row, col, of[step]);
        },
        nothing);
  }
  template <class Elements>
  __device__ Elements with(Elements elements, int step) const {
    elements.first = of[step];
    return elements;
  }
};
/// A single product.
struct Alone {};
template <class Places, class Source> struct ByteKept<Places, Alone, Source> {
  Alone problem;
  __device__ void begin(int, int, int) {}
  template <class Elements>
  __device__ const Elements &with(const Elements &elements, int) const {
    return elements;
  }
};

/// Where the end of Q reads columns.
template <class Q, int Count, long Bytes> struct ByteFirst {
  using Source = ColumnsNear<Q, Count, Bytes>;
};
template <int Count, long Bytes> struct ByteFirst<Alone, Count, Bytes> {
  struct Source {};
};

/// Stores one warp's part of a block's tiles: 16 rows of each 64 that its
/// warpgroup multiplies. What the end reads comes into boxes by TMA, for later
/// tiles, too, and what it stores leaves in them; or else threads load before
/// the warpgroup multiplies, and store.
template <class P, class Q = Alone> struct ByteStore {
  using Product = ByteProduct<P>;
  using Plan = WgmmaPlan<Product>;
  static constexpr int kCount = Plan::kUnitN / 8;
  static constexpr bool kReads = kByteBoxRead<P> > 0,
                        kStores = kByteBoxStored<P> > 0;
  // Of boxes, 32 bytes of a thread are read ahead.
  using Places = SumPlaces<Plan::kRowBlocks, 64, kCount, 4, kReads ? 32 : 128>;
  /// What both ends read for columns, in shared memory as far as it fits.
  using Source = ColumnsNear<P, kColumnsKept<P>, kColumnsBytes<P>>;
  using FirstSource =
      typename ByteFirst<Q, kColumnsKept<P>,
                         kColumnsBytes<P> - kSourceBytes<Source>>::Source;
  using End = SumEnd<Places, P, Source>;
  static constexpr bool kIsPair = requires { typename Q::Columns; };
  struct IsMine {
    __device__ bool operator()(int, int, int) const { return true; }
  };
  /// Bytes of an element, columns of a box, steps of the end that boxes of the
  /// same columns serve, and boxes of a tile.
  static constexpr int kBytes = kReads    ? kByteBoxRead<P>
                                : kStores ? kByteBoxStored<P>
                                          : 1;
  static constexpr int kBoxN = kLineBytes / kBytes;
  static constexpr int kBoxSteps = kBoxN / 32 * End::kParts * End::kRows;
  static constexpr int kBoxes = P::tileN / kBoxN * Plan::kRowBlocks;
  /// Boxes by which loads stay behind, so that they need not wait for the store
  /// of the box just left.
  static constexpr int kBehind =
      kStores && Plan::kSlots >= 2 * Plan::kRowBlocks ? Plan::kRowBlocks : 0;

  const P &problem;
  const Q &first;
  const TensorMap *mapR, *mapY;
  unsigned char *slots;
  Barrier *filled;
  float *told;
  End sumEnd = {problem};
  ByteKept<Places, Q, FirstSource> kept = {first};
  /// The current tile's number, the step to the next one, and the warp's row.
  int index = 0, step = 0, row = 0;
  /// Boxes of earlier tiles.
  int boxes = 0;

  __device__ void follow(int number, int between, int from) {
    index = number;
    step = between;
    row = from;
  }
  __device__ unsigned char *boxAt(int box) const {
    return slots + (boxes + box) % Plan::kSlots * kBoxBytes;
  }
  /// Starts loading a box, counted from the current tile's first one, by one
  /// lane. Those of the same columns follow each other.
  __device__ void fetch(int box) {
    const int number = index + box / kBoxes * step, i = box % kBoxes;
    if (number >= Plan::kTiles)
      return;
    const WgmmaTile tile = Plan::tileAt(number, blockIdx.x % Plan::kCluster);
    Barrier &barrier = filled[(boxes + box) % Plan::kSlots];
    barrier.arriveExpecting(kBoxBytes);
    loadBox(boxAt(box), mapR, barrier, tile.n + i / Plan::kRowBlocks * kBoxN,
            tile.m + i % Plan::kRowBlocks * 64 + row);
  }

  /// Fills shared memory with what the ends read for the columns of all tiles,
  /// or of those from `firstCol` on that all tiles of the block have.
  __device__ void keepColumns(int firstCol) {
    constexpr int threads = 32 * Plan::kWarps;
    if constexpr (kColumnsKept<P> == P::k)
      firstCol = 0;
    sumEnd.source = sourceAt<Source>(told);
    fillSource(problem, sumEnd.source, firstCol, threads);
    if constexpr (kIsPair) {
      kept.sumEnd.source =
          sourceAt<FirstSource>(told + kSourceBytes<Source> / sizeof(float));
      fillSource(first, kept.sumEnd.source, firstCol, threads);
    }
    joinThreads(threads);
  }

  __device__ void begin(const WgmmaTile &tile) {
    kept.begin(tile.m, tile.n, int(Product::m));
    if constexpr (kReads) {
      if (boxes == 0 && threadIdx.x % 32 == 0)
#pragma unroll
        for (int box = 0; box < Plan::kSlots - kBehind; ++box)
          fetch(box);
      __syncwarp();
      sumEnd.begin(tile.m, tile.n, int(Product::m));
    } else {
      sumEnd.begin(tile.m, tile.n, int(Product::m), IsMine());
    }
  }

  /// Returns the first of the boxes of a step of the end.
  __device__ static constexpr int boxOf(int step) {
    return step / kBoxSteps * Plan::kRowBlocks;
  }
  /// Returns the place of the thread's elements of a step.
  __device__ unsigned char *placeOf(int step) const {
    const int row = step % 2 * 8 + threadIdx.x % 32 / 4;
    const int byte = (sumEnd.colOf(step) - sumEnd.firstCol) * kBytes % 128;
    const WgmmaBox box = {boxAt(boxOf(step) + step % End::kRows / 2)};
    return box.pieceOf(row, byte / 16) + byte % 16;
  }
  __device__ void read(int step) {
    if constexpr (kReads)
      sumEnd.ahead[step % End::kAhead] = problem.boxedElements(placeOf(step));
    else
      sumEnd.load(step, IsMine());
  }
  __device__ void enter(int step) {
    if constexpr (kReads) {
#pragma unroll
      for (int i = 0; i < Plan::kRowBlocks; ++i) {
        const int box = boxes + boxOf(step) + i;
        filled[box % Plan::kSlots].wait(box / Plan::kSlots % 2);
      }
#pragma unroll
      for (int i = 0; i < End::kAhead; ++i)
        read(step + i);
    } else if constexpr (kStores) {
      if (threadIdx.x % 32 == 0)
        waitStores<Plan::kSlots / Plan::kRowBlocks - 1>();
      __syncwarp();
    }
  }
  /// Stores boxes that are complete, and loads later ones into those that all
  /// lanes have read.
  __device__ void leave(int step) {
    if constexpr (kStores)
      fenceAsync();
    __syncwarp();
    if (threadIdx.x % 32 != 0)
      return;
    if constexpr (kStores) {
#pragma unroll
      for (int i = 0; i < Plan::kRowBlocks; ++i)
        storeBox(mapY, boxAt(boxOf(step) + i),
                 sumEnd.firstCol + step / kBoxSteps * kBoxN,
                 sumEnd.firstRow + i * 64);
      commitStores();
    }
    if constexpr (kReads) {
      if constexpr (kStores)
        waitStores<kBehind ? 1 : 0>();
#pragma unroll
      for (int i = 0; i < Plan::kRowBlocks; ++i)
        fetch(boxOf(step) + i + Plan::kSlots - kBehind);
    }
  }

  /// Keeps the codes of the product before.
  template <Fragment Sums> __device__ void keep(const Sums &sums) {
    kept.keep(
        [&](int i, int j, int c) { return sums.pair(i, j, c / 2)[c % 2]; });
  }
  template <Fragment Sums> __device__ void end(const Sums &sums, int part = 0) {
    auto sumAt = [&](int i, int j, int c) {
      return sums.pair(i, part * kCount + j, c / 2)[c % 2];
    };
    if constexpr (kReads || kStores || kIsPair) {
      // Without boxes to read, loads go on from one box to the next.
      sumEnd.template end<kBoxSteps, kReads>(
          sumAt, IsMine(), [&](int step) { enter(step); },
          [&](int step) { read(step); },
          [&](int step, int row, int col, const auto &mine, const auto &columns,
              const auto &loaded) {
            const auto &elements = kept.with(loaded, step);
            if constexpr (kStores)
              problem.storeTo(
                  mine, columns, elements, row, col, true,
                  reinterpret_cast<typename P::Stored *>(placeOf(step)));
            else
              problem.store(mine, columns, elements, row, col,
                            col < P::k && row < sumEnd.rows);
          },
          [&](int step) { leave(step); });
      boxes += kBoxes;
      // Products follow, which a warp must begin together.
      __syncwarp();
    } else {
      sumEnd.end(sumAt, IsMine());
    }
  }
  __device__ static void drain() {
    if (kStores && threadIdx.x % 32 == 0)
      waitStores<0>();
  }
};

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_INTEGER_BYTE_STORE_CUH
