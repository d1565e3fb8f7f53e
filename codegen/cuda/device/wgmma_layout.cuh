//===- wgmma_layout.cuh - Shared memory layout of WGMMA kernels -----------===//
//
// Threads and shared memory of the kernels that use WGMMA, as functions of
// their problems and schedules. Kernels, the compiler and the checks all use
// it. It is plain C++ without includes. `long` has 64 bits on all hosts that
// frit supports.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_DEVICE_WGMMA_LAYOUT_CUH
#define FRIT_CODEGEN_CUDA_DEVICE_WGMMA_LAYOUT_CUH

namespace frit {

/// Bytes of a line of the 128-byte swizzle, and of the eight lines after which
/// its pattern repeats.
inline constexpr int kLineBytes = 128, kPatternBytes = 8 * kLineBytes;
/// Steps of k in a stage: the 16-bit elements of a line.
inline constexpr int kWgmmaDepth = kLineBytes / 2;
/// Lines and bytes of a box of the result, which a warp stores by one TMA copy.
inline constexpr int kBoxLines = 16, kBoxBytes = kBoxLines * kLineBytes;
/// Bytes reserved for a block's mbarriers.
inline constexpr int kBarrierBytes = 512;

/// Bytes of shared memory of an SM of sm_90a, and those that the driver
/// reserves for each block. The compiler's description of sm_90a has them from
/// here.
inline constexpr long kSharedPerSm = 228 << 10, kSharedReserved = 1 << 10;
/// Returns the maximum shared memory in bytes of a block if `blocks` blocks
/// share an SM.
constexpr long maxSharedBytes(long blocks) {
  return kSharedPerSm / blocks - kSharedReserved;
}

/// A block of wgmma_gemm.cuh or wgmma_conv.cuh. Its shared memory holds, in
/// this order: the stages, each with lines of A and then of B; the boxes of the
/// result; the partial sums from other blocks, unless they overlay the stages;
/// the moments of columns, if they are taken, or what the end reads for
/// columns; the barriers.
struct WgmmaLayout {
  long tileM = 128, tileN = 128, stages = 4;
  /// Blocks per cluster that share B, and that split k; blocks per SM.
  long cluster = 1, split = 1, blocks = 1;
  /// Whether the moments of the result's columns are taken.
  bool columnMoments = false;
  /// Whether the result is stored through boxes in shared memory, or else by
  /// threads, from registers.
  bool storesBoxes = true;
  /// Whether boxes bring what the threads that store the result read, or take
  /// it from these threads.
  bool passesBoxes = false;
  /// Bytes that the end reads for columns from shared memory.
  long columnBytes = 0;

  /// Returns the number of consumer warps.
  constexpr long warps() const { return tileM / 16; }
  /// Returns whether consumer warps take registers from the producer, which is
  /// then a whole warpgroup instead of a warp.
  constexpr bool movesRegisters() const { return tileM == 128 && blocks == 1; }
  constexpr long threads() const {
    return 32 * warps() + (movesRegisters() ? 128 : 32);
  }
  constexpr long blocksPerCluster() const { return cluster * split; }

  constexpr long bytesA() const { return tileM * kLineBytes; }
  constexpr long bytesB() const { return tileN * kLineBytes; }
  constexpr long stageBytes() const { return bytesA() + bytesB(); }

  /// With split-K, blocks divide the units of the tile: 16 rows by `unitN`
  /// columns, which are all columns unless there are more blocks than warps.
  /// Each block finishes `owned` units, whose partial sums the others send it.
  constexpr long parts() const { return split > warps() ? split / warps() : 1; }
  constexpr long unitN() const { return tileN / parts(); }
  constexpr long owned() const { return warps() * parts() / split; }
  constexpr long unitBytes() const { return 16 * unitN() * 4; }
  constexpr long receiveBytes() const {
    return (split - 1) * owned() * unitBytes();
  }

  /// Returns the bytes that the end keeps for columns: moments of two boxes'
  /// columns, which the warps of a warpgroup exchange, or `columnBytes`.
  constexpr long momentBytes() const {
    return columnMoments ? warps() * 2 * kLineBytes / 2 * 8 : columnBytes;
  }

