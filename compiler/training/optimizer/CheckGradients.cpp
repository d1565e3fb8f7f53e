//===- CheckGradients.cpp - Whether the loss trains the weights -----------===//
//
// A weight has no gradient if the loss does not depend on it, or only through
// operators whose results are piecewise constant: rounding, comparisons,
// conversions to integers. Such a weight changes only by weight decay.
//
//===----------------------------------------------------------------------===//

#include "compiler/training/optimizer/CheckGradients.h"

#include "compiler/transform/Graph.h"
#include "dialects/nn/gradients/LossPaths.h"

using namespace mlir;
using namespace frit;

/// Reports that no parameter has a gradient, with the path from the nearest one
/// to the loss.
static void reportNone(Value loss, ArrayRef<const BucketMember *> members) {
  LossPaths paths(loss);
  const BucketMember *nearest = nullptr;
  std::optional<unsigned> length;
  for (const BucketMember *member : members)
    if (auto own = paths.length(member->argument);
        own && (!length || *own < *length)) {
      nearest = member;
      length = own;
    }
  Operation *blocker = nearest ? paths.findBlocker(nearest->argument) : nullptr;
  if (!blocker) {
    emitError(loss.getLoc(),
              "the loss does not depend on any weight that trains");
    return;
  }
  InFlightDiagnostic error =
      blocker->emitError("'")
      << blocker->getName() << "' passes no gradient to weight '"
      << nearest->name.getValue() << "', and no other that trains gets one";
  paths.attachNotes(error, blocker);
}

static void warnOfSome(Value loss, ArrayRef<const BucketMember *> members) {
  constexpr size_t kMostNames = 4;
  LossPaths paths(loss);
  InFlightDiagnostic warning =
      emitWarning(loss.getLoc(), "weights that train get no gradient: ");
  auto describe = [&](const BucketMember *member) {
    warning << "'" << member->name.getValue() << "' (";
    if (Operation *blocker = paths.findBlocker(member->argument))
      warning << "none passes " << nodeName(blocker);
    else
      warning << "the loss does not depend on it";
    warning << ")";
  };
  llvm::interleaveComma(members.take_front(kMostNames), warning, describe);
  if (members.size() > kMostNames)
    warning << " and " << members.size() - kMostNames << " more";
  warning << ". Name those that need none in 'freeze' [-Wgradient]";
}

LogicalResult frit::checkGradients(Value loss, ArrayRef<Bucket> buckets,
                                   ArrayRef<Value> gradients) {
  SmallVector<const BucketMember *> missing;
  for (const Bucket &bucket : buckets) {
    for (auto [member, gradient] : llvm::zip(bucket.members, gradients))
      if (!gradient)
        missing.push_back(&member);
    gradients = gradients.drop_front(bucket.members.size());
  }
  if (missing.empty())
    return success();
  size_t count = 0;
  for (const Bucket &bucket : buckets)
    count += bucket.members.size();
  if (missing.size() == count)
    return reportNone(loss, missing), failure();
  warnOfSome(loss, missing);
  return success();
}
