//===- CreateOp.h - Operators of nn from names and attributes -------------===//

#ifndef FRIT_COMPILER_IMPORT_CREATEOP_H
#define FRIT_COMPILER_IMPORT_CREATEOP_H

#include "mlir/IR/Builders.h"

namespace frit::importer {

/// An operator in no block whose result types are inferred, verified; or null
/// after errors at `loc`. The name's operators must infer their types.
mlir::Operation *
createInferred(mlir::Location loc, mlir::OperationName name,
               mlir::ValueRange operands,
               llvm::ArrayRef<mlir::NamedAttribute> attributes);

/// The first of `forms` that the operator's definition accepts as its attribute
/// `attribute`, or null: files know integers, definitions those with a sign and
/// those without.
mlir::Attribute chooseForm(mlir::RegisteredOperationName name,
                           llvm::StringRef attribute,
                           llvm::ArrayRef<mlir::Attribute> forms);

/// A weight before all nodes of `body`, after `last`, the weight before it or
/// null, and then the last one itself. `name` may be null.
mlir::Value createWeight(mlir::OpBuilder &builder, mlir::Block &body,
                         mlir::Operation *&last, mlir::Location loc,
                         mlir::ElementsAttr value, mlir::StringAttr name);

} // namespace frit::importer

#endif // FRIT_COMPILER_IMPORT_CREATEOP_H
