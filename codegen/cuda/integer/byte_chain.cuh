//===- byte_chain.cuh - Back-to-back convolutions of bytes on sm_90a ------===//
//
// y = end(w2 · middle), middle = end1(conv(x, w)): a convolution of
// byte_rows.cuh whose sums become bytes, and the pointwise one that reads them.
// These bytes never leave the registers: a thread's four neighbouring codes of
// a row are a register of the second product's operand.
//
// P is the struct of the second convolution, as in wgmma_bytes.cuh, with the
// tile's numbers of byte_rows.cuh. Its end may store a byte for each sum
// through boxes (`Stored`, storeTo), and read one (`boxed`). Q derives from P
// and describes the first convolution as byte_rows.cuh does, with a kVector of
// 4 and, instead of `store`,
//
//   void keep(const int (&sum)[4], const Columns &columns,
//             const Elements &elements, unsigned row, unsigned col,
//             Codes<4> &to) const;
//
// which reads nothing for each sum. Q::k is P::c, 32 or 64; P::k is a multiple
// of 128; P's kVector is 8.
//
//   threads, shared   those of ByteChainLayout; any grid
//
// Tensor maps: x as in byte_rows.cuh, and
//
//   w    tiled, dims r * s * c, 2, 4, 2, k / 16, strides 1, 4, 2, 16 filters;
//        box 128, 2, 4, 2, k / 16; lines swizzled by 128 bytes
//   w2   tiled, dims c, 2, 4, 4, k / 32, strides 1, 8, 2, 32 filters; box c, 2,
//        4, 4, 4; lines swizzled by c bytes
//   y    if the end stores boxes: tiled, dims k, q, n * p; box 128, 16, 1;
//        swizzled by 128 bytes
//   r    as y, if the end reads boxes
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_INTEGER_BYTE_CHAIN_CUH
#define FRIT_CODEGEN_CUDA_INTEGER_BYTE_CHAIN_CUH

#include "frit/byte_rows.cuh"

namespace frit {

#ifdef FRIT_HAS_WGMMA

/// The block of the first convolution, and what the second one has beside it.
template <class P, class Q> struct ByteChainBlock : ByteRowsBlock<Q> {
  using Base = ByteRowsBlock<Q>;
  static constexpr ByteChainLayout kLayout = {Base::kLayout, P::k};
  static constexpr int kBoxes = kLayout.boxes(), kWarps = kLayout.warps();
  static_assert(Q::k == P::c && (P::c == 32 || P::c == 64) && P::k % 128 == 0);
  static_assert(P::r * P::s == 1 && P::p == Q::p && P::q == Q::q &&
                P::n == Q::n);
  static_assert(P::kVector == 8 && Q::kVector == 4);
  static_assert((2 * Q::stages + 1 + kWarps * kBoxes + 1) * 8 <= kBarrierBytes);
  static_assert(kLayout.fits() && !Base::kLayout.isBare());

  Barrier *filled, *lastFull;

  __device__ ByteChainBlock() : Base(kLayout.barriersAt()) {
    filled = Base::filters + 1;
    lastFull = filled + kWarps * kBoxes;
  }
  __device__ void initBarriers() {
    if (threadIdx.x == 0) {
      for (int i = 0; i < kWarps * kBoxes; ++i)
        filled[i].init(1);
      lastFull->init(1);
    }
    Base::initBarriers();
  }
  __device__ void loadLast(const TensorMap *mapLast) {
    lastFull->arriveExpecting(kLayout.lastBytes());
    for (int i = 0; i < P::k; i += 128)
      loadBox(Base::shared + kLayout.lastAt() + i * P::c, mapLast, *lastFull, 0,
              0, 0, 0, i / 32);
  }
};

/// A consumer warpgroup, which computes its group of pixels of every tile.
template <class P, class Q> struct ByteChainWarpgroup {
  using Block = ByteChainBlock<P, Q>;
  using First = ByteRowsWarpgroup<Q>;
  using FirstSource = ColumnsNear<Q, Q::k, Q::k * ByteChainLayout::columnBytes>;
  using LastSource = ColumnsNear<P, P::k, P::k * ByteChainLayout::columnBytes>;
  using Middle = SumEnd<SumPlaces<1, 64, Q::k / 8, 2>, Q, FirstSource>;
  /// Columns that are multiplied at a time: more would take registers that two
  /// blocks of an SM do not have, and products would run one after the other.
  static constexpr int kColumns = 64;
  using LastSums = int[kColumns / 2];
  using End = SumEnd<SumPlaces<1, 64, kColumns / 8, 4, 32>, P, LastSource>;
  using Operand = uint32_t[Q::k / 32][4];
  static constexpr bool kReads = kByteBoxRead<P> == 1,
                        kStores = kByteBoxStored<P> == 1;
  struct IsMine {
    __device__ bool operator()(int, int, int) const { return true; }
  };

  const Block &block;
  const P &problem;
  const Q &first;
  const TensorMap *mapR, *mapY;
  int group, warp;

  __device__ FirstSource firstColumns() const {
    return sourceAt<FirstSource>(block.shared +
                                 Block::kLayout.firstColumnsAt());
  }
  __device__ LastSource lastColumns() const {
    return sourceAt<LastSource>(block.shared + Block::kLayout.columnsAt());
  }
  /// Fills shared memory with what the ends read for columns.
  __device__ void keepColumns() const {
    constexpr int threads = 32 * Block::kWarps;
    fillSource(first, firstColumns(), 0, threads);
    fillSource(problem, lastColumns(), 0, threads);
    joinThreads(threads);
  }

  __device__ unsigned char *boxAt(int box) const {
    return block.shared + Block::kLayout.boxesAt() +
           (warp * Block::kBoxes + box) * kBoxBytes;
  }

  /// Starts loading what the end of a tile reads, when the stores of the tile
  /// before have read its boxes.
  __device__ void fetch(int col, int line) const {
    if (threadIdx.x % 32 == 0) {
      waitStores<0>();
      if constexpr (kReads)
#pragma unroll
        for (int i = 0; i < Block::kBoxes; ++i) {
          Barrier &barrier = block.filled[warp * Block::kBoxes + i];
          barrier.arriveExpecting(kBoxBytes);
          loadBox(boxAt(i), mapR, barrier, i * 128, col, line);
        }
    }
    __syncwarp();
  }

  /// Makes the first product's sums the second one's operand.
  __device__ void endFirst(Operand &operand, const typename First::Sums &sums,
                           int row, int rows) const {
    Middle middle = {first, firstColumns()};
    middle.begin(row, 0, rows, IsMine());
    auto nothing = [](int) {};
    middle.template end<Middle::kSteps>(
        [&](int, int j, int c) { return sums[j * 4 + c]; }, IsMine(), nothing,
        [&](int step) { middle.load(step, IsMine()); },
        [&](int step, int row, int col, const auto &mine, const auto &columns,
            const auto &elements) {
          Codes<4> codes;
          first.keep(mine, columns, elements, row, col, codes);
          operand[step / 4][step % 4] = codes.words[0];
        },
        nothing);
  }

  /// Multiplies the operand by the filters from `first` on.
  __device__ void multiplyMiddle(LastSums &sums, const Operand &operand,
                                 int first) const {
    uint64_t b = describeOperand<true, P::c>(
        block.shared + Block::kLayout.lastAt() + first * P::c);
    fenceProducts();
#pragma unroll
    for (int i = 0; i < Q::k / 32; ++i)
      WgmmaBytes<kColumns>::template multiplyBytes<P::signedX, P::signedW>(
          sums, operand[i], b + i * 2, i > 0);
    commitProducts();
    waitProducts<0>();
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i)
      keepBelow(sums[i]);
  }

