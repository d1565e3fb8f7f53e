//===- Parameters.cpp - Find the module's parameters ----------------------===//
//
// PyTorch's newer exporter writes the kind of each weight, and the parts of the
// module that each node comes from:
//
//   value_info { name: "rope.cos"
//     metadata_props { key: "pkg.torch.export.graph_signature.InputSpec.kind"
//                      value: "BUFFER" } }
//   node { input: "x" input: "norm.weight"  metadata_props {
//     key: "pkg.torch.onnx.name_scopes"  value: "['', 'norm', 'mul_1']" } }
//
// A node whose `pkg.torch.onnx.class_hierarchy` ends with the function `detach`
// computes nothing, but no gradient passes through it.
//
// Parameters train, scalars included; buffers do not. If only nodes of its own
// part read a parameter, the exporter has merged no others into it. The older
// exporter merges equal weights, but not in training mode, which batch norms
// reveal. In files of other exporters, floats of rank 1 and more train
// (`nn.presumed`), and single numbers if the user names them: they may be
// epsilons.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/CreateOp.h"
#include "compiler/onnx/reader/Importer.h"
#include "compiler/onnx/reader/Node.h"
#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Returns the value of a key in the metadata, or "".
static StringRef
valueOf(const google::protobuf::RepeatedPtrField<::onnx::StringStringEntryProto>
            &metadata,
        StringRef key) {
  for (const auto &entry : metadata)
    if (entry.key() == key)
      return entry.value();
  return "";
}

StringRef Node::metadata(StringRef key) const {
  return valueOf(proto.metadata_props(), key);
}

void Importer::findParameters() {
  for (const ::onnx::ValueInfoProto &value : model->graph().value_info()) {
    StringRef kind = valueOf(value.metadata_props(),
                             "pkg.torch.export.graph_signature.InputSpec.kind");
    if (!kind.empty())
      weightKinds[value.name()] =
          kind == "PARAMETER" ? WeightKind::parameter : WeightKind::buffer;
  }
  hasAllWeights = !weightKinds.empty();
  for (const ::onnx::NodeProto &node : model->graph().node()) {
    if (node.op_type() == "BatchNormalization")
      for (const ::onnx::AttributeProto &attribute : node.attribute())
        hasAllWeights |=
            attribute.name() == "training_mode" && attribute.i() == 1;
    StringRef scopes =
        valueOf(node.metadata_props(), "pkg.torch.onnx.name_scopes");
    for (const std::string &name : node.input()) {
      auto found = weightKinds.find(name);
      if (found == weightKinds.end() || found->second != WeightKind::parameter)
        continue;
      auto [part, last] = StringRef(name).rsplit('.');
      if (!scopes.contains(("'" + (last.empty() ? "" : part) + "'").str()))
        found->second = WeightKind::merged;
    }
  }
}

void Importer::warnOfNumbers() {
  // PyTorch's exporter stores parameters and buffers so, and constants in
  // nodes.
  if (unknownNumbers.empty() || model->producer_name() != "pytorch")
    return;
  constexpr size_t kMostNames = 4;
  size_t count = unknownNumbers.size();
  InFlightDiagnostic message =
      emitWarning(module->getLoc(), "weights of one number do not train: ");
  llvm::interleaveComma(ArrayRef(unknownNumbers).take_front(kMostNames),
                        message,
                        [&](StringRef name) { message << "'" << name << "'"; });
  if (count > kMostNames)
    message << " and " << count - kMostNames << " more";
  message << ". The file does not say which weights are parameters: name "
             "all that are in 'train', or these in 'freeze' [-Wbuffer]";
}

bool Importer::isDetached(const ::onnx::NodeProto &node) {
  return node.op_type() == "Identity" &&
         valueOf(node.metadata_props(), "pkg.torch.onnx.class_hierarchy")
             .ends_with("'aten.detach.default']");
}

/// Stops gradients by bit casts to an integer type and back, which keep all
/// bits.
Value Importer::detach(Value value, Location loc) {
  auto type = value ? dyn_cast<RankedTensorType>(value.getType()) : nullptr;
  if (!type || !isa<FloatType>(type.getElementType()))
    return value;
  Type element = type.getElementType();
  Type bits = builder.getIntegerType(element.getIntOrFloatBitWidth());
  for (Type to : {bits, element})
    value = nn::BitCastOp::create(builder, loc, value, to);
  return value;
}

Value Importer::byMode(Value value, StringRef name, Location loc) {
  Value input = graph.values.lookup(dropModules.find(name.str())->second);
  if (!input || !value || input.getType() != value.getType())
    return value;
  inTrainingMode.push_back(loc);
  if (!options.trains)
    return input;
  auto always = DenseElementsAttr::get(
      RankedTensorType::get({}, builder.getI1Type()), true);
  Value trains = nn::ConstantOp::create(builder, loc, always, StringAttr());
  auto chosen = nn::WhereOp::create(builder, loc, trains, value, input);
  chosen->setAttr("nn.by_mode", builder.getUnitAttr());
  return chosen;
}

Value Importer::addWeight(Location loc, ElementsAttr value, StringRef name) {
  Value weight = createWeight(builder, main.getBody().front(), lastWeight, loc,
                              value, builder.getStringAttr(name));
  auto found = weightKinds.find(name);
  bool isKnown = found != weightKinds.end();
  if (!options.trains || !isa<FloatType>(value.getElementType()))
    return weight;
  if (!isKnown && value.getShapedType().getRank() == 0) {
    std::optional<bool> isNamed =
        options.namesWeight ? options.namesWeight(name) : std::nullopt;
    if (!isNamed && !name.contains("::"))
      unknownNumbers.push_back(name.str());
    if (!isNamed.value_or(false))
      return weight;
  }
  WeightKind kind = isKnown ? found->second : WeightKind::merged;
  Operation *op = weight.getDefiningOp();
  op->setAttr("nn.trains", builder.getBoolAttr(kind != WeightKind::buffer));
  if (!isKnown)
    op->setAttr("nn.presumed", builder.getUnitAttr());
  if (kind == WeightKind::parameter || (!isKnown && hasAllWeights))
    op->setAttr("nn.unmerged", builder.getUnitAttr());
  return weight;
}
