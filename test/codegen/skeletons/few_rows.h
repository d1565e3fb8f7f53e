//===- few_rows.h - Checks and times products of a few rows ---------------===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_FEW_ROWS_H
#define FRIT_TEST_CODEGEN_SKELETONS_FEW_ROWS_H

#include "frit/rows_gemm.cuh"

#include "activations.h"
#include "harness.h"

namespace harness {

/// Rounds a product of two numbers of bf16, which f32 holds, to bf16.
inline double roundToBf16(double product) {
  float exact = float(product);
  uint32_t bits;
  memcpy(&bits, &exact, sizeof bits);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
  memcpy(&exact, &bits, sizeof bits);
  return exact;
}

/// Returns row `i` of A as it is multiplied, and sets what the sums of its
/// products are multiplied by. With `rounds`, normalized rows are bf16.
template <class P, bool rounds>
std::vector<double> rowOf(Buffer<typename P::A> &a,
                          Buffer<typename P::A> &scale, int64_t i,
                          double &factor) {
  std::vector<double> row(P::k);
  double squares = 0;
  for (int64_t k = 0; k < P::k; ++k) {
    row[k] = toDouble(a[i * P::lda + k]);
    squares += row[k] * row[k];
    if constexpr (frit::kNormalizesRows<P>) {
      row[k] *= toDouble(scale[k]);
      if constexpr (rounds) {
        static_assert(frit::kSame<typename P::A, bf16>);
        row[k] = roundToBf16(row[k]);
      }
    }
  }
  factor = 1;
  if constexpr (frit::kNormalizesRows<P>)
    factor = 1 / std::sqrt(squares / P::k + P::epsilon);
  return row;
}

/// Checks a product by the matrices of `numberAt(row, k)`;
/// `run(a, scale, bias, r, d)` launches it.
template <class P, bool rounds, class NumberAt, class Run>
void checkProduct(const std::string &kind, bool isFull,
                  const NumberAt &numberAt, const Run &run) {
  Buffer<typename P::A> a(P::lda * P::m), scale(P::k);
  Buffer<typename P::D> r(P::ldd * P::m), d(P::ldd * P::m);
  Buffer<typename P::Bias> bias(P::n);
  a.randomize(1);
  scale.randomize(8);
  bias.randomize(3);
  r.randomize(4);
  d.randomize(5);
  // Padding between rows stays.
  std::vector<double> want = elementsOf<double>(d);
  for (int64_t i = 0; i < P::m; ++i) {
    double factor;
    std::vector<double> row = rowOf<P, rounds>(a, scale, i, factor);
    auto sumOf = [&](int64_t j) {
      double sum = 0;
      for (int64_t k = 0; k < P::k; ++k)
        sum += row[k] * numberAt(j, k);
      return sum * factor;
    };
    for (int64_t j = 0; j < P::n; ++j) {
      double sum = sumOf(j);
      int64_t at = i * P::ldd + j;
      if (isFull)
        sum += toDouble(bias[j]);
      if (frit::kMatrices<P> == 2)
        sum += sumOf(P::n + j);
      else if (isFull)
        sum += toDouble(r[at]);
      want[at] = activate(typename P::Epilogue(), sum);
    }
  }
  run(a.get(), scale.get(), isFull ? bias.get() : nullptr,
      isFull ? r.get() : nullptr, d.get());
  expect(kind + " " + std::to_string(P::m) + "x" + std::to_string(P::n) + "x" +
             std::to_string(P::k),
         d, want, epsilonOf<typename P::D>());
}

#ifndef FRIT_EMULATE
/// Times a product by several matrices of 16-bit numbers one after another,
/// more than L2 holds; `run(a, b, d)` launches it.
template <class P, class Run>
void benchNumbers(const char *name, int64_t matrices, const Run &run) {
  const int64_t count = P::n * P::k * matrices;
  const int copies = int(std::max<int64_t>(1, (256 << 20) / (2 * count)));
  Buffer<typename P::A> a(P::m * P::k), b(count * copies);
  Buffer<typename P::D> d(P::m * P::n);
  a.randomize(1);
  b.randomize(2);
  bench(name, 2e-9 * double(count) * copies, "GB/s", [&] {
    for (int i = 0; i < copies; ++i)
      run(a.get(), b.get() + count * i, d.get());
  });
}
#endif

} // namespace harness

#endif // FRIT_TEST_CODEGEN_SKELETONS_FEW_ROWS_H
