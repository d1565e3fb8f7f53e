//===- AddSampler.cpp - A model of diffusion as one step of its sampler ---===//
//
// sampler=ddim:steps=2
//   func.func @main(%x: tensor<1x4xf32> {nn.name = "sample"},
//                   %t: tensor<1xi64> {nn.name = "timestep"})
//       -> (tensor<1x4xf32> {nn.name = "noise"}) {
//     %e = …
//     return %e
// ==>
//   func.func @main(%x: tensor<1x4xf32> {nn.carried = 0, nn.name = "sample"},
//                   %time: tensor<i64> {nn.steps = [dense<501>, dense<1>]},
//                   %keep: tensor<f32> {nn.steps = …},
//                   %add: tensor<f32> {nn.steps = …})
//       -> (tensor<1x4xf32> {nn.name = "noise"}) {
//     %t = nn.reshape %time
//     %e = …
//     %y = %x · %keep + %e · %add
//     return %y
//
// A method that reads the clean sample of the step before has an argument and a
// result more, without names. RepeatSteps repeats the step once its operators
// are kernels. The sample is f32 between steps. With guidance the model has
// twice the batch: the first half of its conditions are those of no condition.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Passes.h"
#include "compiler/transform/sampling/Sampler.h"
#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>

namespace frit {
#define GEN_PASS_DEF_ADDSAMPLER
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class AddSampler : public frit::impl::AddSamplerBase<AddSampler> {
public:
  using AddSamplerBase::AddSamplerBase;

  void runOnOperation() override;

private:
  LogicalResult readMain(func::FuncOp main);
  FailureOr<BlockArgument> find(StringRef chosen, StringRef what,
                                StringRef setting, StringRef form,
                                ArrayRef<StringRef> usual,
                                llvm::function_ref<bool(BlockArgument)> fits);
  void takeSample(NNBuilder &b);
  void takeTime(NNBuilder &b);
  Value finishStep(NNBuilder &b, Value said);

  bool hasAny(double SamplerStep::*number) const;
  Value timesSteps(NNBuilder &b, Value value, double SamplerStep::*number);

  SamplerOptions options;
  SmallVector<SamplerStep> steps;
  func::FuncOp main;
  BlockArgument sample, time;
  Value scaled; ///< the sample as the step takes it
  /// The clean sample of the step before, and of this step; or null.
  Value earlier, given;
};
} // namespace

static StringRef inputName(BlockArgument argument) {
  auto main = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto name =
      main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "nn.name");
  return name ? name.getValue() : "";
}

static std::string shapeText(Value value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto type = tensorType(value);
  for (int64_t size : type.getShape())
    os << size << 'x';
  os << type.getElementType();
  return text;
}

/// Finds the input that `fits`: the `chosen` one, the only one, or the only one
/// with one of the `usual` names.
FailureOr<BlockArgument>
AddSampler::find(StringRef chosen, StringRef what, StringRef setting,
                 StringRef form, ArrayRef<StringRef> usual,
                 llvm::function_ref<bool(BlockArgument)> fits) {
  SmallVector<BlockArgument> found, named;
  std::string all, fitting;
  for (BlockArgument input : main.getArguments()) {
    StringRef name = inputName(input);
    if (name.empty())
      continue;
    all +=
        (all.empty() ? "'" : ", '") + name.str() + "' of " + shapeText(input);
    if (name == chosen && !fits(input))
      return emitError(main.getLoc(), "--sampler: '")
             << name << "', which " << what << ", is " << shapeText(input)
             << "; it should be " << form;
    if (!fits(input))
      continue;
    found.push_back(input);
    fitting += (fitting.empty() ? "'" : ", '") + name.str() + "'";
    if (chosen.empty() ? llvm::is_contained(usual, name) : name == chosen)
      named.push_back(input);
  }
  if (named.size() == 1)
    return named.front();
  if (chosen.empty() && found.size() == 1)
    return found.front();
  if (found.empty() || !chosen.empty())
    return emitError(main.getLoc(), "--sampler: the model has no input ")
           << (chosen.empty() ? "that " + what : "'" + chosen + "'")
           << (chosen.empty() ? ", of " + form.str() : std::string())
           << "; its inputs are " << all;
  return emitError(main.getLoc(), "--sampler: ")
         << fitting << " could each be the input that " << what
         << "; say which with " << setting << "=NAME";
}

