//===- Reduce.cpp - Statistics of a product's result ----------------------===//

#include "codegen/cuda/epilogue/EndStages.h"
#include "codegen/cuda/scalar/KernelText.h"
#include "codegen/cuda/target/Problem.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;
using nn::stage::Reduce;

namespace {
/// A statistic that the kernels compute.
struct Statistic {
  Reduce::Kind kind;
  Reduce::Along along;
  /// Elements of a part.
  int64_t extent;
  /// Its class in device code, and its words in tuning files.
  StringRef device, words;
};
} // namespace

static constexpr Statistic kStatistics[] = {
    {Reduce::Kind::moments, Reduce::Along::rows, kMomentWidth, "RowMoments",
     "moments"},
    {Reduce::Kind::moments, Reduce::Along::columns, kMomentHeight,
     "ColumnMoments", "column-moments"},
    {Reduce::Kind::sums, Reduce::Along::columns, kSumHeight, "ColumnSums",
     "column-sums"},
    {Reduce::Kind::dots, Reduce::Along::rows, kMomentWidth, "RowDots",
     "row-dots"},
};

/// Returns the statistic of a stage. Every pair of kind and direction that
/// operators have is one.
static const Statistic &statisticOf(const Reduce &reduce) {
  for (const Statistic &one : kStatistics)
    if (one.kind == reduce.kind && one.along == reduce.along)
      return one;
  llvm_unreachable("no kernel computes this statistic");
}

namespace {
class ReduceCode : public StageCode {
public:
  explicit ReduceCode(const Reduce &reduce)
      : reduce(reduce), statistic(statisticOf(reduce)) {}

private:
  nn::Legality check(const nn::GemmInfo &product, Type result) const override {
    int64_t parted =
        reduce.along == Reduce::Along::columns ? product.m : product.n;
    if (product.batch != 1 || product.ldd != product.n)
      return nn::Mismatch("it reduces several matrices");
    if (product.epilogue.addend)
      return nn::Mismatch("it reduces a sum of two convolutions");
    if (reduce.extent != statistic.extent || parted % reduce.extent != 0)
      return nn::Mismatch("its parts are none that the kernels reduce");
    if (!isHalf(result))
      return nn::Mismatch("it reduces a result of more than 16 bits");
    // Sums of two columns are stored by one access.
    if (reduce.kind == Reduce::Kind::sums && product.n % 2 != 0)
      return nn::Mismatch("it sums an odd number of columns");
    return std::nullopt;
  }
  void addNeeds(const nn::Epilogue &, EndNeeds &needs) const override {
    needs.exchangesColumns |= reduce.kind == Reduce::Kind::moments &&
                              reduce.along == Reduce::Along::columns;
  }
  std::string fields() const override {
    return ("  using Reduce = frit::" + statistic.device + ";\n").str();
  }
  StringRef words() const override { return statistic.words; }

  const Reduce &reduce;
  const Statistic &statistic;
};
} // namespace

std::unique_ptr<StageCode> frit::cuda::codeOf(const Reduce &reduce) {
  return std::make_unique<ReduceCode>(reduce);
}
