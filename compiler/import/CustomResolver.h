//===- CustomResolver.h - Resolve the custom operator of a node -----------===//

#ifndef FRIT_COMPILER_IMPORT_CUSTOMRESOLVER_H
#define FRIT_COMPILER_IMPORT_CUSTOMRESOLVER_H

#include "compiler/import/CustomSpec.h"
#include "dialects/nn/operators/Custom.h"

#include "mlir/AsmParser/AsmParser.h"

namespace frit::importer {

/// Computes a custom operator's attributes and results for the tensors of a
/// node.
class CustomResolver {
public:
  CustomResolver(const CustomSpec &spec, mlir::Location loc,
                 const CustomAttributes &attributes,
                 llvm::ArrayRef<CustomSpec> specs)
      : spec(spec), loc(loc), given(attributes), specs(specs),
        b(loc.getContext()) {}

  llvm::LogicalResult run(llvm::ArrayRef<mlir::RankedTensorType> inputs);
  llvm::LogicalResult
  addGradients(llvm::ArrayRef<mlir::RankedTensorType> inputs);

  mlir::NamedAttrList attributes;
  llvm::SmallVector<mlir::Type>
      results; ///< the last one is the workspace, if there is one
  int64_t workspaceBytes = 0;

private:
  mlir::InFlightDiagnostic fail() { return mlir::emitError(loc); }
  llvm::LogicalResult readAttributes();
  llvm::LogicalResult bindTypes(llvm::ArrayRef<mlir::RankedTensorType> inputs);
  llvm::LogicalResult
  checkInputs(llvm::ArrayRef<mlir::RankedTensorType> inputs);
  llvm::LogicalResult
  inferOutputs(llvm::ArrayRef<mlir::RankedTensorType> inputs);
  llvm::LogicalResult addConstants();
  llvm::LogicalResult addLaunch();
  mlir::FailureOr<mlir::DictionaryAttr>
  gradient(llvm::StringRef name, llvm::ArrayRef<mlir::RankedTensorType> inputs,
           llvm::ArrayRef<mlir::RankedTensorType> wanted);
  nn::CustomAttr customAttr();

  mlir::FailureOr<int64_t> evaluate(const SizeExpr &expr,
                                    const llvm::Twine &what);
  mlir::FailureOr<int64_t> inRange(const SizeExpr &expr,
                                   const llvm::Twine &what, int64_t least,
                                   int64_t most);
  mlir::Type typeNamed(llvm::StringRef name) {
    return mlir::parseType(name, b.getContext());
  }

  const CustomSpec &spec;
  mlir::Location loc;
  const CustomAttributes &given;
  llvm::ArrayRef<CustomSpec> specs;
  mlir::Builder b;
  SizeExpr::Values values;
  llvm::SmallVector<double> reals; ///< by attribute, 0 for integers
  llvm::StringMap<mlir::Type> variables;
  std::vector<llvm::SmallVector<int64_t>> shapes; ///< of inputs, then outputs
};

} // namespace frit::importer

#endif // FRIT_COMPILER_IMPORT_CUSTOMRESOLVER_H
