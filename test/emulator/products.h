//===- products.h - WGMMA of sm_90a ---------------------------------------===//
//
// Emulates `wgmma` of the PTX ISA, "Asynchronous Warpgroup Level Matrix
// Instructions": 64 rows by N columns by 16 steps of k, of 16-bit floats,
// summed in f32, or by 32 steps of k, of bytes, summed in i32, or of 8-bit
// floats, summed in f32. Operands are in shared memory as descriptors state; a
// of 16 bits or of bytes may be in registers, and is if it is 2:4 sparse, of 32
// steps.
//
// Products are computed when all 128 threads have committed their group, so
// operands that have not arrived are poison. They complete later, when nothing
// else can run. Until then, accumulators are poison; and if an operand's row or
// column changes in between, its products stay poison.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_EMULATOR_PRODUCTS_H
#define FRIT_TEST_EMULATOR_PRODUCTS_H

#include "barriers.h"
#include "tensor_copies.h"

#include <cmath>
#include <deque>

namespace emu {

/// Converts 16 bits, or a byte, to float.
using ToFloat = float (*)(uint16_t bits);

/// A product as one thread issues it.
struct Product {
  float *sums; ///< of bytes: the bits of i32
  int columns;
  ToFloat toFloat = nullptr;
  uint64_t a, b;
  uint32_t registers[4]; ///< the A operand, if in registers
  bool isInRegisters, alongA, alongB, accumulates;
  /// The conversion of b; of bytes it may differ from that of a.
  ToFloat toFloatB = toFloat;
  bool isOfBytes = false;
  /// Whether bytes are floats, whose sums are f32.
  bool hasFloats = false;
  /// Whether of four steps of a two are kept; where, in two bits each; and the
  /// lanes that have these places.
  bool isSparse = false;
  uint32_t places = 0;
  int half = 0;

