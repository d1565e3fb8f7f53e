//===- Counts.h - Data-dependent sizes in JSON graphs ---------------------===//
//
//   "counts": ["n"], "extents": {"y": [[0, 1, 0], null]}
//
// The first dimension of output y has 1 · n + 0 valid entries; the second is
// always used in full. n is a value of the graph.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_JSON_COUNTS_H
#define FRIT_COMPILER_JSON_COUNTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"

#include <nlohmann/json.hpp>

namespace frit::importer {

/// Sets the attribute `nn.extents` of the outputs `results` that have extents
/// in the graph. False after errors.
bool addExtents(const nlohmann::ordered_json &graph, int64_t counts,
                llvm::StringRef path,
                llvm::MutableArrayRef<mlir::DictionaryAttr> attributes,
                llvm::ArrayRef<mlir::Value> results);

/// Adds the count `value` (null if no value has its name) after the outputs,
/// with the attribute `nn.count`. False after errors.
bool addCount(llvm::StringRef name, mlir::Value value, llvm::StringRef path,
              llvm::SmallVectorImpl<mlir::DictionaryAttr> &attributes,
              llvm::SmallVectorImpl<mlir::Value> &results);

} // namespace frit::importer

#endif // FRIT_COMPILER_JSON_COUNTS_H
