//===- Writer.cpp - Write JSON graphs -------------------------------------===//

#include "compiler/import/Import.h"

#include "dialects/nn/operators/Custom.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

#include <nlohmann/json.hpp>

using namespace mlir;
using namespace frit;
using Json = nlohmann::ordered_json;

/// Replaces invalid UTF-8, which names may contain but JSON may not.
static std::string dump(const Json &value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static Json valueOf(Attribute attribute) {
  if (isa<UnitAttr>(attribute))
    return true;
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return flag.getValue();
  // Sign-extend all integers: in some definitions they are signless.
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return integer.getValue().getSExtValue();
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return real.getValueAsDouble();
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.getValue().str();
  if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute))
    return std::vector<int64_t>(list.asArrayRef());
  if (auto type = dyn_cast<TypeAttr>(attribute))
    return textOf(type.getValue());
  if (auto combiner = dyn_cast<nn::CombinerAttr>(attribute))
    return nn::stringifyCombiner(combiner.getValue()).str();
  llvm_unreachable("no operator has such an attribute");
}

namespace {

/// Makes names unique.
class Names {
public:
  std::string make(StringRef wanted) {
    std::string name = wanted.str();
    // Unrolled loops give thousands of nodes the same name.
    unsigned &number = next[wanted];
    while (!taken.insert(name).second)
      name = (wanted + "." + Twine(++number)).str();
    return name;
  }

private:
  llvm::StringSet<> taken;
  llvm::StringMap<unsigned> next;
};

} // namespace

/// Returns "fc1" for the location "node 'fc1' (Gemm)", or "".
static std::string nodeName(Location loc) {
  auto named = dyn_cast<NameLoc>(loc);
  if (!named)
    return "";
  auto [kind, rest] = named.getName().getValue().split(" '");
  return kind == "node" ? rest.rsplit("' (").first.str() : std::string();
}

std::vector<std::pair<std::string, ElementsAttr>>
frit::exportJson(ModuleOp model, StringRef weightsName,
                 llvm::raw_ostream &graph) {
  auto main = cast<func::FuncOp>(model.lookupSymbol("main"));
  Names names;
  llvm::DenseMap<Value, std::string> called;
  auto read = [&](ValueRange values) {
    Json list = Json::array();
    for (Value value : values)
      list.push_back(called.at(value));
    return list;
  };

  Json inputs = Json::array(), nodes = Json::array();
  for (BlockArgument argument : main.getArguments()) {
    auto name =
        main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "nn.name");
    auto type = nn::tensorType(argument);
    called[argument] = names.make(name.getValue());
    inputs.push_back({{"name", called[argument]},
                      {"type", textOf(type.getElementType())},
                      {"shape", std::vector<int64_t>(type.getShape())}});
  }

  // Reserve the outputs' names. A value has one name here; further outputs of
  // the same value read it through a reshape.
  Operation *end = main.getBody().front().getTerminator();
  SmallVector<std::pair<Value, std::string>> again;
  Json outputs = Json::array(), counts = Json::array();
  Json extents = Json::object();
  for (auto [index, value] : llvm::enumerate(end->getOperands())) {
    auto name =
        main.getResultAttrOfType<StringAttr>(index, "nn.name").getValue();
    std::string own = names.make(name);
    (main.getResultAttr(index, "nn.count") ? counts : outputs).push_back(own);
    if (auto dims = main.getResultAttrOfType<ArrayAttr>(index, "nn.extents"))
      for (Attribute dim : dims)
        extents[own].push_back(isa<UnitAttr>(dim) ? Json() : valueOf(dim));
    if (!value.getDefiningOp() || value.getDefiningOp<nn::ConstantOp>() ||
        !called.try_emplace(value, own).second)
      again.push_back({value, own});
  }

  std::vector<std::pair<std::string, ElementsAttr>> tensors;
  for (Operation &op : main.getBody().front().without_terminator()) {
    auto constant = dyn_cast<nn::ConstantOp>(op);
    std::string node = nodeName(op.getLoc());
    for (Value result : op.getResults()) {
      if (called.contains(result))
        continue;
      // "%" marks constants that the compiler created.
      if (constant)
        called[result] = names.make(constant.getName().value_or("%"));
      else
        called[result] =
            names.make(node.empty() ? op.getName().stripDialect() : node);
    }
    if (constant) {
      tensors.push_back({called[constant], constant.getValue()});
      continue;
    }
    // A user's operator has the node's attributes; the file of --custom-op has
    // the rest.
    nn::CustomAttr custom = nn::customOf(&op);
    DictionaryAttr given = custom ? op.getAttrOfType<DictionaryAttr>("node")
                                  : op.getAttrDictionary();
    Json attributes = Json::object();
    if (given)
      for (NamedAttribute attribute : given)
        attributes[attribute.getName().str()] = valueOf(attribute.getValue());
    Json entry = {{"op", custom ? custom.getName().str()
                                : op.getName().stripDialect().str()}};
    if (!node.empty())
      entry["name"] = node;
    entry["inputs"] = read(op.getOperands());
    auto kernel = dyn_cast<nn::CustomOp>(op);
    entry["outputs"] = read(
        op.getResults().drop_back(kernel && kernel.getWorkspace() ? 1 : 0));
    if (!attributes.empty())
      entry["attributes"] = attributes;
    nodes.push_back(entry);
  }
  for (const auto &[value, name] : again)
    nodes.push_back({{"op", "reshape"},
                     {"inputs", {called.at(value)}},
                     {"outputs", {name}},
                     {"attributes",
                      {{"shape", std::vector<int64_t>(nn::shapeOf(value))}}}});

  // One node per line, for people and diff.
  auto lines = [&](const char *key, const Json &list) {
    graph << " \"" << key << "\": [";
    for (const auto &[i, item] : llvm::enumerate(list))
      graph << (i ? ",\n  " : "\n  ") << dump(item);
    graph << "],\n";
  };
  graph << "{\"frit\": 1,\n";
  lines("inputs", inputs);
  if (!tensors.empty())
    graph << " \"weights\": " << dump(weightsName.str()) << ",\n";
  lines("nodes", nodes);
  if (!counts.empty())
    graph << " \"counts\": " << dump(counts) << ",\n"
          << " \"extents\": " << dump(extents) << ",\n";
  graph << " \"outputs\": " << dump(outputs) << "}\n";
  return tensors;
}
