//===- VariantCost.cpp - Say what a model's variants cost -----------------===//
//
// Sizes that padding cannot join have a variant each, and those of several
// symbols multiply. Once one of them is planned, what all will take is known
// well enough to say it before the others are compiled:
//
//   warning: 64 variants, one for every size of 'past', with 186 kernels, take
//   about 3 s to compile for x86-64-v3
//
//===----------------------------------------------------------------------===//

#include "compiler/pipeline/Pipeline.h"

#include "llvm/Support/Threading.h"

#include <cmath>

using namespace mlir;
using namespace frit;

/// Variants up to which nothing is said.
static constexpr size_t kFewVariants = 8;

/// Names the symbols whose variants these are: "every size of 'past'", or
/// "combinations of 'batch' and 'seq'".
static std::string describeSymbols(const plan::OpenShapes &shapes) {
  std::string names;
  size_t count = 0;
  bool isExact = false;
  for (auto [i, symbol] : llvm::enumerate(shapes.symbols)) {
    auto isOther = [&](const plan::OpenVariant &variant) {
      return variant.sizes[i] != shapes.variants.front().sizes[i];
    };
    if (llvm::none_of(shapes.variants, isOther))
      continue;
    names += (names.empty() ? "'" : " and '") + symbol.name + "'";
    isExact |= !symbol.padded;
    ++count;
  }
  return (count > 1 ? "for combinations of sizes of "
          : isExact ? "one for every size of "
                    : "for ranges of ") +
         names;
}

void Pipeline::announceVariants(EntryPoint &entry, const nn::Target &target,
                                double planSeconds) {
  size_t count = entry.model.modules.size();
  if (count <= kFewVariants)
    return;
  auto kernels =
      plans->target(target.arch()).getBody().getOps<plan::KernelOp>();
  size_t kernelCount = count * llvm::range_size(kernels);
  // A variant takes as long as it has operators.
  auto sizeOf = [](ModuleOp module) {
    auto main = module.lookupSymbol<func::FuncOp>("main");
    return double(main.getBody().front().getOperations().size());
  };
  double whole = 0;
  for (auto &variant : entry.model.modules)
    whole += sizeOf(*variant) / sizeOf(*entry.model.modules.front());
  double threads = llvm::hardware_concurrency().compute_thread_count();
  double seconds = whole * planSeconds +
                   double(kernelCount) * target.compileSeconds() / threads;
  auto main = entry.model.modules.front()->lookupSymbol<func::FuncOp>("main");
  // The location of the model's file, if it has one.
  emitWarning(main.getLoc())
      << count << " variants, " << describeSymbols(entry.model.shapes)
      << ", with " << kernelCount << " kernels, take about "
      << std::max<int64_t>(1, std::llround(seconds)) << " s to compile for "
      << target.arch();
}
