//===- Steps.cpp - The steps of a command list ----------------------------===//

#include "dialects/plan/Plan.h"

#include "dialects/nn/NN.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace frit;
using namespace frit::plan;

static constexpr llvm::StringLiteral kFollows = "follows";

static_assert(getMaxEnumValForCollective() + 1 == artifact::kCollectives);

SmallVector<Operation *> frit::plan::stepsOf(Operation *list) {
  SmallVector<Operation *> steps;
  list->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != list && isStep(op))
      steps.push_back(op);
  });
  return steps;
}

std::vector<Follows> frit::plan::defaultFollows(ArrayRef<Operation *> steps) {
  std::vector<Follows> result(steps.size());
  DenseMap<Block *, int64_t> last; // of each block so far
  for (auto [place, step] : llvm::enumerate(steps)) {
    auto [it, isFirst] = last.try_emplace(step->getBlock(), place);
    if (!isFirst)
      result[place].push_back(std::exchange(it->second, place));
    else if (auto guard = dyn_cast<GuardOp>(step->getParentOp()))
      result[place].push_back(last.lookup(guard->getBlock()));
  }
  return result;
}

std::vector<Follows> frit::plan::followsOf(ArrayRef<Operation *> steps) {
  std::vector<Follows> result = defaultFollows(steps);
  for (auto [step, follows] : llvm::zip(steps, result))
    if (DenseI64ArrayAttr own = cast<StepOp>(step).getFollowsAttr())
      follows.assign(own.asArrayRef().begin(), own.asArrayRef().end());
  return result;
}

void frit::plan::setFollows(ArrayRef<Operation *> steps,
                            ArrayRef<Follows> follows) {
  for (auto [step, wanted, otherwise] :
       llvm::zip(steps, follows, defaultFollows(steps)))
    if (wanted == otherwise)
      step->removeAttr(kFollows);
    else
      step->setAttr(kFollows,
                    DenseI64ArrayAttr::get(step->getContext(), wanted));
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

template <typename Op> static SmallVector<Value> outputsOf(Op op) {
  SmallVector<Value> values(op.getOutputs());
  if (op.getWorkspace())
    values.push_back(op.getWorkspace());
  return values;
}

SmallVector<Value> LaunchOp::getReads() { return getInputs(); }
SmallVector<Value> LaunchOp::getWrites() { return outputsOf(*this); }

SmallVector<Value> GemmOp::getReads() { return getInputs(); }
SmallVector<Value> GemmOp::getWrites() { return outputsOf(*this); }

SmallVector<Value> ConvOp::getReads() { return getInputs(); }
SmallVector<Value> ConvOp::getWrites() { return outputsOf(*this); }

SmallVector<Value> AttentionOp::getReads() { return getInputs(); }
SmallVector<Value> AttentionOp::getWrites() { return outputsOf(*this); }

SmallVector<Value> CopyOp::getReads() { return {getSource()}; }
SmallVector<Value> CopyOp::getWrites() { return {getTarget()}; }

SmallVector<Value> CollectiveOp::getReads() { return {}; }
SmallVector<Value> CollectiveOp::getWrites() { return {getBuffer()}; }

SmallVector<Value> AwaitOp::getReads() { return {}; }
SmallVector<Value> AwaitOp::getWrites() { return getBuffers(); }

SmallVector<Value> GuardOp::getReads() { return {getCondition()}; }
SmallVector<Value> GuardOp::getWrites() { return {}; }

FlatSymbolRefAttr frit::plan::kernelOf(Operation *step) {
  return TypeSwitch<Operation *, FlatSymbolRefAttr>(step)
      .Case([](LaunchOp op) { return op.getKernelAttr(); })
      .Case<GemmOp, ConvOp, AttentionOp>(
          [](auto op) { return op.getFallbackAttr(); })
      .Default(FlatSymbolRefAttr());
}

void frit::plan::setKernel(Operation *step, FlatSymbolRefAttr kernel) {
  TypeSwitch<Operation *>(step)
      .Case([&](LaunchOp op) { op.setKernelAttr(kernel); })
      .Case<GemmOp, ConvOp, AttentionOp>(
          [&](auto op) { op.setFallbackAttr(kernel); });
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult frit::plan::detail::verifyFollows(Operation *step) {
  Attribute attribute = step->getAttr(kFollows);
  if (!attribute)
    return success();
  auto follows = dyn_cast<DenseI64ArrayAttr>(attribute);
  if (!follows)
    return step->emitOpError("follows an array of i64, not ") << attribute;
  int64_t last = -1;
  for (int64_t other : follows.asArrayRef()) {
    if (other <= last)
      return step->emitOpError("follows steps before it, in their order");
    last = other;
  }
  return success();
}

/// Returns the kernel that a step names, if the step's buffers match it.
static FailureOr<KernelOp> findKernel(Operation *step, FlatSymbolRefAttr name,
                                      size_t inputs, size_t outputs,
                                      SymbolTableCollection &symbols) {
  auto kernel = dyn_cast_or_null<KernelOp>(symbols.lookupSymbolIn(
      step->getParentOfType<TargetOp>(), name.getAttr()));
  if (!kernel)
    return step->emitOpError() << name << " is not a kernel of this target";
  size_t batch = kernel.getBatch();
  size_t wantedInputs = batch * kernel.getFusion()->getNumOperands();
  size_t wantedOutputs = batch * kernel.getFusion()->getNumResults();
  if (wantedInputs != inputs || wantedOutputs != outputs)
    return step->emitOpError() << name << " takes " << wantedInputs
                               << " inputs and " << wantedOutputs << " outputs";
  return kernel;
}

/// Checks that the fallback of a library call takes the same buffers.
template <typename Op>
static LogicalResult verifyFallback(Op op, SymbolTableCollection &symbols) {
  return success(
      !op.getFallbackAttr() ||
      succeeded(findKernel(op, op.getFallbackAttr(), op.getInputs().size(),
                           op.getOutputs().size(), symbols)));
}

/// Checks that a launch's arguments are single numbers or have its rows.
static LogicalResult verifyShard(LaunchOp launch) {
  std::optional<int64_t> rows = launch.getShardRows();
  if (!rows)
    return success();
  auto hasRows = [&](Value value) {
    int64_t count = cast<MemRefType>(value.getType()).getNumElements();
    return count == 1 || count == *rows * nn::kShardRow;
  };
  if (*rows > 0 && llvm::all_of(launch.getInputs(), hasRows) &&
      llvm::all_of(launch.getOutputs(), hasRows))
    return success();
  return launch.emitOpError("has arguments without ")
         << *rows << " rows of " << nn::kShardRow << " elements";
}

LogicalResult LaunchOp::verify() { return verifyShard(*this); }

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = findKernel(*this, getKernelAttr(), getInputs().size(),
                           getOutputs().size(), symbols);
  if (failed(kernel))
    return failure();
  uint64_t needed = kernel->getLaunchWorkspaceBytes();
  if (getWorkspace() && byteSize(getWorkspace().getType()) < needed)
    return emitOpError() << "has a workspace that is smaller than the "
                         << needed << " bytes " << getKernelAttr() << " needs";
  return success();
}

/// Returns how many inputs a contraction has beside its operands and their
/// bias and residual.
static size_t quantizationInputs(GemmOp) { return 0; }
static size_t quantizationInputs(ConvOp op) {
  return (op.getQuantized() ? 2 : 0) + op.getOffset() + op.getScale() +
         op.getYZero();
}

template <typename Op> static LogicalResult verifyContraction(Op op) {
  size_t inputs = 2 + op.getBias() + op.getResidual() + quantizationInputs(op);
  if (op.getInputs().size() != inputs || op.getOutputs().size() != 1)
    return op.emitOpError() << "takes " << inputs << " inputs and one output";
  return success();
}

LogicalResult GemmOp::verify() {
  if (getLd().size() != 3 || getBatchStrides().size() != 3)
    return emitOpError("ld and batch_strides are those of A, B and D");
  return verifyContraction(*this);
}

LogicalResult GemmOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyFallback(*this, symbols);
}

