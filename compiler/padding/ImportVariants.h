//===- ImportVariants.h - A model and its variants, imported --------------===//

#ifndef FRIT_COMPILER_PADDING_IMPORTVARIANTS_H
#define FRIT_COMPILER_PADDING_IMPORTVARIANTS_H

#include "compiler/padding/SymbolSizes.h"
#include "dialects/plan/OpenShapes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace frit {

/// A model as it is compiled: once, or once for each combination of the sizes
/// of its open dimensions.
struct ModelVariants {
  /// Ascending: of two, the one with the smaller size of the first symbol that
  /// they differ in comes first.
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  /// The name of each one's list of steps: "main", "main_8x128".
  std::vector<std::string> listNames;
  plan::OpenShapes shapes;

  /// Whether dimensions are open, so that there may be several variants.
  bool isOpen() const { return !shapes.symbols.empty(); }
};

/// Imports a model: for the sizes that it has, or for each combination of those
/// in `symbols`, and proves that calls of other sizes may be padded. `import`
/// imports it for one size per symbol, and returns null after an error. Counts
/// that the data decide become outputs. Fails after an error is reported.
mlir::FailureOr<ModelVariants>
importVariants(llvm::ArrayRef<SymbolSizes> symbols,
               llvm::function_ref<
                   mlir::OwningOpRef<mlir::ModuleOp>(llvm::ArrayRef<int64_t>)>
                   import,
               mlir::MLIRContext &context);

} // namespace frit

#endif // FRIT_COMPILER_PADDING_IMPORTVARIANTS_H
