//===- JoinAppends.cpp - Attention that appends to its caches -------------===//
//
//   %q = nn.fusion(%x, %cos) { nn.mul }
//   %k = nn.fusion(%y, %cos, %keys, %at) { nn.mul, nn.update }
//   %v = nn.fusion(%z, %values, %at) { nn.update }
//   %o = nn.fusion(%q, %k, %v) { nn.attention }
// ==>
//   %o, %k, %v = nn.fusion(%x, %cos, %y, %keys, %at, %z, %values)
//                { nn.mul, nn.mul, nn.update, nn.update, nn.attention }
//
// A model that writes a few tokens rotates a few rows of queries and keys and
// appends keys and values to caches. A kernel for that takes as long as its
// launch, and the kernel of attention waits for it. Now the latter computes
// what it would read.
//
// On a CPU, attention to caches of codes decodes the keys that it reads:
//
//   %k = nn.fusion(%codes, %scales) { nn.cast, nn.sub, nn.mul }
//   %o = nn.fusion(%q, %k, %v) { nn.attention }
// ==>
//   %o = nn.fusion(%codes, %scales, %q, %v)
//                { nn.cast, nn.sub, nn.mul, nn.attention }
//
// and attention whose scores are capped, which no nn.attention is, becomes one
// kernel:
//
//   %s = nn.fusion(%q, %k) { nn.matmul }
//   %c = nn.fusion(%s) { nn.div, nn.tanh, nn.mul }
//   %w = nn.fusion(%mask, %c) { nn.where, … softmax }
//   %o = nn.fusion(%w, %v) { nn.matmul }
// ==>
//   %o = nn.fusion(%q, %k, %mask, %v) { nn.matmul, …, nn.matmul }
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/rewrites/JoinAppends.h"

#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/TargetRewritePass.h"

namespace frit {
#define GEN_PASS_DEF_JOINAPPENDS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns the fusion that computes a value, perhaps through reshapes.
static FusionOp producerOf(Value value) {
  return throughReshapes(value).getDefiningOp<FusionOp>();
}

/// Returns whether only `reader` reads a value, perhaps through reshapes.
static bool isReadOnlyBy(Value value, FusionOp reader) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    auto reshape = dyn_cast<ReshapeOp>(user);
    return user == reader || (reshape && isReadOnlyBy(reshape.getY(), reader));
  });
}

/// Returns whether a result is a state with rows replaced that, besides
/// `reader`, only what follows it reads.
static bool isStateOf(OpResult result, FusionOp reader) {
  auto fusion = cast<FusionOp>(result.getOwner());
  auto operand = fusion.replacedOperand(result);
  return operand && fusion.getInputs()[*operand].hasOneUse() &&
         llvm::all_of(result.getUsers(), [&](Operation *user) {
           return user == reader || reader->isBeforeInBlock(user);
         });
}

/// Returns whether a fusion replaces rows of a state.
static bool replacesRows(FusionOp fusion) {
  return llvm::any_of(fusion.getResults(), [&](OpResult result) {
    return fusion.replacedOperand(result).has_value();
  });
}

/// Returns the fusions that compute the operands of an attention and nothing
/// else that is read before it.
static SmallVector<FusionOp> inputsOf(FusionOp attention, AttentionOp op) {
  SmallVector<FusionOp> found;
  for (Value operand : {op.getQ(), op.getK(), op.getV()}) {
    while (isa_and_nonnull<ReshapeOp, TransposeOp, SliceOp, ExpandOp>(
        operand.getDefiningOp()))
      operand = operand.getDefiningOp()->getOperand(0);
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument)
      continue;
    FusionOp input = producerOf(attention.getInputs()[argument.getArgNumber()]);
    if (input && input->getBlock() == attention->getBlock() &&
        !llvm::is_contained(found, input) &&
        llvm::all_of(input.getResults(), [&](OpResult result) {
          return isStateOf(result, attention) ||
                 isReadOnlyBy(result, attention);
        }))
      found.push_back(input);
  }
  return found;
}