  /// Returns whether shared memory has no room for both the stages and the
  /// partial sums from other blocks. These then overlay the stages, after the
  /// cluster's last product.
  constexpr bool overlaysStages() const {
    return split > 1 && stages * stageBytes() + receiveBytes() + momentBytes() +
                                kBarrierBytes +
                                leastSlots() * owned() * kBoxBytes >
                            maxSharedBytes(blocks);
  }
  constexpr long fixedBytes() const {
    return stages * stageBytes() + (overlaysStages() ? 0 : receiveBytes()) +
           momentBytes() + kBarrierBytes;
  }
  constexpr bool hasBoxes() const { return storesBoxes || passesBoxes; }
  constexpr long leastSlots() const { return hasBoxes() ? 1 : 0; }
  /// Returns the boxes of a unit in shared memory at a time: a power of two, or
  /// 0 if there are none.
  constexpr long slots() const {
    long most = !hasBoxes() ? 0 : tileM == 128 && split == 1 ? 4 : 2;
    while (most > 1 &&
           fixedBytes() + most * owned() * kBoxBytes > maxSharedBytes(blocks))
      most /= 2;
    return most;
  }
  constexpr long sharedBytes() const {
    return fixedBytes() + slots() * owned() * kBoxBytes;
  }
  /// Returns the tiles of a batch of m × n results; counts clusters if blocks
  /// share B.
  constexpr long tilesOf(long m, long n, long batch) const {
    long rows = tileM * cluster;
    return (m + rows - 1) / rows * ((n + tileN - 1) / tileN) * batch;
  }
  /// Returns the blocks of a launch on `sms` SMs. They are persistent unless
  /// they split k. There is at least one cluster, even if not all of its blocks
  /// fit at a time.
  constexpr long gridOf(long m, long n, long batch, long sms) const {
    long tiles = tilesOf(m, n, batch), most = sms * blocks / cluster;
    if (split > 1)
      return tiles * blocksPerCluster();
    if (most < 1)
      most = 1;
    return (tiles < most ? tiles : most) * cluster;
  }
  /// Returns whether each of two consumer warpgroups can have tiles of its own
  /// (ping-pong): the accumulators of a whole tile fit into its registers.
  /// What threads store themselves takes more registers.
  constexpr bool canPingPong() const {
    return split == 1 && tileM == 128 && tileN <= (storesBoxes ? 192 : 128) &&
           blocks == 1;
  }
  /// Returns whether ping-pong pays: blocks have several tiles, and one
  /// warpgroup stores while the other multiplies.
  constexpr bool pingPongs(long m, long n, long batch, long sms) const {
    return canPingPong() && tilesOf(m, n, batch) * cluster > sms;
  }
  /// Returns the rows of tiles to traverse together, column by column, so that
  /// the blocks of a wave read about a square of operands, which then come from
  /// L2.
  constexpr long rasterRows(long sms) const {
    long rows = 1;
    while (rows * rows * tileM * cluster * cluster < sms * tileN)
      ++rows;
    return rows;
  }
  /// Returns whether units are whole and shared memory has room for them.
  constexpr bool fits() const {
    return warps() * parts() % split == 0 && unitN() % 64 == 0 &&
           (!columnMoments || split <= 1) &&
           (!overlaysStages() || receiveBytes() <= stages * stageBytes()) &&
           sharedBytes() <= maxSharedBytes(blocks);
  }
};

/// A block of wgmma_sparse.cuh: `tileN` rows of A, and 128 columns of the
/// result. Its shared memory holds the stages of A, or later the sums, and then
/// the barriers.
struct WgmmaSparseLayout {
  long tileN, stages;

  static constexpr long columns = 128, warps = columns / 16;
  /// Consumer warps take registers from the producer, a whole warpgroup.
  static constexpr long threads = 32 * warps + 128;
  /// Floats of a row of sums; rows begin in different banks.
  static constexpr long sumStride = columns + 4;

  constexpr long stageBytes() const { return tileN * kLineBytes; }
  constexpr long mainBytes() const {
    long sums = tileN * sumStride * 4, ring = stages * stageBytes();
    return sums > ring ? sums : ring;
  }
  constexpr long sharedBytes() const { return mainBytes() + kBarrierBytes; }
  constexpr long gridOf(long m, long n) const {
    return (m + tileN - 1) / tileN * (n / columns);
  }
  constexpr bool fits() const {
    return 16 * stages <= kBarrierBytes && sharedBytes() <= maxSharedBytes(1);
  }
};

/// A block of conv_b2b.cuh, which documents the sizes of the problem. Its
/// shared memory holds, in this order: the stages, each a row of x; the filters
/// of the first convolution and of the last; the boxes of the result; the
/// barriers.
struct ConvB2bLayout {
  long k, r, s, q, filters;
  long warpgroups = 2, stages = 0, slots = 4;

