//===- CreateCustom.h - Create custom operators ---------------------------===//

#ifndef FRIT_COMPILER_IMPORT_CREATECUSTOM_H
#define FRIT_COMPILER_IMPORT_CREATECUSTOM_H

#include "compiler/import/CustomSpec.h"

namespace frit::importer {

/// Returns the operator `name` of `specs`, or null.
const CustomSpec *findCustom(llvm::ArrayRef<CustomSpec> specs,
                             llvm::StringRef name);

/// Creates the operator at the builder; its first results are the outputs.
/// `specs` have the gradients. Null after an error at `loc`.
mlir::Operation *createCustom(const CustomSpec &spec, mlir::Location loc,
                              mlir::ValueRange inputs,
                              const CustomAttributes &attributes,
                              llvm::ArrayRef<CustomSpec> specs,
                              mlir::OpBuilder &builder);

} // namespace frit::importer

#endif // FRIT_COMPILER_IMPORT_CREATECUSTOM_H
