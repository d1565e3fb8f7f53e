//===- Quantization.cpp - Quantize a model by data ------------------------===//

#include "compiler/driver/quantize/Quantization.h"

#include "compiler/driver/Outputs.h"
#include "compiler/driver/quantize/ObservedModel.h"
#include "compiler/driver/quantize/Ranges.h"
#include "compiler/support/Progress.h"
#include "compiler/transform/quantize/QuantizeProducts.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace frit;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

/// Data of fewer samples are warned of.
static constexpr size_t kFewSamples = 8;

/// Numbers that hardly a model has, and no f16.
static constexpr double kHuge = 1e6;

/// Calls over which errors are measured: each product takes as many.
static constexpr size_t kMeasuredCalls = 8;
/// Factors of smoothing stay within these.
static constexpr float kLeastFactor = 1e-3f, kMostFactor = 1e3f;

namespace {
class Quantizer {
public:
  Quantizer(ModuleOp model, const QuantizationOptions &options,
            SampleRunner &runner, llvm::function_ref<void(const Twine &)> tell)
      : model(model), options(options), runner(runner), tell(tell) {}

  Expected<ScaleTable> run();

private:
  Error compile(OwningOpRef<ModuleOp> module, StringRef name,
                unsigned ownInputs);
  Error observe();
  void tellIfFew();
  Error findRanges();
  void chooseScales();
  void smooth();
  Error measure();
  Expected<double> errorOf(ArrayRef<float> switches);
  Error keepWorst(ArrayRef<size_t> worst, double all);

  ModuleOp model;
  const QuantizationOptions &options;
  SampleRunner &runner;
  llvm::function_ref<void(const Twine &)> tell;
  TemporaryFolder folder;
  std::vector<QuantizableProduct> products;
  std::vector<ObservedProduct> observed;         ///< of each
  llvm::MapVector<unsigned, TensorRange> ranges; ///< by result
  llvm::DenseMap<unsigned, std::vector<float>> weights;
  /// The f32 results of the measured calls: by call and output.
  std::vector<std::vector<std::vector<float>>> wide;
  ScaleTable table;
};
} // namespace

Error Quantizer::compile(OwningOpRef<ModuleOp> module, StringRef name,
                         unsigned ownInputs) {
  auto path = compileHere(std::move(module), name, options.hostArch, folder);
  return path ? runner.open(*path, ownInputs) : path.takeError();
}

/// Warns of data of so few samples that numbers in use may be far larger.
void Quantizer::tellIfFew() {
  auto main = model.lookupSymbol<func::FuncOp>("main");
  int64_t rows = 1;
  for (Type type : main.getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && tensor.getRank() > 1)
      rows = std::max(rows, tensor.getDimSize(0));
  size_t samples = runner.count() * rows;
  if (samples < kFewSamples)
    emitWarning(main.getLoc())
        << "--calibrate: scales of " << samples
        << (samples == 1 ? " sample" : " samples")
        << " cut off what is larger in use; 100 to 500 that look like those in "
           "use are enough [-Wcalibration]";
}

/// Finds the ranges of the inputs of all products.
Error Quantizer::observe() {
  OwningOpRef<ModuleOp> module(model.clone());
  observed = observeProducts(*module);
  for (auto [product, place] : llvm::zip_equal(products, observed))
    ranges.insert({place.input, {}});
  if (Error error = compile(std::move(module), "observed", 0))
    return error;
  if (Error error = findRanges())
    return error;
  smooth();
  if (options.calibrator == Calibrator::max)
    return Error::success();
  Progress progress("count activations");
  for (size_t call = 0; call < runner.count(); ++call) {
    progress.update(call, runner.count(), "call");
    if (Error error =
            runner.run(call, {}, [&](unsigned output, ArrayRef<float> numbers) {
              auto found = ranges.find(output);
              if (found != ranges.end())
                found->second.addCounts(numbers);
            }))
      return error;
  }
  return Error::success();
}

Error Quantizer::findRanges() {
  llvm::DenseMap<unsigned, int64_t> columns;
  llvm::DenseSet<unsigned> ofWeights;
  for (auto [product, place] : llvm::zip_equal(products, observed)) {
    if (!product.isConv())
      columns[place.input] = product.depth();
    if (place.weights)
      ofWeights.insert(*place.weights);
  }
  Progress progress("observe activations");
  for (size_t call = 0; call < runner.count(); ++call) {
    progress.update(call, runner.count(), "call");
    if (Error error =
            runner.run(call, {}, [&](unsigned output, ArrayRef<float> numbers) {
              if (ofWeights.contains(output))
                weights[output] = numbers.vec();
              auto found = ranges.find(output);
              if (found != ranges.end())
                found->second.addRange(numbers, columns.lookup(output));
            }))
      return error;
  }
  for (auto [product, place] : llvm::zip_equal(products, observed))
    if (ranges[place.input].isInfinite())
      return llvm::createStringError(
          "-fquantize: with the data of --calibrate, the node '" +
          product.node + "' reads numbers that are not finite");
  return Error::success();
}

