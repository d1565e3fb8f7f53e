//===- Tables.h - Helpers for models of tables ----------------------------===//

#ifndef FRIT_COMPILER_ONNX_TABLES_TABLES_H
#define FRIT_COMPILER_ONNX_TABLES_TABLES_H

#include "compiler/onnx/reader/Expr.h"

namespace frit::importer {

/// Returns the node's rows as f32; null, after an error, if it has others.
Expr rowsOf(Node &node);

/// Returns the results of a model after the node's post_transform.
Expr transformed(Expr y);

/// The labels of a classifier: integers, or strings by their numbers.
struct Labels {
  llvm::SmallVector<int64_t> numbers;
  /// Names for messages.
  llvm::SmallVector<std::string> names;
  bool areStrings = false;

  size_t size() const { return numbers.size(); }
  /// Returns the labels at the places `best`.
  mlir::Value at(Expr best) const;
};

/// Returns the labels of a classifier, two or more; none, after an error, if it
/// has fewer.
std::optional<Labels> labelsOf(Node &node, llvm::StringRef integers);

/// Returns the probabilities of classes, [rows, classes], from those of pairs:
/// of the first class of (0, 1), (0, 2), …, (1, 2), ….
Expr couplePairs(Expr pairs, int64_t classes);

/// In SupportVectors.cpp.
Results svmRegressor(Node &node);
Results svmClassifier(Node &node);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_TABLES_TABLES_H