LogicalResult ConvOp::verify() {
  if (getStrides().size() != 2 || getPads().size() != 4 ||
      getDilations().size() != 2)
    return emitOpError("has two spatial dimensions");
  if (getPass() != ConvPass::forward &&
      (getBias() || getResidual() || getActivation() != Activation::none))
    return emitOpError("is a gradient, which has no bias, residual or "
                       "activation");
  if (!getQuantized() && (getOffset() || getScale() || getYZero()))
    return emitOpError("has an offset, scale or y_zero but is not quantized");
  return verifyContraction(*this);
}

LogicalResult ConvOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyFallback(*this, symbols);
}

LogicalResult AttentionOp::verify() {
  size_t inputs = getInputs().size();
  size_t most = isGradient() ? 7 : 4;
  if (inputs < 1 || inputs > most || getOutputs().size() != 1)
    return emitOpError("takes one to ") << most << " inputs and one output";
  if (!isGradient() != !getStats() || !isGradient() != !getDq() ||
      !isGradient() != !getDk() || !isGradient() != !getDv())
    return emitOpError("has dy, stats, dq, dk and dv if it is a gradient");
  SmallVector<OperandAttr> read = {getQ(), getK(), getV()}, written;
  if (isGradient()) {
    llvm::append_values(read, getY(), *getDy(), *getStats());
    written = {*getDq(), *getDk(), *getDv()};
  } else {
    written = {getY()};
  }
  if (getMask())
    read.push_back(*getMask());
  for (OperandAttr operand : read)
    if (operand.getArgument() >= inputs)
      return emitOpError("reads argument ")
             << operand.getArgument() << " and takes " << inputs << " inputs";
  for (OperandAttr operand : written)
    if (operand.getArgument() != inputs)
      return emitOpError("writes argument ")
             << operand.getArgument() << " and its output is " << inputs;
  return success();
}

LogicalResult AttentionOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyFallback(*this, symbols);
}

LogicalResult CopyOp::verify() {
  if (byteSize(getSource().getType()) != byteSize(getTarget().getType()))
    return emitOpError("copies buffers of one size");
  return success();
}

LogicalResult CollectiveOp::verify() {
  const artifact::CollectiveTraits traits = traitsOf(getCollective());
  auto type = cast<MemRefType>(getBuffer().getType());
  BufferOp root = rootOf(getBuffer());
  bool hasType =
      traits.gathers ? type.getElementType().isF32() : nn::isReducible(type);
  bool hasRows = !traits.divides || type.getNumElements() % nn::kShardRow == 0;
  bool hasPlace = !root || root.getSpace() == Space::arena ||
                  (traits.gathers && root.getSpace() == Space::state);
  if (hasType && hasRows && hasPlace)
    return success();
  InFlightDiagnostic error = emitOpError("takes ");
  if (traits.divides)
    error << "rows of " << nn::kShardRow << " elements";
  else
    error << "a buffer";
  return error << " of f32" << (traits.gathers ? "" : " or bf16")
               << " in the arena" << (traits.gathers ? " or a state" : "");
}

LogicalResult GuardOp::verify() {
  auto type = cast<MemRefType>(getCondition().getType());
  if (!type.getElementType().isInteger(1) || type.getNumElements() != 1)
    return emitOpError("its condition is not a single i1 value");
  for (Operation &op : getBody().front())
    if (!isStep(&op))
      return op.emitOpError("may not stand in a plan.guard");
  return success();
}
