//===- PasteMasks.cpp - The loop that pastes masks into an image ----------===//
//
// Mask R-CNN resizes each mask to its box and pastes it into an image of zeros,
// one after another in a Loop. The size of a box depends on the data, but the
// image's does not: every pixel of the image is a bilinear sample of the mask,
// or zero outside of the box. So the loop becomes two batched products with
// weights that the boxes decide:
//
//   images[n] = rows[n] · masks[n] · columns[n]^T
//
// The body is recognised by its whole formula, written as a text without the
// operators that only reshape scalars. Another formula is another loop.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/detection/PasteMasks.h"
#include "compiler/onnx/reader/Expr.h"

#include "dialects/nn/Fold.h"

#include <cstring>

using namespace mlir;
using namespace frit;
using namespace frit::importer;
using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

namespace {

/// Longest formula, as shared values are written repeatedly; that of pasting
/// has 1,000 characters.
constexpr size_t mostText = 4096;

/// Maximum nodes of a body; that of pasting has 180.
constexpr int mostNodes = 512;

/// Maximum scalars of a list, and lists of lists; those of pasting have 4
/// and 2.
constexpr size_t mostElements = 16;
constexpr unsigned mostLists = 8;

/// Writes the values of a Loop's body as formulas: "i" is the step, "$0", "$1",
/// … are tensors from outside, "size" is any size of a tensor, "?" is anything
/// else. part(x, axis, start, end) is a slice.
class Formula {
public:
  Formula(Node &loop, const GraphProto &body) : loop(loop), body(body) {
    for (const NodeProto &node : body.node())
      for (const std::string &output : node.output())
        producers[output] = &node;
    for (const TensorProto &tensor : body.initializer())
      constants[tensor.name()] = &tensor;
  }

  /// Returns the tensor that is added to those of former steps; empty if the
  /// body does something else.
  std::string added() {
    const NodeProto *join = producer(body.output(1).name(), "Concat");
    if (!join || join->input_size() != 2 || integer(*join, "axis", -1) != 0 ||
        join->input(0) != body.input(2).name())
      return "";
    const NodeProto *row = producer(join->input(1), "Unsqueeze");
    if (!row || row->input_size() != 2 || of(row->input(1)) != "0")
      return "";
    return of(row->input(0));
  }

  std::string of(const std::string &name) {
    // The text is "?" while it is written, if the nodes form a cycle.
    auto [found, isNew] = texts.try_emplace(name, "?");
    if (!isNew)
      return found->second;
    std::string text = write(name);
    if (text.size() > mostText)
      text = "?";
    return texts[name] = text;
  }

  /// The tensors from outside of the loop.
  SmallVector<Value> tensors;

private:
  const NodeProto *producer(const std::string &name, StringRef kind) const {
    const NodeProto *node = producers.lookup(name);
    return node && StringRef(node->op_type()) == kind ? node : nullptr;
  }

  static const AttributeProto *attribute(const NodeProto &node,
                                         StringRef name) {
    for (const AttributeProto &attribute : node.attribute())
      if (StringRef(attribute.name()) == name)
        return &attribute;
    return nullptr;
  }

  static int64_t integer(const NodeProto &node, StringRef name,
                         int64_t otherwise) {
    const AttributeProto *found = attribute(node, name);
    return found ? found->i() : otherwise;
  }

  static bool isString(const NodeProto &node, StringRef name, StringRef value) {
    const AttributeProto *found = attribute(node, name);
    return found && StringRef(found->s()) == value;
  }

  /// Writes a constant of one integer.
  static std::string number(const TensorProto &tensor) {
    int64_t value = 0;
    if (tensor.data_type() != TensorProto::INT64 ||
        llvm::any_of(tensor.dims(), [](int64_t size) { return size != 1; }))
      return "?";
    if (tensor.int64_data_size() == 1)
      value = tensor.int64_data(0);
    else if (tensor.raw_data().size() == sizeof(value))
      std::memcpy(&value, tensor.raw_data().data(), sizeof(value));
    else
      return "?";
    return std::to_string(value);
  }

