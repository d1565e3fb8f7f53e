//===- MergeTargets.cpp - Merge the targets of several plans --------------===//
//
// Every function of a model, and every variant of a function, is planned by
// itself. On a target they share constants, kernels and prepared memory:
//
//   plan.target "sm_90a" {              plan.target "sm_90a" {
//     plan.kernel @cast_0 {...}           plan.kernel @cast_0 {...}
//     plan.kernel @relu_1 {... 4x8 ...}   plan.kernel @relu_1 {... 8x8 ...}
//     command_list @prepare { cast_0 }    command_list @prepare { cast_0 }
//     command_list @main { relu_1 }       command_list @main_8 { relu_1 }
//   }                                   }
// ==>
//   plan.target "sm_90a" {
//     plan.kernel @cast_0 {...}
//     plan.kernel @relu_1 {... 4x8 ...}
//     plan.kernel @relu_1_0 {... 8x8 ...}
//     command_list @prepare { cast_0 }
//     command_list @main { relu_1 }
//     command_list @main_8 { relu_1_0 }
//   }
//
// Prepared buffers with equal digests are merged. A digest covers the steps
// that write the buffer, with their kernels and attributes and the digests of
// their inputs, down to the names of constants.
//
//===----------------------------------------------------------------------===//

#include "compiler/planning/MergeTargets.h"

#include "dialects/nn/NN.h"
#include "frit/artifact.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SHA1.h"

using namespace mlir;
using namespace frit;
using namespace frit::planning;

//===----------------------------------------------------------------------===//
// Prepared memory
//===----------------------------------------------------------------------===//

namespace {

using Digest = std::string;

/// Digests of the buffers of a prepare list, and the offsets of prepared ones.
class Preparation {
public:
  explicit Preparation(plan::CommandListOp list) {
    if (!list)
      return;
    for (Operation &op : list.getBody().front())
      if (plan::isStep(&op))
        follow(&op);
    for (auto &[buffer, digest] : digests)
      if (buffer.getSpace() == plan::Space::prepared)
        prepared.insert({*buffer.getOffset(), digest});
  }

  /// Digests of prepared buffers, by offset.
  llvm::MapVector<int64_t, Digest> prepared;

private:
  Digest &digestOf(plan::BufferOp buffer) {
    Digest &digest = digests[buffer];
    if (!digest.empty())
      return digest;
    llvm::raw_string_ostream os(digest);
    if (buffer.getSymbol())
      os << "constant " << *buffer.getSymbol();
    else
      os << "memory " << buffer.getBuffer().getType();
    return digest;
  }

  void follow(Operation *step) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << step->getName() << step->getAttrDictionary();
    for (Value value : plan::readsOf(step))
      describe(value, os);
    for (auto [i, value] : llvm::enumerate(plan::writesOf(step))) {
      std::string written = text;
      llvm::raw_string_ostream result(written);
      result << "result " << i;
      describe(value, result);
      auto hash = llvm::SHA1::hash(ArrayRef(
          reinterpret_cast<const uint8_t *>(written.data()), written.size()));
      digestOf(plan::rootOf(value)) = Digest(hash.begin(), hash.end());
    }
  }

  void describe(Value value, raw_ostream &os) {
    uint64_t offset = 0;
    plan::BufferOp root = plan::rootOf(value, &offset);
    os << "(" << digestOf(root) << " at " << offset << " " << value.getType()
       << ")";
  }

  llvm::MapVector<plan::BufferOp, Digest> digests;
};

class Merger {
public:
  Merger(plan::TargetOp into, plan::TargetOp from)
      : into(into), from(from), symbols(into) {}

  void run() {
    mergeKernels();
    sharePrepared();
    movePreparation();
    moveDerivation();
    for (plan::CommandListOp list : from.getMains()) {
      list->remove();
      symbols.insert(list);
    }
  }

private:
  /// Returns a text that is equal for kernels that compute the same.
  static std::string textOf(plan::KernelOp kernel) {
    std::string text;
    llvm::raw_string_ostream os(text);
    // Printed alone, so that values are numbered from the fusion on.
    Operation *clone = kernel.getFusion()->clone();
    clone->eraseOperands(0, clone->getNumOperands());
    clone->print(os, OpPrintingFlags().printGenericOpForm());
    clone->erase();
    for (Type type : kernel.getFusion()->getOperandTypes())
      os << type;
    return text;
  }

  void mergeKernels() {
    llvm::StringMap<StringAttr> known;
    Operation *last = nullptr;
    for (auto kernel : into.getBody().getOps<plan::KernelOp>()) {
      known[textOf(kernel)] = kernel.getSymNameAttr();
      last = kernel;
    }
    DenseMap<StringAttr, StringAttr> names;
    for (auto kernel :
         llvm::make_early_inc_range(from.getBody().getOps<plan::KernelOp>())) {
      StringAttr name = kernel.getSymNameAttr();
      StringAttr &now = known[textOf(kernel)];
      if (!now) {
        kernel->remove();
        Block &body = into.getBody().front();
        now = symbols.insert(kernel, last ? std::next(last->getIterator())
                                          : body.begin());
        last = kernel;
      }
      names[name] = now;
    }
    from.walk([&](Operation *op) {
      if (FlatSymbolRefAttr kernel = plan::kernelOf(op))
        plan::setKernel(op,
                        FlatSymbolRefAttr::get(names.lookup(kernel.getAttr())));
    });
  }

