//===- Reduce.h - Makes a model small that stays interesting --------------===//

#ifndef FRIT_REDUCE_REDUCE_H
#define FRIT_REDUCE_REDUCE_H

#include "tools/frit-reduce/Model.h"
#include "tools/frit-reduce/Test.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace frit::reduce {

/// Reduces `model`, which is interesting, until no pass makes it smaller. Each
/// smaller model is handed to `onSmaller`, with what made it.
llvm::Error reduce(onnx::ModelProto &model, const Knowledge &known, Test &test,
                   llvm::function_ref<void(llvm::StringRef pass)> onSmaller);

} // namespace frit::reduce

#endif // FRIT_REDUCE_REDUCE_H