  /// Pixels of a tile.
  static constexpr long tile = 64;

  constexpr long threads() const { return 128 * warpgroups + 32; }
  constexpr long warps() const { return 4 * warpgroups; }
  /// Returns the pixels of a row of x that a tile reads.
  constexpr long pixels() const { return (q < tile ? q : tile) + s - 1; }
  constexpr long rowBytes() const { return pixels() * kLineBytes; }
  constexpr long stageBytes() const {
    return (rowBytes() + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  }
  /// Return the bytes of the filters of one tap of the first convolution, and
  /// of all filters of the last one.
  constexpr long tapBytes() const { return k * kLineBytes; }
  constexpr long lastBytes() const { return filters * k * 2; }
  constexpr long warpBytes() const { return slots * kBoxBytes; }

  constexpr long filtersAt() const { return stages * stageBytes(); }
  constexpr long lastAt() const { return filtersAt() + r * s * tapBytes(); }
  constexpr long boxesAt() const { return lastAt() + lastBytes(); }
  constexpr long barriersAt() const {
    return boxesAt() + warps() * warpBytes();
  }
  constexpr long sharedBytes() const { return barriersAt() + kBarrierBytes; }
  constexpr bool fits() const { return sharedBytes() <= maxSharedBytes(1); }
};

/// A block of byte_rows.cuh: two warpgroups with 64 pixels of a row of y each,
/// of two rows or of one. Its shared memory holds, in this order: the stages,
/// each with the rows of x that a tile reads; the filters, in lines; the
/// barriers.
struct ByteRowsLayout {
  long c, k, r, s, w, q;
  long stages = 2, blocks = 1;

  /// Pixels and groups of consecutive pixels of a tile.
  static constexpr long pixels = 64, groups = 2;
  /// Channels of a pixel that is a line of its own without a swizzle.
  static constexpr long bareBytes = 16;

  constexpr long threads() const { return 128 * groups + 32; }
  /// Return the tiles along a row of y, and the rows of a tile, of y and of x.
  constexpr long strips() const { return (q + pixels - 1) / pixels; }
  constexpr long tileRows() const { return groups / strips(); }
  constexpr long rows() const { return tileRows() + r - 1; }
  /// Whether rows of x are copied as they are in memory, without padding.
  constexpr bool isBare() const { return c == bareBytes; }
  /// Return the pixels of x in a row of shared memory, their bytes, and those
  /// from one row to the next.
  constexpr long width() const { return isBare() ? w : q + s - 1; }
  constexpr long lineBytes() const { return width() * c; }
  constexpr long rowBytes() const {
    return isBare() ? lineBytes() : roundUp(lineBytes(), kPatternBytes);
  }
  constexpr long stageBytes() const {
    return roundUp(rows() * rowBytes(), kPatternBytes);
  }
  /// Returns the lines of each filter.
  constexpr long lines() const {
    return roundUp(r * s * c, kLineBytes) / kLineBytes;
  }
  constexpr long filterBytes() const { return lines() * k * kLineBytes; }
  constexpr long filtersAt() const { return stages * stageBytes(); }
  constexpr long barriersAt() const { return filtersAt() + filterBytes(); }
  constexpr long sharedBytes() const { return barriersAt() + kBarrierBytes; }
  constexpr bool fits() const {
    return sharedBytes() <= maxSharedBytes(blocks);
  }

private:
  static constexpr long roundUp(long bytes, long to) {
    return (bytes + to - 1) / to * to;
  }
};

/// A block of byte_chain.cuh. Its shared memory holds, in this order: that of
/// the first convolution without its barriers; the filters of the last one; for
/// each warp, boxes of all columns; what both ends read for columns; the
/// barriers.
struct ByteChainLayout {
  ByteRowsLayout first;
  long filters;

  /// Columns of a box.
  static constexpr long columns = kLineBytes;
  /// Bytes of a column that the ends may read from shared memory: two floats.
  static constexpr long columnBytes = 8;

