//===- InputShapes.h - The shapes that inputs are compiled for ------------===//

#ifndef FRIT_COMPILER_IMPORT_INPUTSHAPES_H
#define FRIT_COMPILER_IMPORT_INPUTSHAPES_H

#include "compiler/import/Import.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

#include <vector>

namespace frit::importer {

/// A dimension as a model declares it: a size, or open, maybe under a name.
struct DeclaredDim {
  std::optional<int64_t> size;
  std::string symbol;
};

/// batchx3x224x224; a dimension that is open has its name or is what
/// `open(name)` says.
std::string declaredText(llvm::ArrayRef<DeclaredDim> dims,
                         llvm::function_ref<std::string(llvm::StringRef)> open);
std::string declaredText(llvm::ArrayRef<DeclaredDim> dims);

/// What a dimension is called that ImportOptions::inputShapes leaves open
/// (ShapedType::kDynamic), a symbol like any other: "x.0", or "dim.0" of the
/// only input.
std::string openDimName(llvm::StringRef input, size_t dim);

/// An input of a model.
struct DeclaredInput {
  std::string name;
  mlir::Location loc;
  bool hasShape = true;
  llvm::SmallVector<DeclaredDim> dims;
};

/// Binds what models leave open to what the command line says. A size that one
/// input is given for a name holds for all of them.
class InputShapes {
public:
  InputShapes(const ImportOptions &options, std::vector<DeclaredInput> inputs);

  /// False after errors at `file` where options name what is not there.
  bool checkOptions(mlir::Location file) const;

  /// The static shape of the `index`-th input, or nothing after an error.
  std::optional<llvm::SmallVector<int64_t>> resolve(size_t index) const;

  /// What ImportOptions::openSymbols makes of the `index`-th input: null where
  /// none of its dimensions is such a symbol.
  mlir::ArrayAttr openSymbols(size_t index, mlir::MLIRContext &context) const;

private:
  const llvm::SmallVector<int64_t> *given(const DeclaredInput &input) const;

  const ImportOptions &options;
  std::vector<DeclaredInput> inputs;
  llvm::StringMap<int64_t> symbols;
};

} // namespace frit::importer

#endif // FRIT_COMPILER_IMPORT_INPUTSHAPES_H
