//===- InputShapes.h - Resolve the shapes of inputs -----------------------===//

#ifndef FRIT_COMPILER_IMPORT_INPUTSHAPES_H
#define FRIT_COMPILER_IMPORT_INPUTSHAPES_H

#include "compiler/import/Import.h"

#include "llvm/ADT/StringSet.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

#include <vector>

namespace frit::importer {

/// A declared dimension: static, or symbolic. `symbol` is its name, or a sum of
/// names and numbers, past + 4; "" or "?" if the model gives it no name.
struct DeclaredDim {
  std::optional<int64_t> size;
  std::string symbol;
  bool isUnnamed = false; ///< `symbol` is openDimName's
};

/// Formats declared dimensions: batchx3x224x224. A symbolic one is shown by its
/// name or as `open(name)`.
std::string declaredText(llvm::ArrayRef<DeclaredDim> dims,
                         llvm::function_ref<std::string(llvm::StringRef)> open);
std::string declaredText(llvm::ArrayRef<DeclaredDim> dims);

/// Returns the symbol for a dimension without a name, or one that
/// ImportOptions::inputShapes leaves dynamic: "x.0", or "dim.0" if `input` is
/// "", the only one.
std::string openDimName(llvm::StringRef input, size_t dim);

/// A declared input of a model.
struct DeclaredInput {
  std::string name;
  mlir::Location loc;
  bool hasShape = true;
  llvm::SmallVector<DeclaredDim> dims;
};

/// Resolves symbolic dimensions by the command line. A size that one input gets
/// for a name applies to all inputs.
class InputShapes {
public:
  InputShapes(const ImportOptions &options, std::vector<DeclaredInput> inputs);

  /// Returns false, after errors at `file`, if options name unknown inputs or
  /// symbols.
  bool checkOptions(mlir::Location file) const;

  /// Returns the static shape of an input; none after an error.
  std::optional<llvm::SmallVector<int64_t>> resolve(size_t index) const;

  /// Returns the `nn.symbols` attribute of an input; null if none of its
  /// dimensions is in ImportOptions::openSymbols.
  mlir::ArrayAttr openSymbols(size_t index, mlir::MLIRContext &context) const;

private:
  const llvm::SmallVector<int64_t> *given(const DeclaredInput &input) const;
  void nameDims(DeclaredInput &input);
  std::optional<int64_t> sizeOf(const DeclaredDim &dim) const;

  const ImportOptions &options;
  std::vector<DeclaredInput> inputs;
  llvm::StringMap<int64_t> symbols;
  llvm::StringSet<> renamed; ///< names that ImportOptions::dimNames replaced
};

} // namespace frit::importer

#endif // FRIT_COMPILER_IMPORT_INPUTSHAPES_H