  /// Passes sums to the end, and stores the box that they complete.
  __device__ void endColumns(const LastSums &sums, int first, int row, int rows,
                             int col, int line, uint32_t parity) const {
    const int box = first / 128;
    End end = {problem, lastColumns()};
    auto placeOf = [&](int step) {
      const int byte = end.colOf(step) % 128;
      const WgmmaBox place = {boxAt(box)};
      return place.pieceOf(step % 2 * 8 + threadIdx.x % 32 / 4, byte / 16) +
             byte % 16;
    };
    auto read = [&](int step) {
      if constexpr (kReads)
        end.ahead[step % End::kAhead] = problem.boxedElements(placeOf(step));
      else
        end.load(step, IsMine());
    };
    end.begin(row, first, rows);
    if constexpr (kReads)
      block.filled[warp * Block::kBoxes + box].wait(parity);
#pragma unroll
    for (int step = 0; step < End::kAhead; ++step)
      read(step);
    auto nothing = [](int) {};
    end.template end<End::kSteps>(
        [&](int, int j, int c) { return sums[j * 4 + c]; }, IsMine(), nothing,
        read,
        [&](int step, int row, int col, const auto &mine, const auto &columns,
            const auto &elements) {
          if constexpr (kStores)
            problem.storeTo(
                mine, columns, elements, row, col, true,
                reinterpret_cast<typename P::Stored *>(placeOf(step)));
          else
            problem.store(mine, columns, elements, row, col, row < rows);
        },
        nothing);
    if (first % 128 + kColumns < 128)
      return;
    fenceAsync();
    __syncwarp();
    if (kStores && threadIdx.x % 32 == 0) {
      storeBox(mapY, boxAt(box), box * 128, col, line);
      commitStores();
    }
    __syncwarp();
  }