  /// Returns whether a tensor has only zeros of type f32.
  static bool isZero(const TensorProto &tensor) {
    return tensor.data_type() == TensorProto::FLOAT &&
           llvm::all_of(tensor.float_data(), [](float x) { return x == 0; }) &&
           llvm::all_of(tensor.raw_data(), [](char byte) { return byte == 0; });
  }

  /// Returns the text of a tensor from outside of the loop: its value if that
  /// is one integer.
  std::string outside(const std::string &name) {
    if (name.empty())
      return "?";
    GraphProto only;
    only.add_output()->set_name(name);
    Results found = loop.inlineGraph(only, {}, "paste");
    if (loop.failed || !isTensor(found[0]))
      return "?";
    DenseElementsAttr known = nn::constantValue(found[0], 1);
    if (known && isa<IntegerType>(known.getElementType()))
      return std::to_string(known.getElementType().isInteger(1)
                                ? int64_t(known.getSplatValue<bool>())
                                : known.getSplatValue<APInt>().getSExtValue());
    tensors.push_back(found[0]);
    return "$" + std::to_string(tensors.size() - 1);
  }

  /// Writes the elements of a list of scalars; of long ones the first few.
  SmallVector<std::string> elements(const std::string &name,
                                    unsigned depth = 0) {
    const NodeProto *node = producers.lookup(name);
    StringRef kind = node ? StringRef(node->op_type()) : "";
    bool isList = kind == "Cast" || kind == "Concat";
    if (!isList || node->input_size() == 0)
      return {of(name)};
    if (depth == mostLists)
      return {"?"};
    SmallVector<std::string> all;
    for (const std::string &input : node->input())
      if (all.size() <= mostElements)
        all.append(elements(input, depth + 1));
    return all;
  }

  std::string write(const std::string &name) {
    if (name == body.input(0).name())
      return "i";
    if (const TensorProto *constant = constants.lookup(name))
      return number(*constant);
    const NodeProto *found = producers.lookup(name);
    if (!found)
      return name == body.input(1).name() || name == body.input(2).name()
                 ? "?"
                 : outside(name);
    const NodeProto &node = *found;
    StringRef kind = node.op_type();
    auto input = [&](int i) {
      return i < node.input_size() ? of(node.input(i)) : std::string();
    };
    if (kind == "Constant") {
      const AttributeProto *value = attribute(node, "value");
      return value ? number(value->t()) : "?";
    }
    if (node.input_size() == 0)
      return "?";
    // A mask may be expanded from one copy to one copy.
    if (kind == "Identity" || kind == "Unsqueeze" || kind == "Expand")
      return input(0);
    if (kind == "Cast") {
      bool isTensor = StringRef(input(0)).starts_with("part(");
      return integer(node, "to", 0) ==
                     (isTensor ? TensorProto::FLOAT : TensorProto::INT64)
                 ? input(0)
                 : "?";
    }
    if (kind == "Add" || kind == "Sub")
      return "(" + input(0) + (kind == "Add" ? "+" : "-") + input(1) + ")";
    if (kind == "ReduceMax" || kind == "ReduceMin") {
      auto all = elements(node.input(0));
      return all.size() == 2 ? (kind == "ReduceMax" ? "max(" : "min(") +
                                   all[0] + "," + all[1] + ")"
                             : "?";
    }
    if (kind == "Gather" && integer(node, "axis", 0) == 0)
      return producer(node.input(0), "Shape") ? "size"
                                              : input(0) + "[" + input(1) + "]";
    if (kind == "Slice" && node.input_size() >= 4) {
      if (producer(node.input(0), "Shape"))
        return "size";
      if (node.input_size() > 4 && input(4) != "1")
        return "?";
      if (input(1) == "0" &&
          input(2) == std::to_string(std::numeric_limits<int64_t>::max()))
        return input(0);
      return "part(" + input(0) + "," + input(3) + "," + input(1) + "," +
             input(2) + ")";
    }
    if (kind == "ConstantOfShape") {
      const AttributeProto *value = attribute(node, "value");
      auto shape = elements(node.input(0));
      return shape.size() == 2 && (!value || isZero(value->t()))
                 ? "zeros(" + shape[0] + "," + shape[1] + ")"
                 : "?";
    }
    if (kind == "Concat" && node.input_size() == 3)
      return "join" + std::to_string(integer(node, "axis", -1)) + "(" +
             input(0) + "," + input(1) + "," + input(2) + ")";
    if (kind == "Resize" && node.input_size() == 4 && node.input(1).empty() &&
        node.input(2).empty() && isString(node, "mode", "linear") &&
        !attribute(node, "axes") && !integer(node, "antialias", 0) &&
        (isString(node, "coordinate_transformation_mode", "half_pixel") ||
         !attribute(node, "coordinate_transformation_mode"))) {
      auto sizes = elements(node.input(3));
      return sizes.size() >= 2 && sizes.size() <= mostElements
                 ? "resize(" + input(0) + "," + sizes[sizes.size() - 2] + "," +
                       sizes.back() + ")"
                 : "?";
    }
    return "?";
  }

