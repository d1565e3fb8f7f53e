//===- TargetRewrites.h - Rewrites that pay on some targets ---------------===//
//
// A rewrite that makes models faster on some targets only is declared in the
// folder rewrites, by its pass's name, as a struct of questions to the target:
//
//   struct SplitReductionsRewrite {
//     std::function<int64_t(nn::ReduceOp)> parts;
//   };
//
// A target on which it pays adds one in Target::populateRewrites; the pass
// finds it, or does nothing.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_TARGETREWRITES_H
#define FRIT_DIALECTS_NN_TARGETREWRITES_H

#include "mlir/Support/TypeID.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>

namespace frit::nn {

/// The rewrites of a target, of different types. Copies share them.
class TargetRewrites {
public:
  template <class Rewrite> void add(Rewrite rewrite) {
    rewrites[mlir::TypeID::get<Rewrite>()].push_back(
        std::make_shared<const Rewrite>(std::move(rewrite)));
  }

  /// Returns all rewrites of a type, in the order in which they were added.
  template <class Rewrite> llvm::SmallVector<const Rewrite *> list() const {
    llvm::SmallVector<const Rewrite *> found;
    for (const auto &one : rewrites.lookup(mlir::TypeID::get<Rewrite>()))
      found.push_back(static_cast<const Rewrite *>(one.get()));
    return found;
  }

  /// Returns the first rewrite of a type; null if there is none.
  template <class Rewrite> const Rewrite *find() const {
    auto found = list<Rewrite>();
    return found.empty() ? nullptr : found.front();
  }

private:
  using Shared = std::shared_ptr<const void>;
  llvm::DenseMap<mlir::TypeID, llvm::SmallVector<Shared, 1>> rewrites;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_TARGETREWRITES_H
