//===- Counts.h - What JSON graphs say of sizes that the data decide ------===//
//
//   "counts": ["n"], "extents": {"y": [[0, 1, 0], null]}
//
// says that the first dimension of output y has 1 · n + 0 entries and that all
// of the second are there. n is a value of the graph.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_JSON_COUNTS_H
#define FRIT_COMPILER_JSON_COUNTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"

#include <nlohmann/json.hpp>

namespace frit::importer {

/// Gives the outputs `results` the attribute `nn.extents` where the graph says
/// something of theirs. False after errors.
bool addExtents(const nlohmann::ordered_json &graph, int64_t counts,
                llvm::StringRef path,
                llvm::MutableArrayRef<mlir::DictionaryAttr> attributes,
                llvm::ArrayRef<mlir::Value> results);

/// Adds the count `value`, null if there is none of that name, behind the
/// outputs, with the attribute `nn.count`. False after errors.
bool addCount(llvm::StringRef name, mlir::Value value, llvm::StringRef path,
              llvm::SmallVectorImpl<mlir::DictionaryAttr> &attributes,
              llvm::SmallVectorImpl<mlir::Value> &results);

} // namespace frit::importer

#endif // FRIT_COMPILER_JSON_COUNTS_H
