//===- Tables.h - Helpers for models of tables ----------------------------===//

#ifndef FRIT_COMPILER_ONNX_OPS_TABLES_H
#define FRIT_COMPILER_ONNX_OPS_TABLES_H

#include "compiler/onnx/reader/Expr.h"

namespace frit::importer {

/// Returns the node's rows as f32; null, after an error, if it has others.
Expr rowsOf(Node &node);

/// Returns the results of a model after the node's post_transform.
Expr transformed(Expr y);

/// In SupportVectors.cpp.
Results svmRegressor(Node &node);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_OPS_TABLES_H
