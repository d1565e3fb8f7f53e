//===- ShareKernels.cpp - Fewer kernels for very large graphs -------------===//
//
//   %a = nn.fusion(%x) { %c = nn.constant dense<2.0>; nn.mul %x, %c }
//   %b = nn.fusion(%x) { %c = nn.constant dense<3.0>; nn.mul %x, %c }
// ==>
//   %2 = nn.constant dense<2.0>, %3 = nn.constant dense<3.0>
//   %a = nn.fusion(%x, %2) { nn.mul %x, %c }
//   %b = nn.fusion(%x, %3) { nn.mul %x, %c }
//
// Fusions of equal text are one kernel, but a graph of thousands of operators
// may have thousands of texts, each of which takes milliseconds to compile.
// Above a number of loops, fusions that differ in their numbers alone read
// these from memory, and a concat has an input for each operand, equal or not.
// Before that, a fusion of many reductions, each of which depends on the one
// before, becomes a fusion for each: long sequences of operators are seldom
// equal. Ordinary models have fewer loops and stay as they are.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/fusion/FusionGroups.h"
#include "dialects/nn/KernelText.h"
#include "dialects/nn/operators/Custom.h"

#include "llvm/ADT/StringSet.h"

#include <numeric>

namespace frit {
#define GEN_PASS_DEF_SHAREKERNELS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// A fusion with this many reductions in sequence is split. Layer norms and
/// softmaxes have two, joint gradients of such a few more.
static constexpr int64_t kReductions = 8;

/// Returns the loops of a fusion's kernel, by which compile time grows: one for
/// its elementwise operators, and one for each other operator.
static size_t countLoops(FusionOp fusion) {
  return 1 + llvm::count_if(fusion.getBody().front().without_terminator(),
                            [](Operation &op) {
                              return !isa<ElementwiseOp, ConstantOp>(op);
                            });
}

/// Returns whether a constant is one number that is only added, multiplied or
/// compared: code with the number in it then computes the same, bit for bit.
static bool isNumber(ConstantOp constant) {
  return isFloat(constant.getY()) && splatOf(constant.getY()) &&
         tensorType(constant.getY()).getNumElements() == 1 &&
         llvm::all_of(constant->getUsers(),
                      llvm::IsaPred<AddOp, SubOp, MulOp, MaxOp, MinOp>);
}

/// Returns the numbers that a fusion may read. Kernels of products and of
/// composites depend on theirs.
static SmallVector<ConstantOp> numbersOf(FusionOp fusion) {
  if (llvm::any_of(fusion.getBody().front(), [](Operation &op) {
        return isContraction(&op) || isa<CompositeOp, CustomOp>(op);
      }))
    return {};
  return llvm::to_vector(
      llvm::make_filter_range(fusion.getBody().getOps<ConstantOp>(), isNumber));
}

/// Returns a fusion's text without its numbers.
static std::string textWithoutNumbers(FusionOp fusion) {
  auto clone = cast<FusionOp>(fusion->clone());
  Builder b(fusion.getContext());
  for (ConstantOp number : numbersOf(clone)) {
    number.removeNameAttr();
    number.setValueAttr(
        cast<ElementsAttr>(b.getZeroAttr(number.getY().getType())));
  }
  std::string text = kernelText(clone);
  clone->destroy();
  return text;
}

/// Makes the numbers of a fusion inputs of it.
static void readNumbers(FusionOp fusion) {
  OpBuilder b(fusion);
  for (ConstantOp number : numbersOf(fusion)) {
    // Without a name: the number is no weight that may be replaced.
    auto input = ConstantOp::create(b, number.getLoc(), number.getValueAttr(),
                                    StringAttr());
    fusion.getInputsMutable().append(input.getY());
    number.getY().replaceAllUsesWith(
        fusion.getBody().addArgument(number.getY().getType(), number.getLoc()));
    number.erase();
  }
}

/// Gives a fusion that is a concat one input for each operand, in order, so
/// that its text does not depend on which of them are equal.
static void repeatInputs(FusionOp fusion) {
  Block &body = fusion.getBody().front();
  auto concat = dyn_cast<ConcatOp>(body.front());
  if (!concat || concat->getNextNode() != body.getTerminator())
    return;
  unsigned known = body.getNumArguments();
  SmallVector<Value> inputs;
  for (OpOperand &operand : concat->getOpOperands()) {
    auto argument = cast<BlockArgument>(operand.get());
    inputs.push_back(fusion.getInputs()[argument.getArgNumber()]);
    operand.set(body.addArgument(argument.getType(), argument.getLoc()));
  }
  body.eraseArguments(0, known);
  fusion.getInputsMutable().assign(inputs);
}

/// Returns the operators of a fusion of many reductions in sequence, by the
/// number of reductions before them; none if there are few or other operators.
static SmallVector<SmallVector<Operation *>> findSequence(FusionOp fusion) {
  llvm::DenseMap<Value, int64_t> reductions; ///< up to and including a value
  SmallVector<SmallVector<Operation *>> parts;
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    if (isa<ConstantOp>(op))
      continue;
    if (!isa<ElementwiseOp, ReduceOp>(op))
      return {};
    int64_t count = 0;
    for (Value operand : op.getOperands())
      count = std::max(count, reductions.lookup(operand));
    size_t part = isa<ReduceOp>(op) ? count : std::max<int64_t>(count, 1) - 1;
    reductions[op.getResult(0)] = count + isa<ReduceOp>(op);
    if (part >= parts.size())
      parts.resize(part + 1);
    parts[part].push_back(&op);
  }
  if (int64_t(parts.size()) < kReductions)
    return {};
  return parts;
}

