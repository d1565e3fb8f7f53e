//===- Importer.cpp - Import the nodes of a graph -------------------------===//

#include "compiler/onnx/reader/Importer.h"
#include "compiler/onnx/DropModules.h"

#include "compiler/import/CreateCustom.h"
#include "compiler/import/CreateOp.h"
#include "compiler/onnx/reader/Node.h"
#include "compiler/onnx/reader/Registry.h"
#include "dialects/nn/Fold.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;
using ::onnx::NodeProto;

/// The newest opset that the importer is tested with.
static constexpr int64_t newestOpset = 28;

/// Returns the domain; "" for ONNX's own, which has two names.
static StringRef domainOf(const std::string &domain) {
  return domain == "ai.onnx" ? StringRef() : text(domain);
}

/// Returns the operator's name, with its domain unless that is ONNX's own.
static std::string qualifiedName(const NodeProto &node) {
  StringRef domain = domainOf(node.domain());
  return (domain + (domain.empty() ? "" : "::") + node.op_type()).str();
}

std::string Node::operation() const { return qualifiedName(proto); }

static std::string functionKey(StringRef domain, StringRef name,
                               StringRef overload) {
  return (domain + "::" + name + ":" + overload).str();
}

//===----------------------------------------------------------------------===//
// Locations and declarations
//===----------------------------------------------------------------------===//

Importer::Importer(std::shared_ptr<const ::onnx::ModelProto> model,
                   StringRef path, const ImportOptions &options,
                   MLIRContext &context)
    : ImportState(context, TensorReader(model, path, options, context),
                  options.strings),
      model(model), path(path), options(options), context(context) {
  positions = options.positions;
}

Location Importer::locate(const Twine &what) {
  return NameLoc::get(builder.getStringAttr(what),
                      FileLineColLoc::get(&context, path, 0, 0));
}

/// Returns the node's name, prefixed by those of the enclosing calls.
static std::string nameOf(const NodeProto &node, const Scope &scope) {
  return scope.prefix + ownName(node);
}

Location Importer::locate(const NodeProto &node, const Scope &scope) {
  StringRef domain = domainOf(node.domain());
  std::string opset = "?";
  if (auto it = scope.opsets.find(domain); it != scope.opsets.end())
    opset = std::to_string(it->second);
  return locate("node '" + nameOf(node, scope) + "' (" + qualifiedName(node) +
                ", opset " + opset + ")");
}

bool Importer::readOpsets(
    const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto> &from,
    Scope &scope) {
  for (const auto &opset : from)
    scope.opsets[domainOf(opset.domain())] = opset.version();
  auto it = scope.opsets.find("");
  if (it == scope.opsets.end())
    return true;
  Location loc = FileLineColLoc::get(&context, path, 0, 0);
  if (it->second > newestOpset)
    emitWarning(loc) << "opset " << it->second << " is newer than "
                     << newestOpset << ", the newest that is known [-Wopset]";
  return true;
}

bool Importer::readFunctions() {
  bool good = true;
  for (const ::onnx::FunctionProto &proto : model->functions()) {
    auto [it, isNew] = functions.try_emplace(
        functionKey(domainOf(proto.domain()), proto.name(), proto.overload()));
    if (!isNew) {
      emitError(locate("function '" + proto.name() + "'"))
          << "is defined twice";
      good = false;
      continue;
    }
    Function &function = it->second;
    function.proto = &proto;
    function.scope.opsets = graph.opsets;
    good &= readOpsets(proto.opset_import(), function.scope);
  }
  return good;
}

Importer::Function *Importer::findFunction(const NodeProto &node) {
  auto it = functions.find(
      functionKey(domainOf(node.domain()), node.op_type(), node.overload()));
  return it == functions.end() ? nullptr : &it->second;
}

//===----------------------------------------------------------------------===//
// Checks before anything is imported
//===----------------------------------------------------------------------===//

bool Importer::checkNodes(const Nodes &nodes, const Scope &scope,
                          unsigned depth) {
  bool good = true;
  for (const NodeProto &node : nodes) {
    Location loc = locate(node, scope);
    std::string operation = qualifiedName(node);
    bool isCustom = findCustom(options.customOps, operation);
    Function *function = isCustom ? nullptr : findFunction(node);
    if (function) {
      good &= checkFunction(*function, loc, depth + 1);
      continue;
    }
    StringRef domain = domainOf(node.domain());
    auto opset = scope.opsets.find(domain);
    if (opset == scope.opsets.end()) {
      emitError(loc) << "the model imports no operator set of domain '"
                     << domain << "'";
      good = false;
      continue;
    }
    int64_t later = 0;
    if (isCustom || isImported(operation, opset->second, later))
      continue;
    good = false;
    if (later)
      emitError(loc) << "not supported before opset " << later;
    else if (domain.empty())
      emitError(loc) << "not supported";
    else if (domain == "com.microsoft.nchwc")
      emitError(loc)
          << "not supported: ONNX Runtime's optimiser wrote the file "
             "for one processor; give the model it was made of, or "
             "save it with ORT_ENABLE_EXTENDED (opt_level=2)";
    else
      emitError(loc) << "not supported; --custom-op=FILE binds a kernel of "
                        "your own to it";
  }
  return good;
}

