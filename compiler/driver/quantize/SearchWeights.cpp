//===- SearchWeights.cpp - Round weights by data --------------------------===//

#include "compiler/driver/quantize/SearchWeights.h"

#include "compiler/driver/Outputs.h"
#include "compiler/driver/quantize/ObservedModel.h"
#include "compiler/support/Progress.h"
#include "compiler/transform/quantize/SearchCodes.h"
#include "compiler/transform/quantize/SearchedWeights.h"
#include "compiler/transform/quantize/WeightRounding.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

/// Bytes of moments that are summed in one pass over the data.
static constexpr int64_t kMomentBytes = int64_t(1) << 30;
/// Rows of each matrix whose errors are told.
static constexpr int64_t kComparedRows = 32;

namespace {
class WeightSearch {
public:
  WeightSearch(ModuleOp model, WeightFormat format,
               const QuantizationOptions &options, SampleRunner &runner,
               RoundedWeights &rounded)
      : model(model), format(format), options(options), runner(runner),
        rounded(rounded), weights(findSearchedWeights(model)) {}

  Error run();

  size_t count = 0; ///< of weights
  /// Changes of products by the search, by rounding to nearest, and products.
  double searched = 0, nearest = 0, whole = 0;

private:
  /// The weights that multiply an input.
  using Group = std::pair<Value, SmallVector<size_t>>;

  Error observe(ArrayRef<Group> groups, std::vector<InputMoments> &moments);
  void search(ArrayRef<size_t> group, const InputMoments &moments);
  void compare(const SearchedWeight &weight, const WeightCodes &codes,
               const InputMoments &moments);

  ModuleOp model;
  WeightFormat format;
  const QuantizationOptions &options;
  SampleRunner &runner;
  RoundedWeights &rounded;
  std::vector<SearchedWeight> weights;
  TemporaryFolder folder;
};
} // namespace

/// Returns the number of tokens of a call of a language model; 0 of others.
static int64_t tokensOf(ModuleOp model) {
  if (model.getOps<nn::StateOp>().empty())
    return 0;
  auto main = model.lookupSymbol<func::FuncOp>("main");
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (auto name = main.getArgAttrOfType<StringAttr>(i, "nn.name");
        name && name.getValue() == "tokens" && !main.getArgAttr(i, "nn.state"))
      return nn::shapeOf(main.getArgument(i)).back();
  return 0;
}

/// Runs the model over the data and sums the moments of the groups' inputs.
Error WeightSearch::observe(ArrayRef<Group> groups,
                            std::vector<InputMoments> &moments) {
  OwningOpRef<ModuleOp> module(model.clone());
  // The same weights in the clone.
  std::vector<SearchedWeight> own = findSearchedWeights(*module);
  SmallVector<Value> inputs;
  for (const auto &[input, members] : groups)
    inputs.push_back(own[members.front()].input);
  observeValues(*module, inputs);
  if (int64_t tokens = tokensOf(*module))
    fixInput(*module, "count", tokens);
  auto path =
      compileHere(std::move(module), "observed", options.hostArch, folder);
  if (failed(path))
    return reported();
  if (Error error = runner.open(*path, 0))
    return error;
  Progress progress("observe activations");
  for (size_t call = 0; call < runner.count(); ++call) {
    progress.update(call, runner.count(), "call");
    if (Error error =
            runner.run(call, {}, [&](unsigned output, ArrayRef<float> numbers) {
              if (output < moments.size())
                moments[output].add(numbers);
            }))
      return error;
  }
  for (auto [group, sums] : llvm::zip_equal(groups, moments))
    if (!sums.isFinite())
      return llvm::createStringError(
          "-fweights: with the data of --calibrate, the node '" +
          weights[group.second.front()].node +
          "' reads numbers that are not finite");
  return Error::success();
}

/// Adds the errors of some rows of a weight.
void WeightSearch::compare(const SearchedWeight &weight,
                           const WeightCodes &codes,
                           const InputMoments &moments) {
  auto plain = roundWeights(weight.value, weight.isTransposed, format);
  auto add = [&](const WeightCodes &which, double &sum, double *all) {
    compareRows(weight.value, weight.isTransposed, format, which, kComparedRows,
                [&](ArrayRef<float> numbers, ArrayRef<float> made) {
                  SmallVector<float, 0> change;
                  for (auto [x, y] : llvm::zip_equal(numbers, made))
                    change.push_back(y - x);
                  sum += moments.changeBy(change);
                  if (all)
                    *all += moments.changeBy(numbers);
                });
  };
  add(codes, searched, &whole);
  if (plain)
    add(*plain, nearest, nullptr);
}

void WeightSearch::search(ArrayRef<size_t> group, const InputMoments &moments) {
  std::vector<float> inverse = moments.factorInverse();
  if (inverse.empty())
    return;
  for (size_t i : group) {
    const SearchedWeight &weight = weights[i];
    auto key = keyOf(weight.value, weight.isTransposed, format);
    if (rounded.contains(key))
      continue;
    auto codes =
        searchCodes(weight.value, weight.isTransposed, format, inverse);
    if (!codes)
      continue;
    compare(weight, *codes, moments);
    rounded.emplace(key, std::move(codes));
    ++count;
  }
}

Error WeightSearch::run() {
  if (std::error_code error = TemporaryFolder::create(folder))
    return outputError(temporaryPlace(), error);
  if (Error error = runner.read(options.data))
    return error;
  llvm::MapVector<Value, SmallVector<size_t>> byInput;
  for (auto [i, weight] : llvm::enumerate(weights))
    byInput[weight.input].push_back(i);
  std::vector<Group> left(byInput.begin(), byInput.end());
  Progress progress("round weights");
  for (size_t begin = 0; begin < left.size();) {
    std::vector<InputMoments> moments;
    int64_t bytes = 0;
    while (begin + moments.size() < left.size()) {
      int64_t columns =
          weights[left[begin + moments.size()].second.front()].columns;
      bytes += columns * columns * int64_t(sizeof(float));
      if (!moments.empty() && bytes > kMomentBytes)
        break;
      moments.emplace_back(columns);
    }
    auto groups = ArrayRef(left).slice(begin, moments.size());
    if (Error error = observe(groups, moments))
      return error;
    for (auto [i, sums] : llvm::enumerate(moments)) {
      progress.update(begin + i, left.size(), "input");
      search(groups[i].second, sums);
      sums = InputMoments(0);
    }
    begin += groups.size();
  }
  return Error::success();
}

Error frit::searchWeights(ModuleOp model, StringRef weights,
                          const QuantizationOptions &options,
                          SampleRunner &runner, RoundedWeights &rounded,
                          llvm::function_ref<void(const Twine &)> tell) {
  WeightSearch search(model, *readWeightFormat(weights), options, runner,
                      rounded);
  if (Error error = search.run())
    return error;
  if (!search.count) {
    tell("no weight is rounded by the data: none is large enough, or has rows "
         "of whole blocks");
    return Error::success();
  }
  auto share = [&](double change) {
    return std::sqrt(search.whole > 0 ? change / search.whole : 0);
  };
  tell(llvm::formatv("{0} weights are rounded by the data; the error of their "
                     "products is {1:E2}, to nearest {2:E2}",
                     search.count, share(search.searched),
                     share(search.nearest))
           .str());
  return Error::success();
}