/// Moves magnitude from the columns of norms' results into the weights of the
/// products that read them (SmoothQuant).
void Quantizer::smooth() {
  double alpha = options.smooth;
  llvm::MapVector<unsigned, SmallVector<size_t>> readers;
  for (size_t i = 0; i < products.size(); ++i)
    readers[observed[i].input].push_back(i);
  for (const auto &[input, group] : readers) {
    if (alpha == 0 ||
        !llvm::all_of(group, [&](size_t i) { return products[i].readsNorm(); }))
      continue;
    TensorRange &range = ranges[input];
    std::vector<float> factors;
    for (auto [column, most] : llvm::enumerate(range.columns())) {
      float weight = 0;
      for (size_t i : group)
        weight = std::max(weight, weights[*observed[i].weights][column]);
      double factor = most > 0 && weight > 0
                          ? std::pow(double(most), alpha) /
                                std::pow(double(weight), 1 - alpha)
                          : 1;
      factors.push_back(std::clamp(float(factor), kLeastFactor, kMostFactor));
    }
    for (size_t i : group)
      table.rows[i].smooth = factors;
    range.smooth(std::move(factors));
  }
}

/// Chooses the scales of inputs by their ranges. A product that reads nothing
/// but 0 stays wide.
void Quantizer::chooseScales() {
  std::vector<StringRef> zeros;
  for (auto [row, place] : llvm::zip_equal(table.rows, observed)) {
    const TensorRange &range = ranges[place.input];
    row.isWide = range.isZero();
    if (row.isWide)
      zeros.push_back(row.node);
    if (options.hasFloats())
      range.chooseFloats(options.calibrator, row);
    else
      range.choose(options.calibrator, row);
  }
  if (!zeros.empty())
    tell("with the data of --calibrate, '" + zeros.front() + "'" +
         (zeros.size() > 1 ? " and " + Twine(zeros.size() - 1) + " others read"
                           : Twine(" reads")) +
         " nothing but 0, so that no scale is known and " +
         (zeros.size() > 1 ? "they stay" : "it stays") + " wide");
}

/// Returns the relative error of the results of the measured calls: that of the
/// worst output. NaN counts as infinite.
Expected<double> Quantizer::errorOf(ArrayRef<float> switches) {
  llvm::DenseMap<unsigned, std::pair<double, double>> sums;
  for (size_t call = 0; call < wide.size(); ++call)
    if (Error error = runner.run(
            call, switches, [&](unsigned output, ArrayRef<float> numbers) {
              auto &[difference, size] = sums[output];
              for (auto [x, y] : llvm::zip_equal(numbers, wide[call][output])) {
                difference += (double(x) - y) * (double(x) - y);
                size += double(y) * y;
              }
            }))
      return error;
  double worst = 0;
  for (const auto &[output, sum] : sums) {
    double error =
        std::sqrt(sum.second > 0 ? sum.first / sum.second : sum.first);
    worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error);
  }
  return worst;
}

/// Keeps the fewest of the worst products wide with which the rest has the
/// error that was asked for.
Error Quantizer::keepWorst(ArrayRef<size_t> worst, double all) {
  auto errorWithout = [&](size_t count) {
    std::vector<float> switches(products.size(), 1);
    for (size_t i : worst.take_front(count))
      switches[i] = 0;
    return errorOf(switches);
  };
  size_t low = 0, high = worst.size(); // of `low`, the error is too large
  auto error = errorWithout(high);
  while (error && high - low > 1) {
    size_t middle = (low + high) / 2;
    auto here = errorWithout(middle);
    if (here && *here > *options.maxError) {
      low = middle;
    } else {
      high = middle;
      error = std::move(here);
    }
  }
  if (!error)
    return error.takeError();
  for (size_t i : worst.take_front(high))
    table.rows[i].isWide = true;
  tell(llvm::formatv("{0} of {1} products stay wide, so that the error is "
                     "{2:E2}, not {3:E2}; the worst is '{4}', alone {5:E2}",
                     high, products.size(), *error, all,
                     products[worst[0]].node, *table.rows[worst[0]].error)
           .str());
  return Error::success();
}

