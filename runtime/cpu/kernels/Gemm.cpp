//===- Gemm.cpp - Matrix products -----------------------------------------===//

#include "runtime/cpu/kernels/Gemm.h"
#include "runtime/exec/Types.h"

#include <algorithm>
#include <cstring>
#include <optional>

using namespace frit;
using namespace frit::cpu;
using artifact::DType;

namespace {
/// Maximum rows for which B is not packed: packing would cost more than it
/// saves.
constexpr int64_t kFewRows = 8;

/// Returns the columns per work item if B is not packed. Longer contiguous rows
/// of B are faster to read, as long as the sums stay in L1.
int64_t streamWidth(int64_t m, int64_t n, bool contiguous, unsigned threads) {
  if (!contiguous)
    return 64;
  const int64_t items = threads == 1 ? 1 : std::max<int64_t>(8, 2 * threads);
  return std::clamp<int64_t>((n / items + 63) / 64 * 64, 64,
                             std::max<int64_t>(256, 1024 / m));
}

/// One operand. Element (i, k) of matrix b is at b·stride + i·outer + k·inner;
/// outer or inner is 1.
struct Operand {
  const void *data;
  DType type;
  int64_t outer, inner, stride;

  const char *at(int64_t matrix, int64_t i, int64_t k) const {
    return static_cast<const char *>(data) +
           (matrix * stride + i * outer + k * inner) *
               int64_t(elementBytes(type));
  }
};

bool isSmallFloat(DType type) {
  return type == DType::f32 || type == DType::f16 || type == DType::bf16;
}
bool isByte(DType type) { return type == DType::i8 || type == DType::u8; }

/// Returns the accumulator type; none if the combination of types is not
/// supported.
std::optional<Accumulator> accumulatorFor(const artifact::Gemm &problem) {
  const DType a = problem.typeA, b = problem.typeB, d = problem.typeD;
  if (a == DType::f64 && b == DType::f64 && d == DType::f64)
    return Accumulator::f64;
  if (isByte(a) && isByte(b) && d == DType::i32 &&
      (problem.activation == Activation::none ||
       problem.activation == Activation::relu))
    return Accumulator::i32;
  if (isSmallFloat(a) && isSmallFloat(b) && isSmallFloat(d) &&
      problem.compute != artifact::Compute::f64)
    return Accumulator::f32;
  return std::nullopt;
}

/// The product as computed: operands are swapped if that leaves few rows.
struct Product {
  const MicroKernel &kernel;
  int64_t m, n, k, batch;
  Operand a, b;
  bool swapped;

  Product(const artifact::Gemm &problem, const MicroKernel &kernel)
      : kernel(kernel), m(problem.m), n(problem.n), k(problem.k),
        batch(problem.batch),
        a{nullptr, problem.typeA, problem.lda, 1, problem.strideA},
        b{nullptr, problem.typeB, 1, problem.ldb, problem.strideB},
        swapped(n <= kFewRows && m > n) {
    if (problem.transposeA)
      std::swap(a.outer, a.inner);
    if (problem.transposeB)
      std::swap(b.outer, b.inner);
    if (swapped) { // Dᵀ = Bᵀ·Aᵀ
      std::swap(a, b);
      std::swap(m, n);
    }
  }

  bool isEmpty() const { return m <= 0 || n <= 0 || batch <= 0; }
  bool isStreamed() const { return m <= kFewRows; }
  int64_t streamCols(unsigned threads) const {
    return streamWidth(m, n, b.outer == 1, threads);
  }
  Contraction contraction(unsigned threads) const {
    return Contraction(kernel, m, n, k, batch, threads);
  }

  ScratchSize scratch(unsigned threads) const {
    if (isEmpty())
      return {};
    if (isStreamed())
      return {0, uint64_t(m * (k + streamCols(threads)) +
                          kernel.rows * kernel.cols) *
                     kernel.elementBytes};
    return contraction(threads).scratch();
  }
};

/// Computes a product with few rows, whose cost is reading B once. Each thread
/// reads its own columns of B, with the rows of A in its scratch memory.
void streamed(const Product &product, const Output &output, ThreadPool &pool) {
  const auto &[kernel, m, n, k, batch, a, b, swapped] = product;
  const int64_t bytes = kernel.elementBytes;
  const int64_t cols = product.streamCols(pool.size());
  const int64_t parts = (n + cols - 1) / cols;
  pool.parallelItems(batch * parts, [&](int64_t item, unsigned thread) {
    const int64_t matrix = item / parts, col = item % parts * cols;
    const int64_t count = std::min(cols, n - col);
    char *rows = static_cast<char *>(pool.scratch(thread));
    char *sums = rows + m * k * bytes, *tile = sums + m * cols * bytes;
    for (int64_t i = 0; i < m; ++i)
      kernel.widen(rows + i * k * bytes, a.at(matrix, i, 0), a.type, k, a.inner,
                   1, 0, 0);
    std::memset(sums, 0, m * cols * bytes);
    if (b.outer == 1)
      kernel.streamRows(m, count, k, rows, k, b.at(matrix, col, 0), b.type,
                        b.inner, sums, cols);
    else
      kernel.streamCols(m, count, k, rows, k, b.at(matrix, col, 0), b.type,
                        b.outer, sums, cols);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < count; j += kernel.cols) {
        const int64_t some = std::min(kernel.cols, count - j);
        std::memcpy(tile, sums + (i * cols + j) * bytes, some * bytes);
        kernel.store(output, matrix, i, col + j, 1, some, tile);
      }
  });
}
} // namespace

std::optional<ScratchSize> frit::cpu::scratchOf(const artifact::Gemm &problem,
                                                Isa isa, unsigned threads) {
  if (const std::optional<Accumulator> accumulator = accumulatorFor(problem))
    return Product(problem, microKernel(isa, *accumulator)).scratch(threads);
  return std::nullopt;
}

bool frit::cpu::gemm(const artifact::Gemm &problem, void *const *arguments,
                     ThreadPool &pool) {
  const std::optional<Accumulator> accumulator = accumulatorFor(problem);
  if (!accumulator)
    return false;
  const MicroKernel &kernel = microKernel(pool.isa(), *accumulator);

  Product product(problem, kernel);
  product.a.data = arguments[product.swapped ? 1 : 0];
  product.b.data = arguments[product.swapped ? 0 : 1];
  arguments += 2;
  Output output;
  output.type = problem.typeD;
  output.bias = problem.hasBias ? *arguments++ : nullptr;
  output.residual = problem.hasResidual ? *arguments++ : nullptr;
  output.data = *arguments;
  output.stride = problem.strideD;
  output.rowStride = problem.ldd;
  output.activation = problem.activation;
  if (product.swapped) {
    std::swap(output.rowStride, output.colStride);
    std::swap(output.biasRow, output.biasCol);
  }
  if (product.isEmpty())
    return true;
  if (!pool.holds(product.scratch(pool.size())))
    return false;
  if (product.isStreamed()) {
    streamed(product, output, pool);
    return true;
  }
  auto packer = [&kernel](const Operand &from) {
    return [&kernel, &from](void *panel, int64_t width, int64_t matrix,
                            int64_t first, int64_t count, int64_t k,
                            int64_t depth) {
      kernel.pack(panel, width, count, depth, from.at(matrix, first, k),
                  from.type, from.outer, from.inner);
    };
  };
  product.contraction(pool.size())
      .run(packer(product.a), packer(product.b), output, pool, {});
  return true;
}