/// Creates a fusion in place of `parts` with an empty body, where `b` goes on,
/// and maps its operands to the body's arguments.
static FusionOp beginJoint(OpBuilder &b, ArrayRef<Operation *> parts,
                           TypeRange types, ArrayRef<Value> operands,
                           IRMapping &values) {
  auto joint =
      FusionOp::create(b, fuseLocations(parts), types, operands, Schedule());
  Block &body = joint.getBody().emplaceBlock();
  for (Value operand : operands)
    values.map(operand, body.addArgument(operand.getType(), operand.getLoc()));
  b.setInsertionPointToStart(&body);
  return joint;
}

/// Builds the fusion of an attention and its inputs before it. Its results are
/// the attention's, then the states.
static FusionOp buildJoint(FusionOp attention, ArrayRef<FusionOp> inputs) {
  OpBuilder b(attention);
  llvm::SetVector<Value> operands;
  SmallVector<Type> types(attention.getResultTypes());
  SmallVector<Operation *> parts(inputs.begin(), inputs.end());
  parts.push_back(attention);
  for (FusionOp input : inputs) {
    operands.insert_range(input.getInputs());
    for (OpResult result : input.getResults())
      if (input.replacedOperand(result))
        types.push_back(result.getType());
  }
  for (Value operand : attention.getInputs())
    if (!llvm::is_contained(inputs, producerOf(operand)))
      operands.insert(operand);
  IRMapping values;
  FusionOp joint = beginJoint(b, parts, types, operands.getArrayRef(), values);
  SmallVector<Value> states;
  for (FusionOp input : inputs) {
    SmallVector<Value> results = cloneBody(b, input, values);
    for (auto [outer, inner] : llvm::zip(input.getResults(), results)) {
      values.map(outer, inner);
      if (input.replacedOperand(outer))
        states.push_back(inner);
    }
  }
  for (Value operand : attention.getInputs())
    if (!values.contains(operand)) {
      Value inner = values.lookup(throughReshapes(operand));
      values.map(operand,
                 ReshapeOp::create(b, operand.getLoc(), operand.getType(),
                                   inner, shapeOf(operand)));
    }
  SmallVector<Value> results = cloneBody(b, attention, values);
  llvm::append_range(results, states);
  YieldOp::create(b, joint.getLoc(), results);
  return joint;
}

/// Returns the fusion of a single product and those before it, last first, each
/// of which computes what the one before it in the list alone reads, up to
/// another single product; nothing if there is none.
static SmallVector<FusionOp> productsFrom(FusionOp last) {
  constexpr size_t kMost = 4;
  auto isProduct = [](FusionOp fusion) {
    Block &body = fusion.getBody().front();
    return isa<MatmulOp>(body.front()) &&
           &body.front() == &*std::prev(body.without_terminator().end());
  };
  SmallVector<FusionOp> chain{last};
  if (!isProduct(last))
    return {};
  while (chain.size() == 1 || !isProduct(chain.back())) {
    FusionOp reader = chain.back(), next;
    for (Value operand : reader.getInputs()) {
      FusionOp input = producerOf(operand);
      if (!input || input->getBlock() != reader->getBlock() ||
          input->getNumResults() != 1 || replacesRows(input) ||
          !tensorType(operand).getElementType().isF32() ||
          !isReadOnlyBy(input->getResult(0), reader))
        continue;
      if (next && next != input)
        return {};
      next = input;
    }
    if (!next || chain.size() == kMost)
      return {};
    chain.push_back(next);
  }
  return chain;
}

/// Builds the fusion of a chain, last first, before its last one.
static FusionOp buildChain(ArrayRef<FusionOp> chain) {
  FusionOp last = chain.front();
  OpBuilder b(last);
  llvm::SetVector<Value> operands;
  SmallVector<Operation *> parts(chain.rbegin(), chain.rend());
  for (FusionOp part : llvm::reverse(chain))
    for (Value operand : part.getInputs())
      if (!llvm::is_contained(chain, producerOf(operand)))
        operands.insert(operand);
  IRMapping values;
  FusionOp joint = beginJoint(b, parts, last.getResultTypes(),
                              operands.getArrayRef(), values);
  SmallVector<Value> results;
  for (FusionOp part : llvm::reverse(chain)) {
    for (Value operand : part.getInputs())
      if (!values.contains(operand))
        values.map(operand,
                   ReshapeOp::create(b, operand.getLoc(), operand.getType(),
                                     values.lookup(throughReshapes(operand)),
                                     shapeOf(operand)));
    results = cloneBody(b, part, values);
    values.map(part->getResults(), results);
  }
  YieldOp::create(b, joint.getLoc(), results);
  return joint;
}

