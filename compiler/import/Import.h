//===- Import.h - Models to the nn dialect, and back ----------------------===//

#ifndef FRIT_COMPILER_IMPORT_IMPORT_H
#define FRIT_COMPILER_IMPORT_IMPORT_H

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <functional>
#include <optional>
#include <string>

namespace frit {

/// Weights that several imports of a model share, by what says where they are
/// from.
using WeightCache = llvm::StringMap<mlir::ElementsAttr>;

/// What the command line says about a model.
struct ImportOptions {
  /// Shapes of inputs by name; "" means the model's only input.
  llvm::StringMap<llvm::SmallVector<int64_t>> inputShapes;
  /// Sizes of symbolic dimensions.
  llvm::StringMap<int64_t> symbols;
  /// Those that this import gives one of several sizes. An input of @main with
  /// such dimensions has the attribute `nn.symbols`: for each dimension the
  /// symbol, or "".
  llvm::StringSet<> openSymbols;
  /// Where imports of one model, in one context, find each other's weights;
  /// null where there is but one.
  WeightCache *weights = nullptr;
  /// How many entries the results of a node may have where the data decide, by
  /// its name.
  llvm::StringMap<int64_t> bounds;
  /// Inputs that are constants: by name, an .npy file or a TensorProto.
  llvm::StringMap<std::string> constInputs;
  /// Make up the weights whose files are missing, from this seed.
  std::optional<uint64_t> randomWeights;
  /// Told each value that a node of the graph computes, by name, before it is
  /// known whether the rest can be imported.
  std::function<void(llvm::StringRef name, mlir::Value value)> onValue;
  /// Told each file of weights and where it is mapped.
  std::function<void(llvm::StringRef path, llvm::StringRef bytes)> onMap;
};

/// Reads the ONNX model in `file`, whose weights may lie in other files beside
/// `path`. The result has one function, @main, whose arguments and results
/// have the attribute `nn.name`; shapes are static. The context must have what
/// `loadImportDialects` loads.
///
/// Errors are diagnostics at locations that name the file and the node; all
/// that can be told from one run are reported before null is returned. The
/// bytes of `file` need not outlive the call; weight files are mapped for as
/// long as the context lives.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(llvm::MemoryBufferRef file,
                                             llvm::StringRef path,
                                             const ImportOptions &options,
                                             mlir::MLIRContext &context);

/// Reads a JSON graph, whose weights lie in a .safetensors file beside `path`,
/// on the terms of importOnnx. Operators and attributes are nn's own.
mlir::OwningOpRef<mlir::ModuleOp> importJson(llvm::MemoryBufferRef file,
                                             llvm::StringRef path,
                                             const ImportOptions &options,
                                             mlir::MLIRContext &context);

/// An imported model as a JSON graph, which importJson reads back to the same
/// module. Returns the constants, by name, for the .safetensors file that the
/// graph calls `weightsName`. The text ends with a newline.
std::vector<std::pair<std::string, mlir::ElementsAttr>>
exportJson(mlir::ModuleOp model, llvm::StringRef weightsName,
           llvm::raw_ostream &graph);

/// How to fix what a value of an imported model is computed from, for the end
/// of a message: "; -fconst-input=x=@FILE ...". Empty where it is no input.
std::string fixInputsHint(mlir::Value value);

/// Loads the dialects that importing needs.
void loadImportDialects(mlir::MLIRContext &context);

} // namespace frit

#endif // FRIT_COMPILER_IMPORT_IMPORT_H
