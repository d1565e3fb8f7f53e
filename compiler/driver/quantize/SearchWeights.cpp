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
/// Rows of each matrix whose errors are told, and by which it is damped.
static constexpr int64_t kComparedRows = 32;
/// Shares of the moments' mean that are tried: the first without data to
/// compare them by.
static constexpr double kDampings[] = {0.01, 0.1, 1};

namespace {
class WeightSearch {
public:
  WeightSearch(ModuleOp model, WeightFormat format,
               const QuantizationOptions &options, SampleRunner &runner,
               RoundedWeights &rounded)
      : model(model), format(format), options(options), runner(runner),
        rounded(rounded), weights(findSearchedWeights(model)) {}

  Error run();

  size_t count = 0; ///< of weights that are rounded by the data
  size_t kept = 0;  ///< of those that the data do not help
  /// Changes of products by the search, by rounding to nearest, and products.
  double searched = 0, nearest = 0, whole = 0;

private:
  /// The weights that multiply an input.
  using Group = std::pair<Value, SmallVector<size_t>>;

  /// What is searched by, and what chooses how: of every other call.
  struct Moments {
    explicit Moments(int64_t columns) : seen(columns), others(columns) {}
    InputMoments seen, others;
  };

  Error observe(ArrayRef<Group> groups, std::vector<Moments> &moments);
  double errorOf(ArrayRef<size_t> group, ArrayRef<float> inverse,
                 const InputMoments &moments);
  std::optional<double> chooseDamping(ArrayRef<size_t> group,
                                      const Moments &moments);
  void search(ArrayRef<size_t> group, Moments &moments);
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
                            std::vector<Moments> &moments) {
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
  if (!path)
    return path.takeError();
  if (Error error = runner.open(*path, 0))
    return error;
  Progress progress("observe activations");
  for (size_t call = 0; call < runner.count(); ++call) {
    progress.update(call, runner.count(), "call");
    if (Error error =
            runner.run(call, {}, [&](unsigned output, ArrayRef<float> numbers) {
              if (output < moments.size())
                (call % 2 ? moments[output].others : moments[output].seen)
                    .add(numbers);
            }))
      return error;
  }
  for (auto [group, sums] : llvm::zip_equal(groups, moments))
    if (!sums.seen.isFinite() || !sums.others.isFinite())
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

/// Returns the change of the products of a group's first rows, which are
/// searched with `inverse` or, without, rounded to nearest.
double WeightSearch::errorOf(ArrayRef<size_t> group, ArrayRef<float> inverse,
                             const InputMoments &moments) {
  double error = 0;
  for (size_t i : group)
    tryCodes(weights[i].value, weights[i].isTransposed, format, inverse,
             kComparedRows, [&](ArrayRef<float> numbers, ArrayRef<float> made) {
               SmallVector<float, 0> change;
               for (auto [x, y] : llvm::zip_equal(numbers, made))
                 change.push_back(y - x);
               error += moments.changeBy(change);
             });
  return error;
}

/// Returns the damping with which what the search finds in one half of the
/// calls suits the other half most; none if rounding to nearest does. Moments
/// of few rows, or of rows unlike others, need more of it.
std::optional<double> WeightSearch::chooseDamping(ArrayRef<size_t> group,
                                                  const Moments &moments) {
  if (runner.count() < 2)
    return kDampings[0];
  std::optional<double> best;
  double least = errorOf(group, {}, moments.others);
  for (double damping : kDampings) {
    std::vector<float> inverse = moments.seen.factorInverse(damping);
    if (inverse.empty())
      continue;
    double error = errorOf(group, inverse, moments.others);
    if (error < least) {
      least = error;
      best = damping;
    }
  }
  return best;
}

void WeightSearch::search(ArrayRef<size_t> group, Moments &both) {
  std::optional<double> damping = chooseDamping(group, both);
  if (!damping) {
    kept += group.size();
    return;
  }
  both.seen.add(both.others);
  const InputMoments &moments = both.seen;
  std::vector<float> inverse = moments.factorInverse(*damping);
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
    std::vector<Moments> moments;
    int64_t bytes = 0;
    while (begin + moments.size() < left.size()) {
      int64_t columns =
          weights[left[begin + moments.size()].second.front()].columns;
      bytes += 2 * columns * columns * int64_t(sizeof(float));
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
      sums = Moments(0);
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
  if (!search.count && search.kept) {
    tell("all weights are rounded to nearest, which suits half of the data "
         "more than what a search in the other half finds; more data may help");
    return Error::success();
  }
  if (!search.count) {
    tell("no weight is rounded by the data: none is large enough, or has rows "
         "of whole blocks");
    return Error::success();
  }
  auto share = [&](double change) {
    return std::sqrt(search.whole > 0 ? change / search.whole : 0);
  };
  std::string others =
      search.kept ? llvm::formatv(" ({0} others are rounded to nearest, which "
                                  "suits the other half of the data more)",
                                  search.kept)
                        .str()
                  : "";
  tell(llvm::formatv("{0} weights are rounded by the data; the error of their "
                     "products is {1:E2}, to nearest {2:E2}{3}",
                     search.count, share(search.searched),
                     share(search.nearest), others)
           .str());
  return Error::success();
}