  constexpr long threads() const { return first.threads(); }
  constexpr long warps() const { return 4 * ByteRowsLayout::groups; }
  constexpr long boxes() const { return filters / columns; }
  constexpr long lastBytes() const { return filters * first.k; }
  constexpr long lastAt() const { return first.barriersAt(); }
  constexpr long boxesAt() const { return lastAt() + lastBytes(); }
  constexpr long columnsAt() const {
    return boxesAt() + warps() * boxes() * kBoxBytes;
  }
  constexpr long firstColumnsAt() const {
    return columnsAt() + filters * columnBytes;
  }
  constexpr long barriersAt() const {
    return firstColumnsAt() + first.k * columnBytes;
  }
  constexpr long sharedBytes() const { return barriersAt() + kBarrierBytes; }
  constexpr bool fits() const {
    return sharedBytes() <= maxSharedBytes(first.blocks);
  }
};

/// A block of wgmma_attention.cuh for heads of `size` and values of
/// `valueSize`. Its shared memory holds, in this order: the queries of one tile
/// or of two; the stages of keys and those of values; the result; the barriers;
/// the data that warpgroups with the same queries exchange.
struct WgmmaAttentionLayout {
  long size, valueSize;
  long tileM, tileN, splits, stages;
  /// Blocks per SM.
  long blocks = 1;

  static constexpr long barrierBytes = 256;

  /// Rounds up to whole lines.
  static constexpr long rounded(long size) {
    return (size + kWgmmaDepth - 1) / kWgmmaDepth * kWgmmaDepth;
  }
  /// Returns the columns of the product with values: the least N of Wgmma that
  /// `size` fits into.
  static constexpr long columns(long size) {
    for (long n : {16, 32, 40, 48, 64, 72, 80, 96, 128, 160})
      if (size <= n)
        return n;
    return rounded(size);
  }
  /// Returns the number of consumer warps; the producer is another warpgroup.
  constexpr long warps() const { return tileM / 16 * splits; }
  constexpr long threads() const { return 32 * warps() + 128; }

  constexpr long queryBytes() const { return tileM * rounded(size) * 2; }
  constexpr long keyBytes() const { return tileN * rounded(size) * 2; }
  constexpr long valueBytes() const { return tileN * rounded(valueSize) * 2; }
  constexpr long resultBytes() const { return tileM * rounded(valueSize) * 2; }
  /// Returns the floats per thread that warpgroups with the same queries
  /// exchange.
  constexpr long joined() const { return columns(valueSize) / 2 + 4; }
  constexpr long joinBytes() const { return (splits - 1) * joined() * 128 * 4; }

  constexpr long leastBytes() const {
    return queryBytes() + stages * (keyBytes() + valueBytes()) + resultBytes() +
           barrierBytes + joinBytes();
  }
  /// Loads the next tile's queries ahead if both tiles' queries fit.
  constexpr long queryStages() const {
    return leastBytes() + queryBytes() <= maxSharedBytes(blocks) ? 2 : 1;
  }
  constexpr long sharedBytes() const {
    return leastBytes() + (queryStages() - 1) * queryBytes();
  }
};

/// A block of wgmma_attention_gradient.cuh: two consumer warpgroups with 64
/// rows each, and a producer.
struct WgmmaAttentionGradientLayout {
  long stages;

  /// Heads have more elements than `smallest`, and at most `largest`.
  static constexpr long smallest = 32, largest = kWgmmaDepth;
  static constexpr long warps = 8, threads = 32 * warps + 128;
  /// Rows of a tile, which stay in registers, and rows of a stage.
  static constexpr long tileM = 16 * warps, tileN = 64;

  /// Returns the bytes of the rows of two operands that stay, and of two floats
  /// per row.
  static constexpr long rowBytes() { return 2 * tileM * kLineBytes; }
  static constexpr long rowNumberBytes() { return 2 * tileM * 4; }
  /// Returns the bytes of a stage: the same for its rows.
  static constexpr long stageBytes() { return 2 * tileN * kLineBytes; }
  static constexpr long stageNumberBytes() { return 2 * tileN * 4; }
  /// Returns the bytes of two results.
  static constexpr long resultBytes() { return 2 * tileM * kLineBytes; }
  constexpr long sharedBytes() const {
    return rowBytes() + resultBytes() + rowNumberBytes() +
           stages * (stageBytes() + stageNumberBytes()) + kBarrierBytes;
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_DEVICE_WGMMA_LAYOUT_CUH