  Node &loop;
  const GraphProto &body;
  llvm::StringMap<const NodeProto *> producers;
  llvm::StringMap<const TensorProto *> constants;
  llvm::StringMap<std::string> texts;
};

/// Returns the number after `before` in a text; none if there is none.
std::optional<int64_t> numberAfter(StringRef text, StringRef before) {
  size_t at = text.find(before);
  int64_t number;
  if (at == StringRef::npos ||
      text.drop_front(at + before.size()).consumeInteger(10, number))
    return std::nullopt;
  return number;
}

/// Returns the formula of pasting `masks` into images of `height` times
/// `width`. Boxes have the columns left, top, right, bottom, and include the
/// last ones.
std::string pasting(const std::string &masks, const std::string &boxes,
                    int64_t height, int64_t width) {
  auto edge = [&](int i) { return boxes + "[i][" + std::to_string(i) + "]"; };
  auto first = [&](int i) { return "max(" + edge(i) + ",0)"; };
  auto end = [&](int i) {
    return "min((" + edge(i + 2) + "+1)," + std::to_string(i ? height : width) +
           ")";
  };
  auto length = [&](int i) {
    return "max(((" + edge(i + 2) + "-" + edge(i) + ")+1),1)";
  };
  auto part = [&](const std::string &x, int axis, int i) {
    return "part(" + x + "," + std::to_string(axis) + ",(" + first(i) + "-" +
           edge(i) + "),(" + end(i) + "-" + edge(i) + "))";
  };
  std::string image = part(part("resize(" + masks + "[i][0]," + length(1) +
                                    "," + length(0) + ")[0][0]",
                                0, 1),
                           1, 0);
  std::string h = std::to_string(height), w = std::to_string(width);
  image = "part(join0(zeros(" + first(1) + ",size)," + image + ",zeros((" + h +
          "-" + end(1) + "),size)),0,0," + h + ")";
  return "part(join1(zeros(size," + first(0) + ")," + image + ",zeros(size,(" +
         w + "-" + end(0) + "))),1,0," + w + ")";
}

/// Returns the weights of a mask's `count` elements in each of the `length`
/// pixels of the image along an axis, one row per pixel. A box has the pixels
/// from `low` to `high`.
Expr weighPixels(Expr low, Expr high, int64_t count, int64_t length) {
  Node &node = *low.node;
  Type f32 = node.builder().getF32Type(), i64 = node.builder().getI64Type();
  Expr pixel = iota(node, i64, {1, length, 1}, 1);
  Expr from = low.max(low.number(0)),
       end = (high + 1.0).min(high.number(static_cast<double>(length)));
  Expr inside = (pixel >= from) & (pixel < end);
  // As Resize with half_pixel.
  Expr pixels = (high - low + 1.0).max(low.number(1)).to(f32);
  auto elements = static_cast<double>(count);
  Expr place =
      ((pixel - low).to(f32) + 0.5) * (pixels.number(elements) / pixels) - 0.5;
  place = place.clamp(0, elements - 1);
  Expr distance = place - iota(node, f32, {1, 1, count}, 2);
  Expr weight = 1.0 - distance.apply<nn::AbsOp>();
  return inside.select(weight.max(weight.number(0)), weight.number(0));
}

} // namespace