  __device__ void run() const {
    const int strip = group % Block::kStrips, tileRow = group / Block::kStrips;
    const int col = strip * ByteRowsLayout::pixels + warp % 4 * 16;
    PipelineState<Q::stages> place;
    uint32_t parity = 0;
    keepColumns();
    block.filters->wait(0);
    block.lastFull->wait(0);
    for (int tile = blockIdx.x; tile < Block::kTiles; tile += gridDim.x) {
      const int row = tile % Block::kImageTiles * Block::kTileRows + tileRow;
      const bool isInside = row < P::p;
      const int line = tile / Block::kImageTiles * P::p + row;
      const int pixel = line * P::q + col, end = (line + 1) * P::q;
      if (isInside)
        fetch(col, line);
      block.full[place.stage].wait(place.parity);
      typename First::Sums sums;
      First{block, group}.multiply(
          sums, block.stageAt(place.stage) + tileRow * Block::kRowBytes +
                    strip * ByteRowsLayout::pixels * Q::c);
      if (threadIdx.x % 32 == 0)
        block.empty[place.stage].arrive();
      place.advance();
      if (!isInside)
        continue;
      Operand operand;
      endFirst(operand, sums, pixel, end);
#pragma unroll 1
      for (int first = 0; first < P::k; first += kColumns) {
        LastSums last;
        multiplyMiddle(last, operand, first);
        endColumns(last, first, pixel, end, col, line, parity);
      }
      parity ^= 1;
    }
    // Shared memory must outlive the stores that read it.
    if (threadIdx.x % 32 == 0)
      waitStores<0>();
    __syncwarp();
  }
};

/// Computes both convolutions. `mapR` and `mapY` are the maps of what the end
/// reads and stores through boxes.
template <class P, class Q>
__device__ inline void
byteChain(const P &end, const Q &first, const TensorMap *mapX,
          const TensorMap *mapW, const TensorMap *mapLast,
          const TensorMap *mapR = nullptr, const TensorMap *mapY = nullptr) {
  using Block = ByteChainBlock<P, Q>;
  const int warp = __shfl_sync(0xffffffff, int(threadIdx.x) / 32, 0);
  if (threadIdx.x == 0)
    prefetchMap(mapW);
  Block block;
  block.initBarriers();
  pdlTrigger();
  if (warp == Block::kWarps) {
    if (threadIdx.x % 32 == 0) {
      if constexpr (!P::early)
        pdlWait();
      block.loadLast(mapLast);
      block.produce(mapX, mapW, nullptr);
    }
    return;
  }
  pdlWait();
  ByteChainWarpgroup<P, Q>{block, end, first, mapR, mapY, warp / 4, warp}.run();
}

#else

/// Codes of the pixels of a tile of ByteFloor.
template <class Q> struct MiddleFloor : ByteFloor<Q> {
  uint32_t *codes;
  int firstRow;
  __device__ void store(const int (&sum)[4], const typename Q::Columns &columns,
                        const typename Q::Elements &elements, unsigned row,
                        unsigned col, bool isInside) const {
    Codes<4> kept;
    Q::keep(sum, columns, elements, row, col, kept);
    if (isInside)
      codes[(row - firstRow) * (Q::k / 4) + col / 4] = kept.words[0];
  }
};

/// Computes both convolutions without WGMMA, in any grid of blocks of 128
/// threads or more.
template <class P, class Q>
__device__ inline void
byteChainFloor(const P &end, const Q &first, const void *x, const void *w,
               const void *xZero, const void *wZero, const void *last) {
  using Floor = ByteFloor<Q>;
  using Plan = IntegerPlan<Floor>;
  constexpr int kPixels = Floor::tileM, kPixelsInAll = P::n * P::p * P::q;
  static_assert(Q::k <= Floor::tileN);
  __shared__ __align__(
      128) unsigned char stages[Floor::stages * Plan::kStageBytes];
  __shared__ uint32_t codes[kPixels * Q::k / 4];
  if (threadIdx.x >= Plan::kThreads)
    return;
  auto byteOf = [](const void *from, int64_t at, bool isSigned) {
    auto byte = static_cast<const unsigned char *>(from)[at];
    return isSigned ? int(int8_t(byte)) : int(byte);
  };
  for (int row = blockIdx.x * kPixels; row < kPixelsInAll;
       row += gridDim.x * kPixels) {
    integerTile(MiddleFloor<Q>{{first}, codes, row}, x, w, xZero, wZero, stages,
                row / kPixels);
    __syncthreads();
    for (int i = threadIdx.x; i < kPixels * P::k / 8; i += Plan::kThreads) {
      const int pixel = i / (P::k / 8), col = i % (P::k / 8) * 8;
      if (row + pixel >= kPixelsInAll)
        break;
      int sum[8] = {};
      for (int c = 0; c < P::c; ++c)
        for (int v = 0; v < 8; ++v)
          sum[v] += byteOf(codes, pixel * P::c + c, P::signedX) *
                    byteOf(last, int64_t(col + v) * P::c + c, P::signedW);
      end.store(sum, end.columns(col), end.elements(row + pixel, col),
                row + pixel, col, true);
    }
    __syncthreads();
  }
}

#endif

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_INTEGER_BYTE_CHAIN_CUH
