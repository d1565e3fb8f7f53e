//===- ImportVariants.h - A model and its variants, imported --------------===//

#ifndef FRIT_COMPILER_PADDING_IMPORTVARIANTS_H
#define FRIT_COMPILER_PADDING_IMPORTVARIANTS_H

#include "compiler/padding/ImportMode.h"
#include "compiler/padding/SymbolSizes.h"
#include "dialects/plan/OpenShapes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace frit {

/// The modules to compile for a model: one, or one for each combination of
/// sizes of its open dimensions.
struct ModelVariants {
  /// In ascending lexicographic order of their symbols' sizes.
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  /// What distinguishes the names of the modules' command lists: "_8x128"; ""
  /// if there is one module.
  std::vector<std::string> suffixes;
  plan::OpenShapes shapes;

  /// Returns whether there are open dimensions, and so maybe several variants.
  bool isOpen() const { return !shapes.symbols.empty(); }
};

/// Imports a model, for its own sizes or for each combination of the sizes in
/// `symbols`, and proves that calls with other sizes may be padded. `import`
/// imports it for one size per symbol and returns null after reporting an
/// error. Data-dependent counts become outputs. Fails after reporting an error.
mlir::FailureOr<ModelVariants>
importVariants(llvm::ArrayRef<SymbolSizes> symbols,
               llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(
                   llvm::ArrayRef<int64_t> sizes, const ImportMode &mode)>
                   import,
               mlir::MLIRContext &context);

} // namespace frit

#endif // FRIT_COMPILER_PADDING_IMPORTVARIANTS_H