  int steps() const { return isOfBytes || isSparse ? 32 : 16; }
};

/// A warpgroup's accumulators, row-major, while products add to them. Those of
/// bytes have the bits of i32.
using WarpgroupSums = std::vector<float>;

/// Accumulators of one thread that pending products write.
struct OwnedSums {
  float *sums;
  std::vector<float> before;
  std::shared_ptr<WarpgroupSums> together;
  int lastGroup;
};

struct ThreadProducts {
  std::vector<Product> open;
  std::vector<OwnedSums> owned;
  bool isFenced = false;
};

/// Copies of the shared memory that products have read.
class Snapshot {
public:
  void add(uint32_t first, uint32_t end) {
    for (auto &[begin, last] : ranges)
      if (first <= last && end >= begin) {
        begin = std::min(begin, first);
        last = std::max(last, end);
        return;
      }
    ranges.push_back({first, end});
  }
  void take(const Block &block) {
    for (auto [begin, end] : ranges)
      bytes.emplace_back(block.shared + begin, block.shared + end);
  }
  bool isIntact(const Block &block) const {
    for (size_t i = 0; i < bytes.size(); ++i)
      if (memcmp(block.shared + ranges[i].first, bytes[i].data(),
                 bytes[i].size()))
        return false;
    return true;
  }

private:
  std::vector<std::pair<uint32_t, uint32_t>> ranges;
  std::vector<std::vector<char>> bytes;
};

/// A computed product, and snapshots of its operands by row and column.
struct ComputedProduct {
  Product product;
  std::vector<float> a, b;
  std::shared_ptr<WarpgroupSums> sums;
};

struct ProductGroup {
  std::vector<ComputedProduct> products;
  Snapshot read;
};

struct Warpgroup {
  unsigned arrived = 0, phase = 0;
  /// Numbers of committed and of completed groups.
  int closed = 0, ended = 0;
  /// The pending groups, in order.
  std::deque<ProductGroup> underWay;
};

inline Warpgroup &warpgroupOf(const Thread &thread) {
  auto &group =
      thread.block->warpgroups[(&thread - thread.block->threads) / 128];
  if (!group)
    group = std::make_shared<Warpgroup>();
  return *group;
}
/// Returns the threads of the running thread's warpgroup.
inline Thread *warpgroupThreads() {
  Thread &me = *machine.current;
  const unsigned first = unsigned(&me - me.block->threads) / 128 * 128;
  require(first + 128 <= me.block->size, "not a whole warpgroup", "wgmma");
  return me.block->threads + first;
}
inline ThreadProducts &productsOf(Thread &thread) {
  if (!thread.products)
    thread.products = std::make_shared<ThreadProducts>();
  return *thread.products;
}

//===----------------------------------------------------------------------===//
// Operands in shared memory
//===----------------------------------------------------------------------===//

/// Reads an operand of `lines` rows of a or columns of b as 16 steps of k each,
/// or 32 of bytes, to `to[line * lineStep + k * kStep]`.
inline void readOperand(float *to, int lineStep, int kStep, int lines,
                        uint64_t descriptor, bool alongK, ToFloat toFloat,
                        bool isOfBytes, const Block &block,
                        Snapshot &snapshot) {
  // PTX ISA, "Matrix Descriptor": all fields in units of 16 bytes.
  const uint32_t start = (descriptor & 0x3fff) << 4;
  const uint32_t leading = (descriptor >> 16 & 0x3fff) << 4;
  const uint32_t stride = (descriptor >> 32 & 0x3fff) << 4;
  const int mode = int(descriptor >> 62);
  const int bytes = mode == 1 ? 128 : mode == 2 ? 64 : mode == 3 ? 32 : 16;
  const uint64_t unused = 0x3fff'c000'c000'c000;
  require((alongK || (bytes == 128 && !isOfBytes)) && !(descriptor & unused),
          "a descriptor of a kind that is not emulated", "wgmma");
  uint32_t least = ~0u, most = 0;
  // 16-byte pieces of 8 contiguous elements, or 16 bytes.
  const int count = isOfBytes ? 16 : 8;
  for (int i = 0; i < lines * 2; ++i) {
    // K-major: one half of the steps of one line. Otherwise: 8 lines of one
    // step.
    const int line = alongK ? i / 2 : i / 16 * 8;
    const int k = alongK ? i % 2 * count : i % 16;
    const uint32_t offset = alongK ? line / 8 * stride + line % 8 * bytes +
                                         i % 2 * (mode ? 16 : leading)
                                   : line / 64 * leading + line % 64 * 2 +
                                         k / 8 * stride + k % 8 * 128;
    const uint32_t at = swizzled(start + offset, bytes);
    require(at + 16 <= block.sharedBytes,
            "a descriptor points past shared memory", "wgmma");
    least = std::min(least, at / 128 * 128);
    most = std::max(most, at / 128 * 128 + 128);
    uint8_t piece[16];
    memcpy(piece, block.shared + at, sizeof piece);
    for (int j = 0; j < count; ++j) {
      uint16_t value = piece[j];
      if (!isOfBytes)
        memcpy(&value, piece + 2 * j, sizeof value);
      to[(line + !alongK * j) * lineStep + (k + alongK * j) * kStep] =
          toFloat(value);
    }
  }
  snapshot.add(least, std::min(most, block.sharedBytes));
}

inline void readA(float *to, const Product &product, const Block &block,
                  Snapshot &snapshot) {
  readOperand(to, product.steps(), 1, 64, product.a, product.alongA,
              product.toFloat, product.isOfBytes, block, snapshot);
}
inline void readB(float *to, const Product &product, const Block &block,
                  Snapshot &snapshot) {
  if (product.isSparse) {
    require(product.alongB, "sparse products of columns across k", "wgmma");
    // The next 16 steps of a line.
    readOperand(to + 16 * product.columns, 1, product.columns, product.columns,
                product.b + 2, true, product.toFloatB, false, block, snapshot);
  }
  readOperand(to, 1, product.columns, product.columns, product.b,
              product.alongB, product.toFloatB, product.isOfBytes, block,
              snapshot);
}

/// Adds the product of a 64×32 and a 32×columns matrix of bytes to sums that
/// have the bits of i32.
inline void multiplyAddBytes(float *sums, const float *a, const float *b,
                             int columns) {
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < columns; ++column) {
      // Bytes are exact in f32, and so are 32 products of them.
      float sum = 0;
      for (int k = 0; k < 32; ++k)
        sum += a[row * 32 + k] * b[k * columns + column];
      uint32_t bits;
      memcpy(&bits, sums + row * columns + column, sizeof bits);
      bits += uint32_t(int32_t(sum));
      memcpy(sums + row * columns + column, &bits, sizeof bits);
    }
}

/// Adds the product of a 64×steps and a steps×columns matrix to the sums, all
/// row-major.
inline void multiplyAdd(float *sums, const float *a, const float *b,
                        int columns, int steps) {
  typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < columns; column += 8) {
      float *to = sums + row * columns + column;
      Four low = *reinterpret_cast<Four *>(to);
      Four high = *reinterpret_cast<Four *>(to + 4);
      for (int k = 0; k < steps; ++k) {
        const float *from = b + k * columns + column;
        low += a[row * steps + k] * *reinterpret_cast<const Four *>(from);
        high += a[row * steps + k] * *reinterpret_cast<const Four *>(from + 4);
      }
      *reinterpret_cast<Four *>(to) = low;
      *reinterpret_cast<Four *>(to + 4) = high;
    }
}

