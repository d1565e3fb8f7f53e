//===- DropModules.cpp - Dropout that is written as random numbers --------===//

#include "compiler/onnx/DropModules.h"

#include "compiler/onnx/DropMasks.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

using namespace frit;

static std::string_view valueOf(const onnx::NodeProto &node,
                                std::string_view key) {
  for (const auto &entry : node.metadata_props())
    if (entry.key() == key)
      return entry.value();
  return "";
}

/// Returns the elements of a list as Python prints it: "['', 'drop']".
static std::vector<std::string_view> listOf(std::string_view text) {
  std::vector<std::string_view> elements;
  for (size_t at = text.find('\''); at != text.npos;) {
    size_t end = text.find('\'', at + 1);
    if (end == text.npos)
      break;
    elements.push_back(text.substr(at + 1, end - at - 1));
    at = text.find('\'', end + 1);
  }
  return elements;
}

/// Returns the path of the outermost module of a node that drops by its class;
/// "" if there is none.
static std::string dropModuleOf(const onnx::NodeProto &node) {
  auto classes = listOf(valueOf(node, "pkg.torch.onnx.class_hierarchy"));
  auto scopes = listOf(valueOf(node, "pkg.torch.onnx.name_scopes"));
  // The last element is the operator.
  for (size_t i = 0; i + 1 < classes.size() && i < scopes.size(); ++i) {
    std::string_view name = classes[i].substr(classes[i].rfind('.') + 1);
    bool drops = name.find("Dropout") != name.npos ||
                 name.find("DropPath") != name.npos ||
                 name.find("DropBlock") != name.npos ||
                 name.find("StochasticDepth") != name.npos;
    if (drops)
      return std::string(scopes[i]) + "/" + std::to_string(i);
  }
  return "";
}

static bool isRandom(const onnx::NodeProto &node) {
  return node.op_type().starts_with("Random") || node.op_type() == "Bernoulli";
}

namespace {
/// Consecutive nodes of a module.
struct Run {
  std::string module;
  std::vector<const onnx::NodeProto *> nodes;
};
} // namespace

/// Returns the only element, or "".
static std::string onlyOf(const std::set<std::string> &names) {
  return names.size() == 1 ? *names.begin() : "";
}

std::map<std::string, std::string>
frit::findDropModules(const onnx::GraphProto &graph) {
  std::vector<Run> runs;
  std::set<std::string> constants;
  std::map<std::string, const onnx::NodeProto *> makers;
  for (const auto &weight : graph.initializer())
    constants.insert(weight.name());
  for (const onnx::NodeProto &node : graph.node()) {
    for (const std::string &output : node.output())
      makers[output] = &node;
    if (node.op_type() == "Constant")
      constants.insert(node.output().begin(), node.output().end());
    std::string module = dropModuleOf(node);
    if (!runs.empty() && runs.back().module == module)
      runs.back().nodes.push_back(&node);
    else
      runs.push_back({std::move(module), {&node}});
  }
  // A module that is named is skipped whole.
  std::map<std::string, std::string> found = findDropMasks(graph);
  for (const Run &run : runs) {
    if (run.module.empty() ||
        std::none_of(run.nodes.begin(), run.nodes.end(),
                     [](const auto *node) { return isRandom(*node); }))
      continue;
    std::set<const onnx::NodeProto *> own(run.nodes.begin(), run.nodes.end());
    auto isOwn = [&](const std::string &name) {
      auto maker = makers.find(name);
      return maker != makers.end() && own.contains(maker->second);
    };
    std::set<std::string> inputs, outputs;
    for (const onnx::NodeProto &node : graph.node())
      for (const std::string &name : node.input())
        if (own.contains(&node) && !name.empty() && !isOwn(name) &&
            !constants.contains(name))
          inputs.insert(name);
        else if (!own.contains(&node) && isOwn(name) &&
                 !constants.contains(name))
          outputs.insert(name);
    for (const auto &output : graph.output())
      if (isOwn(output.name()))
        outputs.insert(output.name());
    std::string input = onlyOf(inputs), output = onlyOf(outputs);
    if (!input.empty() && !output.empty())
      found[output] = input;
  }
  return found;
}