/// Finds the sample and the time, and checks that the model has the form of a
/// step.
LogicalResult AddSampler::readMain(func::FuncOp function) {
  main = function;
  Operation *end = main.getBody().front().getTerminator();
  if (end->getNumOperands() != 1)
    return emitError(main.getLoc(), "--sampler: the model has ")
           << end->getNumOperands()
           << " outputs; a sampler takes a model with one, what it says of "
              "the sample";
  Value said = end->getOperand(0);
  ArrayRef<int64_t> shape = shapeOf(said);
  // Models that also learn a variance say it in as many channels more.
  auto isSample = [&](BlockArgument input) {
    ArrayRef<int64_t> own = shapeOf(input);
    if (!isa<FloatType>(tensorType(input).getElementType()) || own.empty() ||
        own.size() != shape.size())
      return false;
    for (size_t i = 0; i < own.size(); ++i)
      if (own[i] != shape[i] && !(i == 1 && shape[i] == 2 * own[i]))
        return false;
    return true;
  };
  auto sampled = find(
      options.sample, "gets the sample", "sample",
      "floats of the output's shape, " + shapeText(said),
      {"sample", "latents", "latent", "hidden_states", "x", "x_t"}, isSample);
  if (failed(sampled))
    return failure();
  sample = *sampled;
  int64_t batch = shapeOf(sample).front();
  auto isTime = [&](BlockArgument input) {
    auto type = tensorType(input);
    return input != sample && type.getRank() <= 1 &&
           (type.getNumElements() == 1 || type.getNumElements() == batch) &&
           (isa<FloatType>(type.getElementType()) ||
            type.getElementTypeBitWidth() >= 16);
  };
  auto timed = find(options.time, "gets the time", "time",
                    "one number, or one for each sample",
                    {"timestep", "timesteps", "time", "t"}, isTime);
  if (failed(timed))
    return failure();
  time = *timed;
  if (options.guidance && batch % 2)
    return emitError(main.getLoc(), "--sampler: with guidance the model is "
                                    "called for samples without and with the "
                                    "condition, but its batch of '")
           << inputName(sample) << "' is " << batch << ", which is odd";
  return success();
}

/// Adds an argument that has a value in each step.
static BlockArgument addSteps(func::FuncOp main, RankedTensorType type,
                              ArrayRef<Attribute> values) {
  OpBuilder b(main);
  SmallVector<Attribute> steps;
  for (Attribute value : values)
    steps.push_back(DenseElementsAttr::get(type, value));
  unsigned index = main.getNumArguments();
  auto attributes =
      b.getDictionaryAttr(b.getNamedAttr("nn.steps", b.getArrayAttr(steps)));
  if (failed(main.insertArgument(index, type, attributes, main.getLoc())))
    llvm_unreachable("an argument can always be added");
  return main.getArgument(index);
}

/// Makes the sample f32, and with guidance one for each pair of the model's.
void AddSampler::takeSample(NNBuilder &b) {
  auto type = tensorType(sample);
  SmallVector<int64_t> shape(type.getShape());
  if (options.guidance)
    shape.front() /= 2;
  sample.setType(RankedTensorType::get(shape, b.getF32Type()));
  SmallPtrSet<Operation *, 4> own;
  scaled = sample;
  if (llvm::any_of(steps, [](auto &step) { return step.scale != 1; })) {
    scaled = timesSteps(b, sample, &SamplerStep::scale);
    own.insert(scaled.getDefiningOp());
  }
  Value taken = b.cast(scaled, type.getElementType());
  if (taken != scaled)
    own.insert(taken.getDefiningOp());
  if (options.guidance) {
    taken = ConcatOp::create(b, ValueRange{taken, taken}, /*axis=*/0);
    own.insert(taken.getDefiningOp());
  }
  if (taken != sample)
    sample.replaceAllUsesExcept(taken, own);
}

/// Replaces the time by an argument that has a value in each step.
void AddSampler::takeTime(NNBuilder &b) {
  auto type = tensorType(time);
  Type element = type.getElementType();
  SmallVector<Attribute> times;
  for (const SamplerStep &step : steps) {
    if (isa<FloatType>(element))
      times.push_back(b.getFloatAttr(element, step.time));
    else
      times.push_back(b.getIntegerAttr(element, std::llround(step.time)));
  }
  Value number = addSteps(main, RankedTensorType::get({}, element), times);
  if (type.getRank() == 1)
    number = ExpandOp::create(b, b.reshape(number, {1}), type.getShape());
  time.replaceAllUsesWith(number);
  (void)main.eraseArgument(time.getArgNumber());
}