//===----------------------------------------------------------------------===//
// Groups of products
//===----------------------------------------------------------------------===//

/// Return row (of 64) and column (of 8) of accumulator i in thread t of a
/// warpgroup.
inline int rowOf(int t, int i) {
  return t / 32 * 16 + i / 2 % 2 * 8 + t % 32 / 4;
}
inline int columnOf(int t, int i) { return i / 4 * 8 + t % 4 * 2 + i % 2; }

inline OwnedSums *findOwned(Thread &thread, const float *sums) {
  for (OwnedSums &owned : productsOf(thread).owned)
    if (owned.sums == sums)
      return &owned;
  return nullptr;
}

inline void fenceProducts() {
  requireTogether("wgmma.fence");
  productsOf(*machine.current).isFenced = true;
}

/// Issues a thread's part of a product.
inline void issueProduct(const Product &product) {
  Thread &me = *machine.current;
  ThreadProducts &mine = productsOf(me);
  require(mine.isFenced, "a group of products begins without a fence", "wgmma");
  const int count = product.columns / 2;
  if (OwnedSums *owned = findOwned(me, product.sums)) {
    require(int(owned->before.size()) == count,
            "products of different shapes add to the same sums", "wgmma");
  } else {
    mine.owned.push_back(
        {product.sums, {product.sums, product.sums + count}, nullptr, 0});
    std::fill_n(product.sums, count, NAN);
  }
  mine.open.push_back(product);
}

/// Reads a from the registers of a warpgroup's threads.
inline void readRegisters(float *a, const Thread *threads, size_t index) {
  auto productOf = [&](int t) -> const Product & {
    return threads[t].products->open[index];
  };
  const Product &product = productOf(0);
  // As in mma with 16 rows: registers 1 and 3 have rows from 8 on, 2 and 3
  // steps from 8 on, or those that are kept from the ninth on.
  if (product.isOfBytes) {
    // Four bytes of each register.
    for (int t = 0; t < 128; ++t)
      for (int i = 0; i < 16; ++i) {
        const int row = t / 32 * 16 + i / 4 % 2 * 8 + t % 32 / 4;
        const int k = i / 8 * 16 + t % 4 * 4 + i % 4;
        a[row * product.steps() + k] = product.toFloat(
            uint8_t(productOf(t).registers[i / 4] >> i % 4 * 8));
      }
    return;
  }
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < 8; ++i) {
      const uint32_t pair = productOf(t).registers[i / 2];
      const int inWarp = i / 2 % 2 * 8 + t % 32 / 4;
      int k = i / 4 * 8 + t % 4 * 2 + i % 2;
      if (product.isSparse) {
        const int group = k / 2;
        const Product &ofPlaces =
            productOf(t / 4 * 4 + product.half * 2 + group / 4);
        const int at = inWarp / 8 * 16 + group % 4 * 4 + i % 2 * 2;
        k = group * 4 + (ofPlaces.places >> at & 3);
      }
      a[(t / 32 * 16 + inWarp) * product.steps() + k] =
          product.toFloat(uint16_t(pair >> i % 2 * 16));
    }
}

/// Gathers the accumulators of all threads.
inline std::shared_ptr<WarpgroupSums> gatherSums(Thread *threads,
                                                 size_t index) {
  auto productOf = [&](int t) -> Product & {
    return threads[t].products->open[index];
  };
  const int columns = productOf(0).columns;
  auto together = findOwned(threads[0], productOf(0).sums)->together;
  if (!together)
    together = std::make_shared<WarpgroupSums>(64 * columns);
  const int group = warpgroupOf(threads[0]).closed;
  for (int t = 0; t < 128; ++t) {
    OwnedSums &owned = *findOwned(threads[t], productOf(t).sums);
    if (!owned.together)
      for (int i = 0; i < columns / 2; ++i)
        (*together)[rowOf(t, i) * columns + columnOf(t, i)] = owned.before[i];
    owned.together = together;
    owned.lastGroup = group;
  }
  return together;
}

inline void compute(Thread *threads, size_t index, ProductGroup &group) {
  const Block &block = *threads->block;
  const Product &product = threads[0].products->open[index];
  const int columns = product.columns;
  ComputedProduct &computed = group.products.emplace_back();
  computed.product = product;
  computed.sums = gatherSums(threads, index);
  if (!product.accumulates)
    std::fill(computed.sums->begin(), computed.sums->end(), 0.0f);
  computed.a.resize(64 * product.steps());
  computed.b.resize(product.steps() * columns);
  float *a = computed.a.data(), *b = computed.b.data();
  if (product.isInRegisters)
    readRegisters(a, threads, index);
  else
    readA(a, product, block, group.read);
  readB(b, product, block, group.read);
  if (product.isOfBytes && !product.hasFloats)
    multiplyAddBytes(computed.sums->data(), a, b, columns);
  else
    multiplyAdd(computed.sums->data(), a, b, columns, product.steps());
}