std::optional<Results> frit::importer::pasteMasks(Node &loop,
                                                  const GraphProto &body) {
  if (body.input_size() != 3 || body.output_size() != 2 || !loop.has(0) ||
      loop.inputs().size() != 3 || !isTensor(loop.input(2)) ||
      nn::tensorType(loop.input(2)).getNumElements() != 0)
    return std::nullopt;
  auto isResize = [](const NodeProto &node) {
    return StringRef(node.op_type()) == "Resize";
  };
  if (body.node_size() > mostNodes ||
      llvm::count_if(body.node(), isResize) != 1)
    return std::nullopt;
  const std::string &goesOn = body.output(0).name();
  if (goesOn != body.input(1).name() && Formula(loop, body).of(goesOn) != "1")
    return std::nullopt;
  DenseElementsAttr begins =
      loop.has(1) ? nn::constantValue(loop.input(1)) : DenseElementsAttr();
  if (loop.has(1) &&
      (!begins || begins.getNumElements() != 1 ||
       !begins.getElementType().isInteger(1) || !begins.getSplatValue<bool>()))
    return std::nullopt;
  Formula formula(loop, body);
  std::string text = formula.added();
  if (formula.tensors.size() != 2)
    return std::nullopt;
  bool masksFirst = StringRef(text).contains("resize($0[i][0],");
  std::string masksName = masksFirst ? "$0" : "$1",
              boxesName = masksFirst ? "$1" : "$0";
  auto width = numberAfter(text, "min((" + boxesName + "[i][2]+1),"),
       height = numberAfter(text, "min((" + boxesName + "[i][3]+1),");
  if (!width || !height || *width < 1 || *height < 1 ||
      text != pasting(masksName, boxesName, *height, *width))
    return std::nullopt;
  Value givenMasks = formula.tensors[masksFirst ? 0 : 1],
        givenBoxes = formula.tensors[masksFirst ? 1 : 0];
  DataShape shape = loop.dataShape(givenMasks);
  auto steps = loop.dataSizes().elementsOf(loop.input(0));
  Expr masks = {loop, unmarked(givenMasks)},
       boxes = {loop, unmarked(givenBoxes)};
  if (!steps || steps->size() != 1 || shape.size() != 4 ||
      !(steps->front() == shape[0]) ||
      !isStatic(ArrayRef(shape).drop_front()) || masks.size(1) != 1 ||
      masks.size(2) < 2 || masks.size(3) < 2 || !masks.element().isF32() ||
      boxes.shape() != SmallVector<int64_t>{masks.size(0), 4} ||
      !boxes.element().isInteger(64))
    return std::nullopt;

  int64_t count = masks.size(0);
  auto column = [&](int64_t i) {
    return boxes.slice(1, i, 1).reshape({count, 1, 1});
  };
  Expr columns = weighPixels(column(0), column(2), masks.size(3), *width),
       rows = weighPixels(column(1), column(3), masks.size(2), *height);
  Expr images =
      rows.matmul(masks.reshape({count, masks.size(2), masks.size(3)}))
          .matmul(columns.transpose({0, 2, 1}));
  return Results{loop.marked(images, {shape[0], *height, *width})};
}