bool Importer::checkTensorNames() {
  bool good = true;
  for (const ::onnx::TensorProto &weight : model->graph().initializer()) {
    if (graph.weights.try_emplace(weight.name(), &weight).second)
      continue;
    emitError(locate("weight '" + weight.name() + "'")) << "is there twice";
    good = false;
  }
  for (const auto &sparse : model->graph().sparse_initializer()) {
    emitError(locate("weight '" + sparse.values().name() + "'"))
        << "sparse tensors are not supported";
    good = false;
  }
  return good;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

Value Importer::readWeight(const ::onnx::TensorProto &weight) {
  Location loc = locate("weight '" + weight.name() + "'");
  if (weight.data_type() == ::onnx::TensorProto::STRING)
    return readStrings(weight, loc);
  ElementsAttr value = tensors.read(weight, loc);
  if (!value)
    return {};
  return addWeight(loc, value, weight.name());
}

/// Maximum elements of a weight that are compared with each other.
static constexpr int64_t kMostEqual = 1 << 20;

/// Returns the value of the node's output: `value`, or a separate weight if the
/// node copies one (see ImportOptions::trains). In a file that has all weights,
/// copies are nodes of the model.
Value Importer::separateWeight(const NodeProto &proto, Value value) {
  auto weight = value ? value.getDefiningOp<nn::ConstantOp>() : nullptr;
  if (!options.trains || !weight || !weight.getName() ||
      proto.op_type() != "Identity" || hasAllWeights)
    return value;
  DenseElementsAttr elements = nn::constantValue(weight, kMostEqual);
  if (!elements || !elements.isSplat())
    return value;
  return addWeight(weight.getLoc(), weight.getValue(), proto.output(0));
}

std::optional<Value> Importer::lookUp(const std::string &name, Scope &scope) {
  for (Scope *at = &scope; at; at = at->outer) {
    if (at->failed.contains(name))
      return std::nullopt;
    if (auto it = at->values.find(name); it != at->values.end())
      return it->second;
    auto weight = at->weights.find(name);
    if (weight == at->weights.end())
      continue;
    if (Value value = readWeight(*weight->second))
      return at->values[name] = value;
    failed = true;
    at->failed.insert(name);
    return std::nullopt;
  }
  // Sorting has checked that the name exists.
  llvm_unreachable("a name that nothing computes");
}

/// Returns false if an input failed. Reads the other weights nevertheless, so
/// that one run reports all errors.
bool Importer::readInputs(const NodeProto &proto, Scope &scope,
                          Results &inputs) {
  bool good = true;
  for (const std::string &name : proto.input()) {
    if (name.empty()) {
      inputs.push_back({});
      continue;
    }
    std::optional<Value> value = lookUp(name, scope);
    good &= value.has_value();
    inputs.push_back(value.value_or(Value()));
  }
  // Drop omitted inputs at the end.
  while (!inputs.empty() && !inputs.back())
    inputs.pop_back();
  return good;
}

void Importer::importNode(const NodeProto &proto, Scope &scope,
                          unsigned depth) {
  Results inputs;
  std::optional<Results> outputs;
  if (readInputs(proto, scope, inputs)) {
    StringRef domain = domainOf(proto.domain());
    int64_t opset = scope.opsets.lookup(domain);
    Location loc = locate(proto, scope);
    Node node(*this, proto, scope, depth, opset, loc, std::move(inputs));
    if (const CustomSpec *custom =
            findCustom(options.customOps, qualifiedName(proto))) {
      outputs = importCustom(node, *custom, options.customOps);
      node.checkAttributes();
    } else if (Function *function = findFunction(proto)) {
      outputs = importCall(node, *function, nameOf(proto, scope), depth + 1);
    } else {
      outputs = importOperator(node);
      node.checkAttributes();
    }
    for (size_t i = 0; outputs && !node.failed && i < node.numOutputs(); ++i)
      if (node.wants(i) && (i >= outputs->size() || !(*outputs)[i]))
        node.error() << "output " << i << ", '" << text(proto.output(i))
                     << "', is not supported";
    if (node.failed)
      outputs.reset();
    failed |= !outputs;
  }
  for (auto [i, name] : llvm::enumerate(proto.output())) {
    if (name.empty())
      continue;
    if (!outputs) {
      scope.failed.insert(name);
      continue;
    }
    Value value = separateWeight(proto, (*outputs)[i]);
    if (options.trains && isDetached(proto))
      value = detach(value, locate(proto, scope));
    scope.values[name] = value;
    if (&scope == &graph && dropModules.contains(name))
      value = scope.values[name] = byMode(value, name, locate(proto, scope));
    if (options.onValue && &scope == &graph)
      options.onValue(name, value);
  }
}

//===----------------------------------------------------------------------===//
// The whole graph
//===----------------------------------------------------------------------===//

/// Checks that no value with an unsupported shape is left.
bool Importer::checkResult() {
  bool good = true;
  for (Operation &op : main.getBody().front().without_terminator()) {
    if (isa<nn::ConstantOp>(op))
      continue;
    for (Value result : op.getResults()) {
      auto type = nn::tensorType(result);
      if (type.getNumElements() != 0)
        continue;
      emitError(op.getLoc())
          << "tensors without elements, " << nn::shapeText(type.getShape())
          << ", are not supported";
      good = false;
    }
  }
  return good;
}

std::optional<int64_t> Importer::boundOf(const std::string &name) {
  auto found = options.bounds.find(name);
  if (found == options.bounds.end())
    return std::nullopt;
  bounded.insert(name);
  return found->second;
}

int64_t Importer::choose(int64_t own) {
  if (!options.choices)
    return own;
  size_t next = choices++;
  if (options.followsChoices)
    return next < options.choices->size() ? (*options.choices)[next] : own;
  options.choices->push_back(own);
  return own;
}

void Importer::addCheck(Value number, std::string message, ArrayAttr indices) {
  checks.push_back({number, std::move(message), indices});
}

BlockArgument Importer::addComputed(const std::string &name,
                                    RankedTensorType type, ArrayAttr symbols,
                                    Location loc) {
  inputNames.push_back(builder.getStringAttr(name));
  inputSymbols.push_back(symbols);
  inputKinds.push_back(InputKind::computed);
  return main.getBody().front().addArgument(type, loc);
}

ArrayAttr Importer::symbolsOf(BlockArgument input) {
  return inputSymbols[input.getArgNumber()];
}

void Importer::warnOfTrainingMode() {
  if (inTrainingMode.empty())
    return;
  size_t others = inTrainingMode.size() - 1;
  emitWarning(inTrainingMode.front())
      << "the file has it in training mode"
      << (others ? ", and " + std::to_string(others) + " more nodes" : "")
      << ". Without --train, dropout does nothing, and batch norms normalize "
         "each batch by its own statistics: export the model in eval mode to "
         "use the running ones [-Wtraining]";
}

OwningOpRef<ModuleOp> Importer::run() {
  Location loc = FileLineColLoc::get(&context, path, 0, 0);
  module = ModuleOp::create(loc);
  main = func::FuncOp::create(loc, "main", builder.getFunctionType({}, {}));
  module->push_back(main);
  builder.setInsertionPointToEnd(main.addEntryBlock());

  // Report wrong inputs and wrong nodes in one run.
  bool good = readOpsets(model->opset_import(), graph) && readFunctions();
  if (!good)
    return {};
  good &= checkTensorNames();
  findParameters();
  dropModules = findDropModules(model->graph());
  good &= addInputs();
  good &= checkNodes(model->graph().node(), graph, 0);
  auto order = sortNodes(
      model->graph().node(),
      [&](StringRef name) {
        return graph.values.contains(name) || graph.weights.contains(name) ||
               graph.failed.contains(name);
      },
      [&](const NodeProto &node) { return locate(node, graph); });
  if (!good || !order)
    return {};

  importNodes(*order, graph, 0);
  if (failed || !addOutputs())
    return {};
  for (const auto &[name, bound] : options.bounds)
    if (!bounded.contains(name))
      emitWarning(loc) << "-fbound: there is no node '" << name
                       << "' with a result whose size depends on the data";

  if (options.trains) {
    warnOfFoldedNorms();
    warnOfNumbers();
  } else {
    warnOfTrainingMode();
  }

  // Remove operators that only computed shapes.
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(main.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  if (!checkResult() || mlir::failed(verify(*module)))
    return {};
  return std::move(module);
}
