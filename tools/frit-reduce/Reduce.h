//===- Reduce.h - Shrink a model while it stays interesting ---------------===//

#ifndef FRIT_TOOLS_FRIT_REDUCE_REDUCE_H
#define FRIT_TOOLS_FRIT_REDUCE_REDUCE_H

#include "tools/frit-reduce/Model.h"
#include "tools/frit-reduce/Test.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace frit::reduce {

/// Reduces `model`, which must be interesting, until no pass makes it smaller.
/// Calls `onSmaller` after each success with the name of the pass.
llvm::Error reduce(onnx::ModelProto &model, const Knowledge &known, Test &test,
                   llvm::function_ref<void(llvm::StringRef pass)> onSmaller);

} // namespace frit::reduce

#endif // FRIT_TOOLS_FRIT_REDUCE_REDUCE_H
