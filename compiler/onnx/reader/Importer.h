//===- Importer.h - The state of one import -------------------------------===//

#ifndef FRIT_COMPILER_ONNX_READER_IMPORTER_H
#define FRIT_COMPILER_ONNX_READER_IMPORTER_H

#include "compiler/import/Import.h"
#include "compiler/onnx/reader/DataShape.h"
#include "compiler/onnx/reader/Tensors.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

#include <vector>

namespace frit::importer {

/// An input that a node or a function call leaves out is a null value.
using Results = llvm::SmallVector<mlir::Value>;

class Node;

/// Whether a value stands for a sequence of tensors (Lists.cpp).
inline bool isList(mlir::Value value) {
  return llvm::isa<mlir::TupleType>(value.getType());
}

/// How to import an ONNX operator that is not imported by name: its name, after
/// "domain::" where it is not of ONNX's own domain; the opset from
/// which this is its meaning, how many inputs it may have (-1: any number) and
/// what builds its outputs, or reports why it cannot.
struct Hook {
  llvm::StringLiteral operation;
  int since;
  int minInputs, maxInputs;
  Results (*build)(Node &node);
  /// Whether inputs may be sequences, and whether the data may decide about
  /// their sizes; others are refused before.
  bool takesLists = false, takesCounts = false;
};

/// The hooks of each family.
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

/// What names mean to the nodes of a graph or of a function's body.
struct Scope {
  /// Versions of the operator sets by domain, "" being ONNX's own.
  llvm::StringMap<int64_t> opsets;
  llvm::StringMap<mlir::Value> values;
  /// Weights that no node has read yet.
  llvm::StringMap<const ::onnx::TensorProto *> weights;
  /// Values whose node failed; what reads them is passed over in silence.
  llvm::StringSet<> failed;
  /// What `ref_attr_name` stands for in a function's body.
  llvm::StringMap<const ::onnx::AttributeProto *> attributes;
  /// The names of the calls this body is inlined for: "block/attention/".
  std::string prefix;
  /// That of the graph around, whose names a subgraph sees; null elsewhere.
  Scope *outer = nullptr;
};

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;
using Order = std::vector<const ::onnx::NodeProto *>;

/// The nodes in an order that computes values before they are read, the file's
/// own where it does. Reports values computed twice, names that nothing
/// computes and cycles. `isGiven` tells the names that no node computes.
std::optional<Order>
sortNodes(const Nodes &nodes, llvm::function_ref<bool(llvm::StringRef)> isGiven,
          llvm::function_ref<mlir::Location(const ::onnx::NodeProto &)> locate);

class Importer {
public:
  Importer(std::shared_ptr<const ::onnx::ModelProto> model,
           llvm::StringRef path, const ImportOptions &options,
           mlir::MLIRContext &context);

  mlir::OwningOpRef<mlir::ModuleOp> run();

  /// A location "model.onnx: what".
  mlir::Location locate(const llvm::Twine &what);
  mlir::Location locate(const ::onnx::NodeProto &node, const Scope &scope);

  /// The outputs of a node's subgraph on `inputs`, in place of the node, or
  /// nothing where one has failed; `name` tells it from others of the node.
  std::optional<Results> importGraph(const ::onnx::GraphProto &graph,
                                     llvm::ArrayRef<mlir::Value> inputs,
                                     Scope &outer, std::string name,
                                     mlir::Location loc, unsigned depth);

  /// The sizes that depend on the data.
  DataSizes sizes;
  /// Where a value is not zero and how often, once that was asked for.
  struct Places {
    mlir::Value indices;
    Size count;
  };
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, Places> places;
  /// By counts, where the entries of what is joined are.
  llvm::StringMap<mlir::Value> joined;
  /// How many entries the results of a node may have by -fbound.
  std::optional<int64_t> boundOf(const std::string &name);
  /// Lets a call fail with `message` where `number`, an i64, is negative.
  void addCheck(mlir::Value number, std::string message);

  /// Whether the model may have this many operators more, and tables that are
  /// made up of a few numbers in it this many elements.
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

  /// Reports every node that cannot be imported, in called functions too.
  bool checkNodes(const Nodes &nodes, const Scope &scope, unsigned depth);
  bool checkFunction(Function &function, mlir::Location call, unsigned depth);
  bool checkTensorNames();
  Function *findFunction(const ::onnx::NodeProto &node);

  /// Makes the graph's inputs arguments of @main, or constants.
  bool addInputs();
  bool addOutputs();
  bool checkResult();

  void importNodes(const Order &order, Scope &scope, unsigned depth);
  void importNode(const ::onnx::NodeProto &proto, Scope &scope, unsigned depth);
  std::optional<Results> importCall(Node &node, Function &function,
                                    std::string prefix, unsigned depth);
  bool readInputs(const ::onnx::NodeProto &proto, Scope &scope,
                  Results &inputs);
  /// The value of a name in a scope or one around it, read now if it is a
  /// weight, null where it is an input that is left out; nothing if it has
  /// failed.
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
  /// Of the arguments of @main; and their open symbols, or null.
  llvm::SmallVector<mlir::StringAttr> inputNames;
  llvm::SmallVector<mlir::ArrayAttr> inputSymbols;
  struct Check {
    mlir::Value number;
    std::string message;
  };
  llvm::SmallVector<Check> checks;
  /// Nodes that -fbound names and that were seen.
  llvm::StringSet<> bounded;
  /// Nodes inlined, operators made and elements of tables so far: small files
  /// can stand for huge graphs.
  size_t inlined = 0, operators = 0, tabulated = 0;
};

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_READER_IMPORTER_H