  /// Assigns offsets to everything that `from` prepares: that of an equal
  /// buffer in `into`, or one after all of them.
  void sharePrepared() {
    llvm::StringMap<int64_t> known;
    for (auto &[offset, digest] : Preparation(into.getPrepare()).prepared)
      known.try_emplace(digest, offset);
    uint64_t end = into.getPreparedBytes().value_or(0);
    DenseMap<int64_t, uint64_t> sizes;
    from.walk([&](plan::BufferOp buffer) {
      if (buffer.getSpace() == plan::Space::prepared)
        sizes[*buffer.getOffset()] =
            plan::byteSize(buffer.getBuffer().getType());
    });
    for (auto &[offset, digest] : Preparation(from.getPrepare()).prepared) {
      auto [it, isNew] = known.try_emplace(digest, end);
      places[offset] = it->second;
      if (isNew)
        end += llvm::alignTo(sizes[offset], artifact::kAlignment);
      else
        shared.insert(offset);
    }
    Builder b(into.getContext());
    into.setPreparedBytesAttr(b.getI64IntegerAttr(end));
  }

  bool isShared(plan::BufferOp buffer) const {
    return buffer.getSpace() == plan::Space::prepared &&
           shared.contains(*buffer.getOffset());
  }

  /// Erases the steps of `from`'s prepare list whose results `into` already
  /// has; appends the others to its prepare list.
  void movePreparation() {
    if (plan::CommandListOp list = from.getPrepare()) {
      eraseShared(list);
      moveBuffers();
      appendPreparation(list);
    }
  }

  void eraseShared(plan::CommandListOp list) {
    DenseSet<Operation *> needed;
    llvm::SetVector<Operation *> dead;
    for (Operation &op : llvm::reverse(list.getBody().front())) {
      if (!plan::isStep(&op)) {
        auto isDead = [&](Operation *user) { return dead.contains(user); };
        if (llvm::all_of(op.getUsers(), isDead))
          dead.insert(&op);
        continue;
      }
      auto makes = [&](Value value) {
        plan::BufferOp root = plan::rootOf(value);
        return needed.contains(root) ||
               (root.getSpace() == plan::Space::prepared && !isShared(root));
      };
      if (llvm::none_of(plan::writesOf(&op), makes)) {
        dead.insert(&op);
        continue;
      }
      for (Value value : plan::readsOf(&op))
        if (plan::BufferOp root = plan::rootOf(value); !isShared(root))
          needed.insert(root);
      for (Value value : plan::writesOf(&op))
        needed.insert(plan::rootOf(value));
    }
    for (Operation *op : dead)
      op->erase();
  }

  void moveBuffers() {
    Builder b(into.getContext());
    from.walk([&](plan::BufferOp buffer) {
      if (buffer.getSpace() == plan::Space::prepared)
        buffer.setOffsetAttr(
            b.getI64IntegerAttr(places.lookup(*buffer.getOffset())));
    });
  }

  void appendPreparation(plan::CommandListOp list) {
    if (plan::CommandListOp before = into.getPrepare()) {
      Block &body = before.getBody().front();
      body.getOperations().splice(body.end(),
                                  list.getBody().front().getOperations());
      return;
    }
    list->remove();
    symbols.insert(list, into.getMains().front()->getIterator());
  }

  /// Moves the steps of `from`'s derive list that write states which `into`
  /// does not derive.
  void moveDerivation() {
    plan::CommandListOp list = from.getDerive(), before = into.getDerive();
    if (!list)
      return;
    if (!before) {
      list->remove();
      symbols.insert(list, into.getMains().front()->getIterator());
      return;
    }
    DenseSet<StringAttr> known;
    for (Operation *step : plan::stepsOf(before))
      for (Value value : plan::writesOf(step))
        known.insert(plan::rootOf(value).getSymbolAttr());
    for (Operation *step : plan::stepsOf(list))
      if (llvm::all_of(plan::writesOf(step), [&](Value value) {
            return known.contains(plan::rootOf(value).getSymbolAttr());
          }))
        step->erase();
    Block &body = before.getBody().front();
    body.getOperations().splice(body.end(),
                                list.getBody().front().getOperations());
  }

  plan::TargetOp into, from;
  SymbolTable symbols;
  /// New offsets in `into` of prepared buffers, by their offset in `from`.
  DenseMap<int64_t, uint64_t> places;
  DenseSet<int64_t> shared;
};

} // namespace

void frit::planning::mergeTarget(plan::TargetOp into, plan::TargetOp from) {
  Merger(into, from).run();
}
