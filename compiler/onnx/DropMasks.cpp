//===- DropMasks.cpp - Dropout without a module's name --------------------===//

#include "compiler/onnx/DropMasks.h"

#include <cmath>
#include <cstring>
#include <optional>

using namespace frit;

/// Returns the only element of a tensor of floats.
static std::optional<double> numberOf(const onnx::TensorProto &tensor) {
  for (int64_t size : tensor.dims())
    if (size != 1)
      return std::nullopt;
  bool isDouble = tensor.data_type() == onnx::TensorProto::DOUBLE;
  if (!isDouble && tensor.data_type() != onnx::TensorProto::FLOAT)
    return std::nullopt;
  if (tensor.float_data_size() == 1)
    return tensor.float_data(0);
  if (tensor.double_data_size() == 1)
    return tensor.double_data(0);
  const std::string &bytes = tensor.raw_data();
  float narrow;
  double wide;
  if (isDouble && bytes.size() == sizeof wide)
    return memcpy(&wide, bytes.data(), sizeof wide), wide;
  if (!isDouble && bytes.size() == sizeof narrow)
    return memcpy(&narrow, bytes.data(), sizeof narrow), narrow;
  return std::nullopt;
}

static float attribute(const onnx::NodeProto &node, const char *name,
                       float otherwise) {
  for (const auto &attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.f();
  return otherwise;
}

/// Returns whether a number is 1 but for the rounding of keep rates.
static bool isOne(double x) { return std::abs(x - 1) < 1e-4; }

namespace {
/// A random value that is 0 or `scale`; `scale` with probability `keep`.
struct Mask {
  double keep, scale;
};

class MaskFinder {
public:
  explicit MaskFinder(const onnx::GraphProto &graph) {
    for (const auto &weight : graph.initializer())
      if (auto number = numberOf(weight))
        numbers[weight.name()] = *number;
    // An initializer with an input of its name is only that input's default.
    for (const auto &input : graph.input())
      numbers.erase(input.name());
    for (const onnx::NodeProto &node : graph.node()) {
      for (const std::string &output : node.output())
        makers[output] = &node;
      if (node.op_type() != "Constant" || node.output_size() != 1)
        continue;
      for (const auto &value : node.attribute())
        if (value.name() == "value_float")
          numbers[node.output(0)] = value.f();
        else if (auto number = numberOf(value.t());
                 number && value.name() == "value")
          numbers[node.output(0)] = *number;
    }
  }

  /// Returns the value that a node passes through a mask; "" if it is none.
  std::string passedBy(const onnx::NodeProto &node) const {
    // (x · mask) / keep.
    if (node.op_type() == "Div")
      if (const onnx::NodeProto *product = maker(node, 0, "Mul"))
        if (auto divisor = number(node, 1))
          return passedBy(*product, 1 / *divisor);
    return node.op_type() == "Mul" ? passedBy(node, 1) : "";
  }

private:
  /// Does the same for a product whose result is multiplied by `scale`.
  std::string passedBy(const onnx::NodeProto &product, double scale) const {
    for (int side : {0, 1}) {
      auto mask = maskOf(name(product, side));
      if (!mask)
        continue;
      const std::string &other = name(product, 1 - side);
      double mean = mask->keep * mask->scale * scale;
      if (isOne(mean))
        return other;
      // (x / keep) · mask.
      if (auto scaled = scaledOf(other); scaled && isOne(mean * scaled->second))
        return scaled->first;
    }
    return "";
  }

  /// Returns the factors of a value that is another times a constant.
  std::optional<std::pair<std::string, double>>
  scaledOf(const std::string &value) const {
    auto found = makers.find(value);
    if (found == makers.end())
      return std::nullopt;
    const onnx::NodeProto &node = *found->second;
    if (node.op_type() == "Div")
      if (auto divisor = number(node, 1))
        return std::pair(name(node, 0), 1 / *divisor);
    if (node.op_type() == "Mul")
      for (int side : {0, 1})
        if (auto factor = number(node, side))
          return std::pair(name(node, 1 - side), *factor);
    return std::nullopt;
  }

  std::optional<Mask> maskOf(const std::string &value) const {
    auto found = makers.find(value);
    if (found == makers.end())
      return std::nullopt;
    const onnx::NodeProto &node = *found->second;
    const std::string &type = node.op_type();
    if (auto scaled = scaledOf(value)) {
      auto mask = maskOf(scaled->first);
      if (mask)
        mask->scale *= scaled->second;
      return mask;
    }
    if (type == "Cast" || type == "CastLike" || type == "Identity")
      return maskOf(name(node, 0));
    if (type == "Bernoulli")
      return maskWith(number(node, 0));
    if (type == "Less" && isUniform(name(node, 0)))
      return maskWith(number(node, 1));
    if (type == "Greater" && isUniform(name(node, 1)))
      return maskWith(number(node, 0));
    if (type != "Floor")
      return std::nullopt;
    if (const onnx::NodeProto *sum = maker(node, 0, "Add"))
      for (int side : {0, 1})
        if (isUniform(name(*sum, side)))
          return maskWith(number(*sum, 1 - side));
    return std::nullopt;
  }

  static std::optional<Mask> maskWith(std::optional<double> keep) {
    if (!keep || !(*keep > 0) || !(*keep < 1))
      return std::nullopt;
    return Mask{*keep, 1};
  }

  /// Returns whether a value is drawn from [0, 1).
  bool isUniform(const std::string &value) const {
    auto found = makers.find(value);
    return found != makers.end() &&
           found->second->op_type().starts_with("RandomUniform") &&
           attribute(*found->second, "low", 0) == 0 &&
           attribute(*found->second, "high", 1) == 1;
  }

  static const std::string &name(const onnx::NodeProto &node, int input) {
    static const std::string none;
    return input < node.input_size() ? node.input(input) : none;
  }
  std::optional<double> number(const onnx::NodeProto &node, int input) const {
    auto found = numbers.find(name(node, input));
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  }
  const onnx::NodeProto *maker(const onnx::NodeProto &node, int input,
                               const char *type) const {
    auto found = makers.find(name(node, input));
    bool isFound = found != makers.end() && found->second->op_type() == type;
    return isFound ? found->second : nullptr;
  }

  std::map<std::string, double> numbers; ///< constants of one element
  std::map<std::string, const onnx::NodeProto *> makers;
};
} // namespace

std::map<std::string, std::string>
frit::findDropMasks(const onnx::GraphProto &graph) {
  std::map<std::string, std::string> found;
  bool draws = false;
  for (const onnx::NodeProto &node : graph.node())
    draws |= node.op_type().starts_with("RandomUniform") ||
             node.op_type() == "Bernoulli";
  if (!draws)
    return found;
  MaskFinder finder(graph);
  for (const onnx::NodeProto &node : graph.node())
    if (node.output_size() == 1)
      if (std::string value = finder.passedBy(node); !value.empty())
        found[node.output(0)] = value;
  return found;
}
