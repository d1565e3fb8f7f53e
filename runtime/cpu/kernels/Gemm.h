//===- Gemm.h - The blocked contraction of gemm and conv ------------------===//
//
// Internal to runtime/cpu/kernels. A contraction reads its operands only
// through functions that pack panels. A convolution is a contraction that
// gathers its right-hand panels from the image.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_CPU_KERNELS_GEMM_H
#define FRIT_RUNTIME_CPU_KERNELS_GEMM_H

#include "runtime/cpu/Cpu.h"
#include "runtime/cpu/kernels/MicroKernel.h"

namespace frit::cpu {

const MicroKernel &microKernel(Isa isa, Accumulator accumulator);

/// Minimum multiplications of a part that a thread computes.
inline constexpr int64_t kSmallestPart = 200'000;

inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
/// Rounds up to cache lines.
inline uint64_t wholeLines(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Packs elements (i, k), i in [first, first + count) and k in [k, k + depth),
/// of matrix `matrix`, as MicroKernel::pack does. depth is at most
/// Contraction::kDepth.
using PackPanel =
    FunctionRef<void(void *panel, int64_t width, int64_t matrix, int64_t first,
                     int64_t count, int64_t k, int64_t depth)>;

/// `batch` products of an m×k and a k×n matrix. Each element's sum, and its
/// order, is independent of the number of threads.
class Contraction {
public:
  /// Maximum depth of a block: its panels stay in L1.
  static constexpr int64_t kDepth = 320;

  Contraction(const MicroKernel &kernel, int64_t m, int64_t n, int64_t k,
              int64_t batch, unsigned threads);

  /// Returns the scratch memory that `run` needs.
  ScratchSize scratch() const;

  /// What packAll wrote for either side, or null, for `matrices` matrices:
  /// matrix i of the product reads matrix i mod `matrices`.
  struct Packed {
    const char *a = nullptr, *b = nullptr;
    int64_t matrices = 1;
  };

  /// B where it lies: element (k, j) of matrix i is element origin(i) +
  /// offsets[k] + j of `data`, in the accumulator's type. Panels whose columns
  /// are all below `readable` are read there; others are packed.
  struct Direct {
    const char *data = nullptr; ///< null: all are packed
    const int64_t *offsets = nullptr;
    FunctionRef<int64_t(int64_t matrix)> origin;
    int64_t readable = 0;
  };

  /// `shared` are scratch().shared bytes; null: those at the start of the
  /// pool's.
  void run(PackPanel packA, PackPanel packB, const Output &output,
           ThreadPool &pool, const Packed &packed, char *shared = nullptr,
           const Direct *direct = nullptr) const;

  /// Packs all panels of B, or of A, into packedBytes() bytes. They depend on
  /// the side's extent, k and batch alone.
  void packAll(bool isB, PackPanel pack, char *to) const;
  size_t packedBytes(bool isB) const { return bytesOf(isB ? b : a); }

private:
  struct Part {
    int64_t begin, end; ///< panels
    int64_t size() const { return end - begin; }
  };
  /// One side of the product: `extent` rows or columns in panels of `width`,
  /// distributed over `splits` parts. If `shared`, several parts read the same
  /// panels, so these are packed beforehand.
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
  /// Returns the offset of a block of a shared side's panel from the side's
  /// start.
  int64_t offsetOf(const Side &side, int64_t matrix, int64_t block,
                   int64_t panel) const;
  void packShared(const Side &side, PackPanel pack, char *to,
                  ThreadPool &pool) const;
  void packRange(const Side &side, PackPanel pack, char *to, int64_t at,
                 int64_t end) const;
  void compute(const Item &item) const;
  void store(const Item &item, int64_t row, int64_t col,
             const char *tile) const;

  const MicroKernel &kernel;
  int64_t k, batch, depth, blocks;
  Side a, b;
};

} // namespace frit::cpu

#endif // FRIT_RUNTIME_CPU_KERNELS_GEMM_H
