//===- CreateOp.h - Create nn operators by name ---------------------------===//

#ifndef FRIT_COMPILER_IMPORT_CREATEOP_H
#define FRIT_COMPILER_IMPORT_CREATEOP_H

#include "mlir/IR/Builders.h"

namespace frit::importer {

/// Creates an operator outside of any block, with inferred result types, and
/// verifies it. Null after errors at `loc`. The operator must implement type
/// inference.
mlir::Operation *
createInferred(mlir::Location loc, mlir::OperationName name,
               mlir::ValueRange operands,
               llvm::ArrayRef<mlir::NamedAttribute> attributes);

/// Returns the first of `forms` that the operator's definition accepts for
/// `attribute`, or null. Files do not distinguish signed from signless
/// integers; definitions do.
mlir::Attribute chooseForm(mlir::RegisteredOperationName name,
                           llvm::StringRef attribute,
                           llvm::ArrayRef<mlir::Attribute> forms);

/// Creates a weight before all nodes of `body`, after `last`, the previous
/// weight or null; updates `last`. `name` may be null.
mlir::Value createWeight(mlir::OpBuilder &builder, mlir::Block &body,
                         mlir::Operation *&last, mlir::Location loc,
                         mlir::ElementsAttr value, mlir::StringAttr name);

} // namespace frit::importer

#endif // FRIT_COMPILER_IMPORT_CREATEOP_H
