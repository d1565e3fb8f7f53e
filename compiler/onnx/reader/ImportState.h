//===- ImportState.h - State shared by the nodes of an import -------------===//

#ifndef FRIT_COMPILER_ONNX_READER_IMPORTSTATE_H
#define FRIT_COMPILER_ONNX_READER_IMPORTSTATE_H

#include "compiler/import/Import.h"
#include "compiler/import/IndexUses.h"
#include "compiler/onnx/reader/DataShape.h"
#include "compiler/onnx/reader/Hooks.h"
#include "compiler/onnx/reader/Tensors.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

namespace frit::importer {

/// Returns whether a value stands for a sequence of tensors (Lists.cpp).
inline bool isList(mlir::Value value) {
  return llvm::isa<mlir::TupleType>(value.getType());
}

/// Returns the value that stands for a sequence of `tensors`.
inline mlir::Value listOf(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::ValueRange tensors) {
  return mlir::UnrealizedConversionCastOp::create(
             builder, loc,
             mlir::TupleType::get(builder.getContext(), tensors.getTypes()),
             tensors)
      .getResult(0);
}

/// Returns whether a value stands for a tensor of strings (Strings.cpp).
inline bool isStrings(mlir::Value value) {
  return llvm::isa<mlir::NoneType>(value.getType());
}

/// Returns whether a value is a tensor of numbers.
inline bool isTensor(mlir::Value value) {
  return !isList(value) && !isStrings(value);
}

/// Returns the value that stands for the strings that have the numbers `ids`.
inline mlir::Value stringsOf(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value ids) {
  return mlir::UnrealizedConversionCastOp::create(
             builder, loc, mlir::NoneType::get(builder.getContext()), ids)
      .getResult(0);
}

/// Returns the numbers of strings, an i64 tensor.
inline mlir::Value idsOf(mlir::Value strings) {
  return strings.getDefiningOp()->getOperand(0);
}

/// Returns what messages call a value that is no tensor of numbers.
inline llvm::StringRef kindOf(mlir::Value value) {
  return isList(value) ? "a sequence" : "a tensor of strings";
}

/// The names that nodes of a graph or function body can refer to.
struct Scope {
  /// Operator set versions by domain; "" is ONNX's own.
  llvm::StringMap<int64_t> opsets;
  llvm::StringMap<mlir::Value> values;
  /// Weights that have not been read yet.
  llvm::StringMap<const ::onnx::TensorProto *> weights;
  /// Values whose node failed. Nodes that read them are skipped silently.
  llvm::StringSet<> failed;
  /// Values for `ref_attr_name` in a function body.
  llvm::StringMap<const ::onnx::AttributeProto *> attributes;
  /// Names of the enclosing calls: "block/attention/".
  std::string prefix;
  /// Scope of the enclosing graph, visible to a subgraph; null for others.
  Scope *outer = nullptr;
};

/// The part of an import that its nodes read and extend.
class ImportState {
public:
  /// Inlines a node's subgraph on `inputs` and returns its outputs; none if a
  /// node failed. `name` distinguishes the subgraphs of a node.
  virtual std::optional<Results> importGraph(const ::onnx::GraphProto &graph,
                                             llvm::ArrayRef<mlir::Value> inputs,
                                             Scope &outer, std::string name,
                                             mlir::Location loc,
                                             unsigned depth) = 0;

  /// Returns the bound that -fbound gives for the results of a node.
  virtual std::optional<int64_t> boundOf(const std::string &name) = 0;
  /// Returns whether the model will train (ImportOptions::trains).
  virtual bool trains() const = 0;
  /// Returns whether this is one of several imports, for different sizes.
  virtual bool hasOpenSizes() const = 0;
  /// Returns whether places are computed (ImportOptions::computesPlaces).
  virtual bool computesPlaces() const = 0;
  /// Returns a number by which an algorithm is chosen: `own`, or that of the
  /// import which this one follows (ImportOptions::choices).
  virtual int64_t choose(int64_t own) = 0;
  /// Returns the name of the tool that wrote the model, or "".
  virtual llvm::StringRef producer() const = 0;
  /// Returns whether the model checks indices (ImportOptions::checkIndices).
  virtual bool checksIndices() const = 0;
  /// Makes a call of the model fail with `message` if `number`, an i64, is
  /// negative. With `indices`, it is a check of those (see nn::IndexRange).
  virtual void addCheck(mlir::Value number, std::string message,
                        mlir::ArrayAttr indices = {}) = 0;

  /// Adds an input of the model that a string step computes (see
  /// compiler/onnx/strings/Steps.h). `symbols` names its open dimensions.
  virtual mlir::BlockArgument addComputed(const std::string &name,
                                          mlir::RankedTensorType type,
                                          mlir::ArrayAttr symbols,
                                          mlir::Location loc) = 0;
  /// Returns the names of the open dimensions of an input; null if it has none.
  virtual mlir::ArrayAttr symbolsOf(mlir::BlockArgument input) = 0;
  /// Returns the number of a string.
  int64_t numberOf(llvm::StringRef text) {
    return strings->try_emplace(text, strings->size()).first->second;
  }

  /// Return whether the model may get that many more operators, or elements of
  /// tables that are generated from a few numbers. These limits stop small
  /// files that expand to huge models.
  virtual bool mayBecome(size_t operators) = 0;
  virtual bool mayTabulate(size_t elements) = 0;

  /// Creates a tensor of known strings, one per element.
  mlir::Value stringTensor(mlir::Location loc, llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<llvm::StringRef> texts);
  /// Read a tensor of strings; null after an error at `loc`.
  mlir::Value readStrings(const ::onnx::TensorProto &tensor,
                          mlir::Location loc);
  mlir::Value readStringsFile(llvm::StringRef file, mlir::Location loc);

  /// The data-dependent sizes.
  DataSizes sizes;
  /// Indices of a value's nonzero elements and their number, cached.
  struct Places {
    mlir::Value indices;
    Size count;
  };
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, Places> places;
  /// Source indices of concatenations, cached by their sizes.
  llvm::StringMap<mlir::Value> joined;
  /// The number of each string.
  StringNumbers *strings;
  /// The string steps, in order (see compiler/padding/Strings.h).
  llvm::SmallVector<mlir::Attribute> stringSteps;
  /// As in ImportOptions, and the input of positions if there is one.
  std::optional<CachePositions> positions;
  mlir::Value positionInput;
  /// Nodes that the file has in training mode.
  llvm::SmallVector<mlir::Location> inTrainingMode;
  /// The inputs whose elements are indices.
  IndexUses indexUses;
  /// Whether the results of the nodes that are imported may be unused, as those
  /// of a branch: their indices may be out of range.
  bool mayBeUnused = false;

  mlir::OpBuilder builder;
  TensorReader tensors;

protected:
  ImportState(mlir::MLIRContext &context, TensorReader tensors,
              StringNumbers *shared)
      : strings(shared ? shared : &ownStrings), builder(&context),
        tensors(std::move(tensors)) {}
  ~ImportState() = default;

private:
  StringNumbers ownStrings; ///< of an import that shares none
};

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_READER_IMPORTSTATE_H