/// Makes one fusion for each reduction in sequence.
static void split(FusionOp fusion) {
  SmallVector<SmallVector<Operation *>> parts = findSequence(fusion);
  if (parts.empty())
    return;
  Block &body = fusion.getBody().front();
  for (auto [argument, input] :
       llvm::zip_equal(body.getArguments(), fusion.getInputs()))
    argument.replaceAllUsesWith(input);
  fusion->replaceAllUsesWith(body.getTerminator()->getOperands());
  body.getTerminator()->erase();
  for (Operation &op : llvm::make_early_inc_range(body))
    op.moveBefore(fusion);
  for (ArrayRef<Operation *> part : parts)
    createFusionOp(part, fusion);
  fusion.erase();
}

namespace {
class ShareKernels : public frit::impl::ShareKernelsBase<ShareKernels> {
public:
  using ShareKernelsBase::ShareKernelsBase;

  void runOnOperation() override {
    if (!hasMany())
      return;
    for (FusionOp fusion : fusions()) {
      repeatInputs(fusion);
      split(fusion);
    }
    llvm::StringMap<SmallVector<FusionOp>> alike;
    for (FusionOp fusion : fusions())
      if (!numbersOf(fusion).empty())
        alike[textWithoutNumbers(fusion)].push_back(fusion);
    for (const auto &group : alike) {
      const SmallVector<FusionOp> &members = group.second;
      llvm::StringSet<> kernels;
      for (FusionOp fusion : members)
        kernels.insert(kernelText(fusion));
      if (kernels.size() > 1)
        for (FusionOp fusion : members)
          readNumbers(fusion);
    }
    // Numbers of fusions that were split.
    getOperation().walk([](func::FuncOp function) {
      if (!function.isExternal())
        eraseDead(function.getBody().front());
    });
  }

private:
  SmallVector<FusionOp> fusions() {
    SmallVector<FusionOp> all;
    getOperation().walk([&](FusionOp fusion) { all.push_back(fusion); });
    return all;
  }

  /// Returns whether the kernels have more loops than `mostLoops`.
  bool hasMany() {
    SmallVector<FusionOp> all = fusions();
    auto count = [](size_t loops, FusionOp fusion) {
      return loops + countLoops(fusion);
    };
    // Printing fusions takes longer than counting.
    if (std::accumulate(all.begin(), all.end(), size_t(0), count) <= mostLoops)
      return false;
    llvm::StringSet<> kernels;
    llvm::erase_if(all, [&](FusionOp fusion) {
      return !kernels.insert(kernelText(fusion)).second;
    });
    return std::accumulate(all.begin(), all.end(), size_t(0), count) >
           mostLoops;
  }
};
} // namespace