/// Returns the sample after a step in which the model `said` this.
Value AddSampler::finishStep(NNBuilder &b, Value said) {
  said = b.cast(said, b.getF32Type());
  SmallVector<int64_t> shape(shapeOf(said)), starts(shape.size(), 0),
      ones(shape.size(), 1);
  auto slice = [&](size_t dim, int64_t start, int64_t size) {
    SmallVector<int64_t> from(starts), sizes(shapeOf(said));
    from[dim] = start;
    sizes[dim] = size;
    return SliceOp::create(b, said, from, sizes, ones).getY();
  };
  if (shape.size() > 1 && shape[1] != shapeOf(sample)[1])
    said = slice(1, 0, shapeOf(sample)[1]);
  if (options.guidance) {
    int64_t half = shape.front() / 2;
    Value without = slice(0, 0, half), with = slice(0, half, half);
    said = b.add(without, b.mul(b.sub(with, without),
                                b.scalarLike(with, options.guidance)));
  }
  Value after = timesSteps(b, scaled, &SamplerStep::keep);
  after = b.add(after, timesSteps(b, said, &SamplerStep::add));
  if (!hasAny(&SamplerStep::clean))
    return after;
  Value clean = timesSteps(b, scaled, &SamplerStep::fromSample);
  clean = b.add(clean, timesSteps(b, said, &SamplerStep::fromSaid));
  if (options.clip != 0) {
    clean = MaxOp::create(b, clean, b.scalarLike(clean, -options.clip));
    clean = MinOp::create(b, clean, b.scalarLike(clean, options.clip));
  }
  after = b.add(after, timesSteps(b, clean, &SamplerStep::clean));
  if (!hasAny(&SamplerStep::before))
    return after;
  unsigned index = main.getNumArguments();
  if (failed(main.insertArgument(index, sample.getType(), {}, main.getLoc())))
    llvm_unreachable("an argument can always be added");
  earlier = main.getArgument(index);
  given = clean;
  return b.add(after, timesSteps(b, earlier, &SamplerStep::before));
}

bool AddSampler::hasAny(double SamplerStep::*number) const {
  return llvm::any_of(
      steps, [&](const SamplerStep &step) { return step.*number != 0; });
}

/// Returns `value` times a number of each step.
Value AddSampler::timesSteps(NNBuilder &b, Value value,
                             double SamplerStep::*number) {
  SmallVector<Attribute> numbers;
  for (const SamplerStep &step : steps)
    numbers.push_back(b.getF32FloatAttr(float(step.*number)));
  auto scalar = RankedTensorType::get({}, b.getF32Type());
  return b.mul(value, addSteps(main, scalar, numbers));
}

void AddSampler::runOnOperation() {
  auto function = getOperation().lookupSymbol<func::FuncOp>("main");
  if (sampler.empty() || !function || function.isExternal())
    return;
  auto read = readSampler(sampler);
  if (!read) {
    emitError(function.getLoc(), llvm::toString(read.takeError()));
    return signalPassFailure();
  }
  options = *read;
  steps = stepsOf(options);
  if (failed(readMain(function)))
    return signalPassFailure();
  Block &block = main.getBody().front();
  Operation *end = block.getTerminator();
  Value said = end->getOperand(0);
  NNBuilder first(sample.getLoc(), OpBuilder::atBlockBegin(&block));
  takeSample(first);
  takeTime(first);
  NNBuilder last(said.getLoc(), end);
  // The model may return its input.
  end->setOperand(0, finishStep(last, end->getOperand(0)));
  main.setArgAttr(sample.getArgNumber(), "nn.carried",
                  last.getI64IntegerAttr(0));
  if (earlier) {
    // A result without a name, which RepeatSteps drops.
    main.setArgAttr(cast<BlockArgument>(earlier).getArgNumber(), "nn.carried",
                    last.getI64IntegerAttr(1));
    end->insertOperands(1, given);
    if (failed(main.insertResult(1, given.getType(), {})))
      llvm_unreachable("a result can always be added");
  }
  main.setType(
      last.getFunctionType(block.getArgumentTypes(), end->getOperandTypes()));
}
