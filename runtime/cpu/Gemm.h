//===- Gemm.h - The blocked contraction that everything becomes -----------===//
//
// Internal to runtime/cpu. A contraction sees its operands only through
// functions that pack panels of them, so a convolution is one whose right-hand
// side is gathered from the image while it is packed.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CPU_GEMM_H
#define FRIT_CPU_GEMM_H

#include "runtime/cpu/Cpu.h"
#include "runtime/cpu/MicroKernel.h"

namespace frit::cpu {

const MicroKernel &microKernel(Isa isa, Accumulator accumulator);

/// Packs elements (i, k) for i of [first, first + count), k of [k, k + depth)
/// of one of a batch of matrices, as MicroKernel::pack does; depth is at most
/// Contraction::kDepth.
using PackPanel =
    FunctionRef<void(void *panel, int64_t width, int64_t matrix, int64_t first,
                     int64_t count, int64_t k, int64_t depth)>;

/// `batch` products of an m×k by a k×n matrix. What it sums for an element, and
/// in which order, does not depend on the number of threads.
class Contraction {
public:
  /// The deepest block: panels of it stay in the first level cache.
  static constexpr int64_t kDepth = 320;

  Contraction(const MicroKernel &kernel, int64_t m, int64_t n, int64_t k,
              int64_t batch, unsigned threads);

  /// What the pool must hold for `run`.
  ScratchSize scratch() const;

  void run(PackPanel packA, PackPanel packB, const Output &output,
           ThreadPool &pool) const;

private:
  struct Part {
    int64_t begin, end; ///< panels
    int64_t size() const { return end - begin; }
  };
  /// One side of the product: `extent` rows or columns in panels of `width`,
  /// shared out to `splits` parts. Where several items read the same panels,
  /// they are packed beforehand and shared.
  struct Side {
    int64_t extent, width, panels, splits;
    bool shared = false;

    Side(int64_t extent, int64_t width, int64_t largest);
    Part part(int64_t index) const;
    int64_t largestPart() const { return (panels + splits - 1) / splits; }
    int64_t count(int64_t panel) const;
  };
  struct Item;

  int64_t depthOf(int64_t block) const;
  size_t bytesOf(const Side &side) const;
  /// Where block `block` of a shared side's panel lies from the side's start.
  int64_t offsetOf(const Side &side, int64_t matrix, int64_t block,
                   int64_t panel) const;
  void packShared(const Side &side, PackPanel pack, char *to,
                  ThreadPool &pool) const;
  void compute(const Item &item) const;

  const MicroKernel &kernel;
  int64_t k, batch, depth, blocks;
  Side a, b;
};

} // namespace frit::cpu

#endif // FRIT_CPU_GEMM_H