/// Measures the error of each product alone, and of all.
Error Quantizer::measure() {
  OwningOpRef<ModuleOp> module(model.clone());
  if (failed(switchProducts(*module, table)))
    return reported();
  if (Error error = compile(std::move(module), "switched", 1))
    return error;
  size_t calls = std::min(runner.count(), kMeasuredCalls);
  std::vector<float> switches(products.size(), 0);
  for (size_t call = 0; call < calls; ++call) {
    auto &outputs = wide.emplace_back();
    if (Error error = runner.run(
            call, switches, [&](unsigned output, ArrayRef<float> numbers) {
              outputs.resize(std::max<size_t>(outputs.size(), output + 1));
              outputs[output] = numbers.vec();
            }))
      return error;
  }
  {
    Progress progress("measure errors");
    for (auto [i, row] : llvm::enumerate(table.rows)) {
      progress.update(i, products.size(), row.node);
      switches[i] = 1;
      auto error = errorOf(switches);
      if (!error)
        return error.takeError();
      row.error = *error;
      switches[i] = 0;
    }
  }
  std::vector<size_t> worst(products.size());
  std::iota(worst.begin(), worst.end(), 0);
  llvm::stable_sort(worst, [&](size_t a, size_t b) {
    return *table.rows[a].error > *table.rows[b].error;
  });
  auto all = errorOf(std::vector<float>(products.size(), 1));
  if (!all)
    return all.takeError();
  if (options.maxError && *all > *options.maxError)
    return keepWorst(worst, *all);
  tell(llvm::formatv(
           "{0} products are quantized with an error of {1:E2}; the "
           "worst is '{2}', alone {3:E2}",
           llvm::count_if(table.rows,
                          [](const ProductScales &row) { return !row.isWide; }),
           *all, products[worst[0]].node, *table.rows[worst[0]].error)
           .str());
  return Error::success();
}

Expected<ScaleTable> Quantizer::run() {
  products = findQuantizable(model);
  if (products.empty())
    return llvm::createStringError(
        "-fquantize: the model has no convolution of one group and no product "
        "with a matrix of weights, of static shapes and not quantized already");
  for (const QuantizableProduct &product : products)
    table.rows.push_back({product.node});
  if (std::error_code error = TemporaryFolder::create(folder))
    return outputError(temporaryPlace(), error);
  if (Error error = runner.read(options.data))
    return error;
  if (Error error = observe())
    return error;
  tellIfFew();
  chooseScales();
  if (Error error = measure())
    return error;
  return std::move(table);
}

/// Returns a table by which the products of matrices have scales of rows, and
/// convolutions stay wide.
static Expected<ScaleTable> scaleRows(ModuleOp model) {
  ScaleTable table;
  size_t count = 0;
  for (const QuantizableProduct &product : findQuantizable(model)) {
    ProductScales row{product.node};
    row.isWide = product.isConv();
    row.code = InputCode::e4m3;
    row.ofRows = true;
    count += !row.isWide;
    table.rows.push_back(std::move(row));
  }
  if (count == 0)
    return llvm::createStringError(
        "-fquantize=fp8: the model has no product with a matrix of weights, of "
        "static shapes and not quantized already; convolutions need "
        "--calibrate=DATA or --scales=FILE");
  return table;
}

/// Warns of scales beside which numbers of a usual size are 0.
static void tellIfHuge(const ScaleTable &table, ModuleOp model) {
  for (const ProductScales &row : table.rows) {
    double most = row.scale * (row.code == InputCode::e4m3 ? 448. : 255.);
    if (row.isWide || row.ofRows || most < kHuge)
      continue;
    emitWarning(model.lookupSymbol<func::FuncOp>("main").getLoc())
        << llvm::formatv("the scale {0:E2} of '{1}' is for numbers up to "
                         "{2:E2}, beside which small ones are 0; ",
                         row.scale, row.node, most)
               .str()
        << "a number far larger than all others makes such scales: "
           "--calibrator=percentile cuts it off, \"wide\" in the table keeps "
           "the node as it is [-Wscales]";
  }
}

/// Fails if a table has codes of another format.
static Error checkFormat(const ScaleTable &table,
                         const QuantizationOptions &options) {
  for (const ProductScales &row : table.rows)
    if (!row.isWide && (row.code == InputCode::e4m3) != options.hasFloats())
      return llvm::createStringError(
          table.path + ":" + Twine(row.line) + ": " + nameOf(row.code) +
          " is no code of -fquantize=" + options.format);
  return Error::success();
}

Error frit::quantizeModel(MutableArrayRef<OwningOpRef<ModuleOp>> variants,
                          const QuantizationOptions &options,
                          SampleRunner &runner,
                          llvm::function_ref<void(const Twine &)> tell) {
  ScaleTable table;
  if (options.data.empty() && options.scales.empty()) {
    auto made = scaleRows(*variants.front());
    if (!made)
      return made.takeError();
    table = std::move(*made);
  } else if (options.data.empty()) {
    auto file = llvm::MemoryBuffer::getFile(options.scales, /*IsText=*/true);
    if (!file)
      return llvm::createStringError("cannot read '" + options.scales +
                                     "': " + file.getError().message());
    auto read = readScales((*file)->getBuffer(), options.scales);
    if (!read)
      return read.takeError();
    table = std::move(*read);
    if (Error error = checkFormat(table, options))
      return error;
  } else {
    auto made = Quantizer(*variants.front(), options, runner, tell).run();
    if (!made)
      return made.takeError();
    table = std::move(*made);
    if (!options.scales.empty())
      if (Error error = writeText(options.scales, writeScales(table)))
        return error;
  }
  tellIfHuge(table, *variants.front());
  for (OwningOpRef<ModuleOp> &variant : variants)
    if (failed(quantizeProducts(*variant, table)))
      return reported();
  return Error::success();
}
