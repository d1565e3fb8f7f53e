//===- Importer.h - State of an import ------------------------------------===//

#ifndef FRIT_COMPILER_ONNX_READER_IMPORTER_H
#define FRIT_COMPILER_ONNX_READER_IMPORTER_H

#include "compiler/import/Import.h"
#include "compiler/onnx/reader/ImportState.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <vector>

namespace frit::importer {

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;
using Order = std::vector<const ::onnx::NodeProto *>;

/// Sorts the nodes topologically, keeping the file's order if that is valid.
/// Reports values that are computed twice, names that nothing computes, and
/// cycles. `isGiven` returns whether a name exists without a node.
std::optional<Order>
sortNodes(const Nodes &nodes, llvm::function_ref<bool(llvm::StringRef)> isGiven,
          llvm::function_ref<mlir::Location(const ::onnx::NodeProto &)> locate);

class InputShapes;
class Node;

class Importer final : public ImportState {
public:
  Importer(std::shared_ptr<const ::onnx::ModelProto> model,
           llvm::StringRef path, const ImportOptions &options,
           mlir::MLIRContext &context);

  mlir::OwningOpRef<mlir::ModuleOp> run();

  /// Returns a location "model.onnx: what".
  mlir::Location locate(const llvm::Twine &what);
  mlir::Location locate(const ::onnx::NodeProto &node, const Scope &scope);

  std::optional<Results> importGraph(const ::onnx::GraphProto &graph,
                                     llvm::ArrayRef<mlir::Value> inputs,
                                     Scope &outer, std::string name,
                                     mlir::Location loc,
                                     unsigned depth) override;
  std::optional<int64_t> boundOf(const std::string &name) override;
  bool trains() const override { return options.trains; }
  bool hasOpenSizes() const override { return !options.openSymbols.empty(); }
  bool computesPlaces() const override { return options.computesPlaces; }
  int64_t choose(int64_t own) override;
  llvm::StringRef producer() const override { return model->producer_name(); }
  bool checksIndices() const override { return options.checkIndices; }
  void addCheck(mlir::Value number, std::string message,
                mlir::ArrayAttr indices) override;
  mlir::BlockArgument addComputed(const std::string &name,
                                  mlir::RankedTensorType type,
                                  mlir::ArrayAttr symbols,
                                  mlir::Location loc) override;
  mlir::ArrayAttr symbolsOf(mlir::BlockArgument input) override;
  bool mayBecome(size_t operators) override;
  bool mayTabulate(size_t elements) override;

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
  std::optional<int64_t> countTensors(const ::onnx::ValueInfoProto &input);
  mlir::Value addInput(const std::string &name,
                       const ::onnx::TypeProto::Tensor *type,
                       const InputShapes &shapes, size_t index);
  bool addOutputs();
  void describeInterface(llvm::ArrayRef<mlir::Attribute> outputNames,
                         llvm::ArrayRef<bool> areStrings);
  bool checkResult();
  /// Warns of a model that is to train and has lost its batch norms.
  void warnOfFoldedNorms();
  /// Warns of a model in training mode that is not to train.
  void warnOfTrainingMode();
  /// Warns of single numbers that may be parameters, and do not train.
  void warnOfNumbers();
  /// Finds the parameters among the weights, as far as the file tells.
  void findParameters();

  void importNodes(const Order &order, Scope &scope, unsigned depth);
  void importNode(const ::onnx::NodeProto &proto, Scope &scope, unsigned depth);
  std::optional<Results> importCall(Node &node, Function &function,
                                    std::string prefix, unsigned depth);
  bool readInputs(const ::onnx::NodeProto &proto, Scope &scope,
                  Results &inputs);
  /// Returns the value of a name in a scope or an enclosing one; reads weights
  /// at first use. Null for an omitted input; none if it failed.
  std::optional<mlir::Value> lookUp(const std::string &name, Scope &scope);
  /// Creates a weight. In a model that is to train, marks it by `nn.trains`,
  /// true or false, and by `nn.unmerged` if no others were merged into it.
  mlir::Value addWeight(mlir::Location loc, mlir::ElementsAttr value,
                        llvm::StringRef name);
  mlir::Value readWeight(const ::onnx::TensorProto &weight);
  mlir::Value separateWeight(const ::onnx::NodeProto &proto, mlir::Value value);
  /// Returns whether a node stands for a call of PyTorch's `detach`.
  static bool isDetached(const ::onnx::NodeProto &proto);
  /// Returns the result of a module that drops: `value` in a training step, and
  /// its input where nothing drops.
  mlir::Value byMode(mlir::Value value, llvm::StringRef name,
                     mlir::Location loc);
  /// Returns `value` with a gradient of 0.
  mlir::Value detach(mlir::Value value, mlir::Location loc);

  std::shared_ptr<const ::onnx::ModelProto> model;
  std::string path;
  const ImportOptions &options;
  mlir::MLIRContext &context;
  bool failed = false;

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp main;
  mlir::Operation *lastWeight = nullptr;
  Scope graph;
  /// Kinds of weights in PyTorch's module. The exporter may have merged other
  /// parameters into a `merged` one.
  enum class WeightKind { parameter, merged, buffer };
  llvm::StringMap<WeightKind> weightKinds;
  /// Whether the file has every weight of the module, although some are equal.
  bool hasAllWeights = false;
  /// Weights of one number of which neither file nor user says whether they
  /// train.
  llvm::SmallVector<std::string> unknownNumbers;
  llvm::StringMap<Function> functions;
  /// The inputs of modules that drop, by the names of their results.
  std::map<std::string, std::string> dropModules;
  /// Names, symbols (or null) and kinds of @main's arguments.
  llvm::SmallVector<mlir::StringAttr> inputNames;
  llvm::SmallVector<mlir::ArrayAttr> inputSymbols;
  enum class InputKind { numbers, strings, computed };
  llvm::SmallVector<InputKind> inputKinds;
  struct Check {
    mlir::Value number;
    std::string message;
    mlir::ArrayAttr indices; ///< that it checks; may be null
  };
  llvm::SmallVector<Check> checks;
  /// Nodes with an -fbound that were found.
  llvm::StringSet<> bounded;
  /// Nodes inlined, operators created and table elements so far. Small files
  /// can expand to huge graphs, so these are limited.
  size_t inlined = 0, operators = 0, tabulated = 0, choices = 0;
};

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_READER_IMPORTER_H
