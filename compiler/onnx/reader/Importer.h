//===- Importer.h - State of an import ------------------------------------===//

#ifndef FRIT_COMPILER_ONNX_READER_IMPORTER_H
#define FRIT_COMPILER_ONNX_READER_IMPORTER_H

#include "compiler/import/Import.h"
#include "compiler/onnx/reader/DataShape.h"
#include "compiler/onnx/reader/Tensors.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

#include <vector>

namespace frit::importer {

/// Results of a node. An omitted input or output is a null value.
using Results = llvm::SmallVector<mlir::Value>;

class Node;

/// Returns whether a value stands for a sequence of tensors (Lists.cpp).
inline bool isList(mlir::Value value) {
  return llvm::isa<mlir::TupleType>(value.getType());
}

/// Imports an ONNX operator that has no equal in nn. `operation` is its name,
/// prefixed by "domain::" if not of ONNX's own domain. `since` is the first
/// opset with this meaning. `maxInputs` of -1 means any number. The function
/// builds the outputs, or reports why it cannot.
struct Hook {
  llvm::StringLiteral operation;
  int since;
  int minInputs, maxInputs;
  Results (*build)(Node &node);
  /// Whether inputs may be sequences, and whether they may have data-dependent
  /// shapes. Otherwise the importer rejects them before.
  bool takesLists = false, takesCounts = false;
};

/// The hooks of each family of operators.
llvm::ArrayRef<Hook> elementwiseHooks();
llvm::ArrayRef<Hook> shapeHooks();
llvm::ArrayRef<Hook> movementHooks();
llvm::ArrayRef<Hook> windowHooks();
llvm::ArrayRef<Hook> contractionHooks();
llvm::ArrayRef<Hook> attentionHooks();
llvm::ArrayRef<Hook> reductionHooks();
llvm::ArrayRef<Hook> normalizationHooks();
llvm::ArrayRef<Hook> indexingHooks();
llvm::ArrayRef<Hook> lossHooks();
llvm::ArrayRef<Hook> quantizationHooks();
llvm::ArrayRef<Hook> resizeHooks();
llvm::ArrayRef<Hook> samplingHooks();
llvm::ArrayRef<Hook> recurrentHooks();
llvm::ArrayRef<Hook> transposedHooks();
llvm::ArrayRef<Hook> spectralHooks();
llvm::ArrayRef<Hook> einsumHooks();
llvm::ArrayRef<Hook> sequenceHooks();
llvm::ArrayRef<Hook> listHooks();
llvm::ArrayRef<Hook> trainingHooks();
llvm::ArrayRef<Hook> controlFlowHooks();
llvm::ArrayRef<Hook> knownHooks();
llvm::ArrayRef<Hook> randomHooks();

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

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;
using Order = std::vector<const ::onnx::NodeProto *>;

/// Sorts the nodes topologically, keeping the file's order if that is valid.
/// Reports values that are computed twice, names that nothing computes, and
/// cycles. `isGiven` returns whether a name exists without a node.
std::optional<Order>
sortNodes(const Nodes &nodes, llvm::function_ref<bool(llvm::StringRef)> isGiven,
          llvm::function_ref<mlir::Location(const ::onnx::NodeProto &)> locate);

class Importer {
public:
  Importer(std::shared_ptr<const ::onnx::ModelProto> model,
           llvm::StringRef path, const ImportOptions &options,
           mlir::MLIRContext &context);

  mlir::OwningOpRef<mlir::ModuleOp> run();

  /// Returns a location "model.onnx: what".
  mlir::Location locate(const llvm::Twine &what);
  mlir::Location locate(const ::onnx::NodeProto &node, const Scope &scope);

  /// Inlines a node's subgraph on `inputs` and returns its outputs; none if a
  /// node failed. `name` distinguishes the subgraphs of a node.
  std::optional<Results> importGraph(const ::onnx::GraphProto &graph,
                                     llvm::ArrayRef<mlir::Value> inputs,
                                     Scope &outer, std::string name,
                                     mlir::Location loc, unsigned depth);

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
  /// The bound that -fbound gives for the results of a node.
  std::optional<int64_t> boundOf(const std::string &name);
  /// Makes a call of the model fail with `message` if `number`, an i64, is
  /// negative.
  void addCheck(mlir::Value number, std::string message);

  /// Return whether the model may get that many more operators, or elements of
  /// tables that are generated from a few numbers. These limits stop small
  /// files that expand to huge models.
  bool mayBecome(size_t operators);
  bool mayTabulate(size_t elements);

  mlir::OpBuilder builder;
  TensorReader tensors;

private:
  struct Function {
    const ::onnx::FunctionProto *proto;
    Scope scope; ///< opsets only
    Order order;
    enum { unseen, open, done } state = unseen;
  };

  bool readOpsets(
      const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>
          &from,
      Scope &scope);
  bool readFunctions();

  /// Reports all nodes that cannot be imported, also in called functions.
  bool checkNodes(const Nodes &nodes, const Scope &scope, unsigned depth);
  bool checkFunction(Function &function, mlir::Location call, unsigned depth);
  bool checkTensorNames();
  Function *findFunction(const ::onnx::NodeProto &node);

  /// Turns the graph's inputs into arguments of @main, or constants.
  bool addInputs();
  bool addOutputs();
  bool checkResult();

  void importNodes(const Order &order, Scope &scope, unsigned depth);
  void importNode(const ::onnx::NodeProto &proto, Scope &scope, unsigned depth);
  std::optional<Results> importCall(Node &node, Function &function,
                                    std::string prefix, unsigned depth);
  bool readInputs(const ::onnx::NodeProto &proto, Scope &scope,
                  Results &inputs);
  /// Returns the value of a name in a scope or an enclosing one; reads weights
  /// at first use. Null for an omitted input; none if it failed.
  std::optional<mlir::Value> lookUp(const std::string &name, Scope &scope);
  mlir::Value readWeight(const ::onnx::TensorProto &weight);

  std::shared_ptr<const ::onnx::ModelProto> model;
  std::string path;
  const ImportOptions &options;
  mlir::MLIRContext &context;
  bool failed = false;

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp main;
  mlir::Operation *lastWeight = nullptr;
  Scope graph;
  llvm::StringMap<Function> functions;
  /// Names and symbols (or null) of @main's arguments.
  llvm::SmallVector<mlir::StringAttr> inputNames;
  llvm::SmallVector<mlir::ArrayAttr> inputSymbols;
  struct Check {
    mlir::Value number;
    std::string message;
  };
  llvm::SmallVector<Check> checks;
  /// Nodes with an -fbound that were found.
  llvm::StringSet<> bounded;
  /// Nodes inlined, operators created and table elements so far. Small files
  /// can expand to huge graphs, so these are limited.
  size_t inlined = 0, operators = 0, tabulated = 0;
};

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_READER_IMPORTER_H