/// Erases a fusion that is read no more, and reshapes that only it read.
static void eraseWithReshapes(FusionOp fusion) {
  SmallVector<Value> read(fusion.getInputs());
  fusion.erase();
  for (Value value : read)
    while (auto reshape = value.getDefiningOp<ReshapeOp>()) {
      if (!reshape->use_empty())
        break;
      value = reshape.getX();
      reshape.erase();
    }
}

namespace {
class JoinAppends
    : public TargetRewritePass<frit::impl::JoinAppendsBase<JoinAppends>,
                               JoinAppendsRewrite> {
public:
  using TargetRewritePass::TargetRewritePass;

private:
  void run(Block &block) override {
    // From the last on, as a chain ends before the fusion that is asked.
    if (rewrite->takesProducts)
      for (Operation *op = &block.back(), *next; op; op = next) {
        next = op->getPrevNode();
        if (auto fusion = dyn_cast<FusionOp>(op))
          if (FusionOp joint = joinProducts(fusion))
            next = joint->getPrevNode();
      }
    for (FusionOp fusion : llvm::to_vector(block.getOps<FusionOp>())) {
      auto attentions = fusion.getBody().front().getOps<AttentionOp>();
      if (attentions.empty())
        continue;
      SmallVector<FusionOp> inputs = inputsOf(fusion, *attentions.begin());
      if (rewrite->joins) {
        llvm::erase_if(inputs, std::not_fn(rewrite->joins));
        if (!inputs.empty())
          join(fusion, inputs);
        continue;
      }
      // Queries may have more to compute than rows of states.
      SmallVector<FusionOp> states =
          llvm::filter_to_vector(inputs, replacesRows);
      if (!states.empty() && !join(fusion, inputs) &&
          states.size() < inputs.size())
        join(fusion, states);
    }
  }

  /// Joins the chain of products that ends here, and returns the new fusion;
  /// null if the target could not.
  FusionOp joinProducts(FusionOp last) const {
    SmallVector<FusionOp> chain = productsFrom(last);
    if (chain.empty())
      return nullptr;
    FusionOp joint = buildChain(chain);
    if (!rewrite->takesProducts(joint)) {
      joint.erase();
      return nullptr;
    }
    last.replaceAllUsesWith(joint.getResults());
    for (FusionOp part : chain)
      eraseWithReshapes(part);
    return joint;
  }

  /// Joins an attention and its inputs, and returns whether the target could.
  bool join(FusionOp attention, ArrayRef<FusionOp> inputs) const {
    FusionOp joint = buildJoint(attention, inputs);
    if (!rewrite->takes(joint)) {
      joint.erase();
      return false;
    }
    unsigned next = attention.getNumResults();
    for (FusionOp input : inputs)
      for (OpResult result : input.getResults())
        if (input.replacedOperand(result))
          result.replaceUsesWithIf(
              joint.getResult(next++),
              [&](OpOperand &use) { return use.getOwner() != attention; });
    attention.replaceAllUsesWith(
        joint.getResults().take_front(attention.getNumResults()));
    llvm::SetVector<Value> read(attention.getInputs().begin(),
                                attention.getInputs().end());
    attention.erase();
    for (Value value : read)
      while (auto reshape = value.getDefiningOp<ReshapeOp>()) {
        if (!reshape->use_empty())
          break;
        value = reshape.getX();
        reshape.erase();
      }
    for (FusionOp input : llvm::reverse(inputs))
      input.erase();
    return true;
  }
};
} // namespace

std::unique_ptr<Pass> frit::createJoinAppends(const Target &target) {
  return std::make_unique<JoinAppends>(target);
}