/// Poisons results whose operands have changed.
inline void poisonChanged(const ComputedProduct &computed, const Block &block) {
  const Product &product = computed.product;
  const int columns = product.columns, steps = product.steps();
  std::vector<float> a = computed.a, b = computed.b;
  Snapshot ignored;
  if (!product.isInRegisters)
    readA(a.data(), product, block, ignored);
  readB(b.data(), product, block, ignored);
  auto differ = [](float x, float y) { return memcmp(&x, &y, sizeof x) != 0; };
  WarpgroupSums &sums = *computed.sums;
  for (int row = 0; row < 64; ++row)
    for (int k = 0; k < steps; ++k)
      if (differ(a[row * steps + k], computed.a[row * steps + k]))
        std::fill_n(&sums[row * columns], columns, NAN);
  for (int k = 0; k < steps; ++k)
    for (int column = 0; column < columns; ++column)
      if (differ(b[k * columns + column], computed.b[k * columns + column]))
        for (int row = 0; row < 64; ++row)
          sums[row * columns + column] = NAN;
}

/// Completes the oldest pending group.
inline void endGroup(Warpgroup &warpgroup, const Block &block) {
  const ProductGroup &group = warpgroup.underWay.front();
  if (!group.read.isIntact(block))
    for (const ComputedProduct &computed : group.products)
      poisonChanged(computed, block);
  warpgroup.underWay.pop_front();
  ++warpgroup.ended;
}

/// Returns whether all threads of a warpgroup issued the same products.
inline bool agree(const Thread *threads) {
  auto isLike = [](const Product &x, const Product &y) {
    return x.columns == y.columns && x.toFloat == y.toFloat &&
           x.toFloatB == y.toFloatB && x.isOfBytes == y.isOfBytes &&
           x.hasFloats == y.hasFloats && (x.isInRegisters || x.a == y.a) &&
           x.b == y.b && x.isInRegisters == y.isInRegisters &&
           x.alongA == y.alongA && x.alongB == y.alongB &&
           x.accumulates == y.accumulates && x.isSparse == y.isSparse &&
           x.half == y.half;
  };
  const std::vector<Product> &first = threads[0].products->open;
  return std::all_of(threads, threads + 128, [&](const Thread &thread) {
    const std::vector<Product> &open = thread.products->open;
    return std::equal(first.begin(), first.end(), open.begin(), open.end(),
                      isLike);
  });
}

/// Commits a group, together with the warpgroup's other threads.
inline void commitProducts() {
  requireTogether("wgmma.commit_group");
  Thread *threads = warpgroupThreads();
  Thread &me = *machine.current;
  Warpgroup &warpgroup = warpgroupOf(me);
  productsOf(me);
  if (++warpgroup.arrived < 128) {
    const unsigned phase = warpgroup.phase;
    return waitUntil("wgmma.commit_group",
                     [&] { return warpgroup.phase != phase; });
  }
  require(agree(threads), "the threads of a warpgroup issue different products",
          "wgmma");
  ProductGroup &group = warpgroup.underWay.emplace_back();
  for (size_t i = 0; i < me.products->open.size(); ++i)
    compute(threads, i, group);
  group.read.take(*me.block);
  for (int t = 0; t < 128; ++t) {
    threads[t].products->open.clear();
    threads[t].products->isFenced = false;
  }
  warpgroup.arrived = 0;
  ++warpgroup.phase;
  ++warpgroup.closed;
  machine.pending.push_back(
      {"a block ends while products are under way",
       [&warpgroup, &block = *me.block] { endGroup(warpgroup, block); }});
}

/// Waits until at most the last `pending` groups are pending.
inline void waitProducts(int pending) {
  requireTogether("wgmma.wait_group");
  Thread &me = *machine.current;
  Warpgroup &warpgroup = warpgroupOf(me);
  const int wanted = warpgroup.closed - pending;
  waitUntil("wgmma.wait_group", [&] { return warpgroup.ended >= wanted; });
  ThreadProducts &mine = productsOf(me);
  const int t = int(&me - warpgroupThreads());
  std::erase_if(mine.owned, [&](const OwnedSums &owned) {
    if (!owned.together || owned.lastGroup >= wanted)
      return false;
    const int columns = int(owned.before.size()) * 2;
    for (int i = 0; i < columns / 2; ++i)
      owned.sums[i] = (*owned.together)[rowOf(t, i) * columns + columnOf(t, i)];
    return true;
  });
}

} // namespace emu

#endif // FRIT_TEST_EMULATOR_PRODUCTS_H
