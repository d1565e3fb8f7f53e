//===- Import.h - Import models to the nn dialect, and export -------------===//

#ifndef FRIT_COMPILER_IMPORT_IMPORT_H
#define FRIT_COMPILER_IMPORT_IMPORT_H

#include "compiler/import/CustomSpec.h"

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

/// Weights shared by several imports of a model, keyed by their source.
using WeightCache = llvm::StringMap<mlir::ElementsAttr>;

/// The number of each string of a model, from 0 on.
using StringNumbers = llvm::StringMap<int64_t>;

/// Sizes of a call of a language model whose caches are inputs. A model that
/// looks up its tokens' positions by the number of entries of its caches gets
/// an input of positions, i64 of batch × tokens.
struct CachePositions {
  int64_t batch;  ///< sequences
  int64_t past;   ///< entries of the caches before the call
  int64_t tokens; ///< of each sequence
};

/// The name of that input.
inline constexpr llvm::StringLiteral kCachePositions = "cache.positions";

/// Command line options about the model.
struct ImportOptions {
  /// Name of the function to import from a JSON graph with "functions"; empty
  /// for any other model.
  std::string graph;
  /// Shapes of inputs by name; "" means the model's only input.
  llvm::StringMap<llvm::SmallVector<int64_t>> inputShapes;
  /// Sizes of symbolic dimensions.
  llvm::StringMap<int64_t> symbols;
  /// Other names for symbolic dimensions, by their name or as "x.0": dimensions
  /// of one name have one size.
  llvm::StringMap<std::string> dimNames;
  /// Symbols that stay symbolic across imports: this import gives them one of
  /// several sizes. Inputs of @main that have such dimensions get the attribute
  /// `nn.symbols`: per dimension the symbol, or "".
  llvm::StringSet<> openSymbols;
  /// Compute lists of numbers and places between elements in the model, so that
  /// padding can follow them, also where tables would do for one size.
  bool computesPlaces = false;
  /// Numbers by which the import chooses between algorithms, in order: lengths
  /// of rows that are sorted, in blocks if they are long. Receives them, or
  /// with `followsChoices` has those of an import for a larger size, so that
  /// both get the same operators and can be compared. May be null.
  std::vector<int64_t> *choices = nullptr;
  bool followsChoices = false;
  /// Cache for the weights of several imports in one context; may be null.
  WeightCache *weights = nullptr;
  /// Numbers of strings that several imports share; may be null.
  StringNumbers *strings = nullptr;
  /// Upper bounds for data-dependent results, by node name.
  llvm::StringMap<int64_t> bounds;
  /// Numbers of tensors of inputs that are sequences or optional, by name.
  llvm::StringMap<int64_t> elements;
  /// Inputs that are constants: file (.npy or TensorProto) by input name.
  llvm::StringMap<std::string> constInputs;
  /// Generate missing external weights randomly, from this seed.
  std::optional<uint64_t> randomWeights;
  /// Set for a model whose positions may follow from its caches.
  std::optional<CachePositions> positions;
  /// Operators of the user's own. They come before frit's and before functions
  /// of the model.
  std::vector<CustomSpec> customOps;
  /// The model will train. Operators that differ in training are imported in a
  /// form that serves both (nn.batch_norm by known statistics, nn.dropout),
  /// whichever form the file uses. Exporters store weights of equal elements
  /// once and copy them by Identity: a fresh model's biases and running means,
  /// all zeros, are one weight. Such a copy becomes a separate weight, named
  /// like the node's output; copies of other weights stay tied.
  bool trains = false;
  /// Of a model that will train: returns whether the user says that a weight
  /// trains or is frozen, or none if a default decides. A weight that is one
  /// number may also be an epsilon, say, which is folded.
  std::function<std::optional<bool>(llvm::StringRef name)> namesWeight;
  /// Make calls fail if an index is out of range, and say which.
  bool checkIndices = false;
  /// Called with each value that a node computes, before it is known whether
  /// the whole import succeeds.
  std::function<void(llvm::StringRef name, mlir::Value value)> onValue;
  /// Called with each weight file that an ONNX model names, whether it exists
  /// and is read or not, before any is mapped.
  std::function<void(llvm::StringRef path)> onFile;
  /// Called with each weight file that is read and its mapping.
  std::function<void(llvm::StringRef path, llvm::StringRef bytes)> onMap;
  /// Called with each weight whose elements `randomWeights` makes up.
  std::function<void(llvm::StringRef name)> onRandom;
};

/// Imports the ONNX model in `file`; external data is found relative to `path`.
/// The result has one function, @main. Its arguments and results have the
/// attribute `nn.name`; shapes are static. The context must have loaded
/// `loadImportDialects`.
///
/// Errors are diagnostics at locations that name the file and the node. One run
/// reports as many as possible before it returns null. The bytes of `file` need
/// not outlive the call; weight files stay mapped as long as the context lives.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(llvm::MemoryBufferRef file,
                                             llvm::StringRef path,
                                             const ImportOptions &options,
                                             mlir::MLIRContext &context);

/// Imports a JSON graph with its .safetensors file, relative to `path`, and
/// otherwise like importOnnx. Operators and attributes are those of nn.
mlir::OwningOpRef<mlir::ModuleOp> importJson(llvm::MemoryBufferRef file,
                                             llvm::StringRef path,
                                             const ImportOptions &options,
                                             mlir::MLIRContext &context);

/// Returns the names of the "functions" of a JSON graph, in its order; none if
/// it has none or is no JSON graph.
std::vector<std::string> listJsonFunctions(llvm::StringRef file);

/// Writes an imported model as a JSON graph, which importJson reads back to the
/// same module. Returns the constants, by name, for the .safetensors file
/// `weightsName`. The text ends with a newline.
std::vector<std::pair<std::string, mlir::ElementsAttr>>
exportJson(mlir::ModuleOp model, llvm::StringRef weightsName,
           llvm::raw_ostream &graph);

/// Returns the end of a message that says how to make a value constant: ";
/// -fconst-input=x=@FILE ...". Empty if it does not depend on inputs.
std::string fixInputsHint(mlir::Value value);

/// Loads the dialects that importing needs.
void loadImportDialects(mlir::MLIRContext &context);

} // namespace frit

#endif // FRIT_COMPILER_IMPORT_IMPORT_H
