//===- GroupQueryCaches.h - Caches of GroupQueryAttention -----------------===//

#ifndef FRIT_COMPILER_ONNX_GROUPQUERYCACHES_H
#define FRIT_COMPILER_ONNX_GROUPQUERYCACHES_H

#include "llvm/ADT/StringMap.h"

namespace onnx {
class ModelProto;
} // namespace onnx

namespace frit {

/// Returns the values that GroupQueryAttention of ONNX Runtime takes as caches,
/// by name, each with the size of its heads; 0 if the model's weights do not
/// say it.
llvm::StringMap<int64_t> groupQueryCaches(const onnx::ModelProto &model);

} // namespace frit

#endif // FRIT_COMPILER_ONNX_GROUPQUERYCACHES_H
