//===- Shrink.cpp - Shrink sizes and simplify numbers ---------------------===//

#include "tools/frit-reduce/Shrink.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <set>

using namespace frit::reduce;
using llvm::function_ref;

//===----------------------------------------------------------------------===//
// Everything of a model
//===----------------------------------------------------------------------===//

/// Visits the graph and all subgraphs.
static void forEachGraph(onnx::GraphProto &graph,
                         function_ref<void(onnx::GraphProto &)> visit) {
  visit(graph);
  for (onnx::NodeProto &node : *graph.mutable_node())
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_g())
        forEachGraph(*attribute.mutable_g(), visit);
      for (onnx::GraphProto &inner : *attribute.mutable_graphs())
        forEachGraph(inner, visit);
    }
}

static void forEachAttribute(onnx::ModelProto &model,
                             function_ref<void(onnx::AttributeProto &)> visit) {
  auto visitNodes = [&](auto &nodes) {
    for (onnx::NodeProto &node : nodes)
      for (onnx::AttributeProto &attribute : *node.mutable_attribute())
        visit(attribute);
  };
  forEachGraph(*model.mutable_graph(), [&](onnx::GraphProto &graph) {
    visitNodes(*graph.mutable_node());
  });
  for (onnx::FunctionProto &function : *model.mutable_functions())
    visitNodes(*function.mutable_node());
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

std::vector<int64_t> frit::reduce::sizesOf(const onnx::ModelProto &model) {
  std::set<int64_t, std::greater<>> sizes;
  for (const onnx::ValueInfoProto &input : model.graph().input())
    for (const auto &dim : input.type().tensor_type().shape().dim())
      sizes.insert(dim.dim_value());
  for (const onnx::TensorProto &weight : model.graph().initializer())
    sizes.insert(weight.dims().begin(), weight.dims().end());
  std::vector<int64_t> result;
  llvm::copy_if(sizes, std::back_inserter(result),
                [](int64_t size) { return size > 1; });
  return result;
}

static void resizeType(onnx::TypeProto &type, const NewSize &newSize) {
  if (type.has_tensor_type() && type.tensor_type().has_shape())
    for (auto &dim :
         *type.mutable_tensor_type()->mutable_shape()->mutable_dim())
      if (dim.has_dim_value())
        dim.set_dim_value(newSize(dim.dim_value()));
}

/// Keeps the first `to` of each row's `from` pieces of `length` elements.
template <typename Field>
static void cutField(Field &field, size_t length, size_t from, size_t to) {
  int count = 0;
  for (int i = 0; i < field.size(); ++i)
    if (size_t(i) / length % from < to)
      field.SwapElements(count++, i);
  field.Truncate(count);
}

static void cutField(std::string &bytes, size_t length, size_t from,
                     size_t to) {
  std::string kept;
  for (size_t begin = 0; begin < bytes.size(); begin += from * length)
    kept.append(bytes, begin, to * length);
  bytes = std::move(kept);
}

/// Keeps the first `to` elements along dimension `dim`.
static bool cutTensor(onnx::TensorProto &tensor, int dim, int64_t to) {
  size_t count = 1, inner = 1;
  for (auto [d, size] : llvm::enumerate(tensor.dims())) {
    count *= size;
    inner *= int(d) > dim ? size : 1;
  }
  size_t from = tensor.dims(dim);
  // Types below a byte and strings are not cut.
  auto cut = [&](auto &field, size_t have) {
    if (have == 0)
      return true;
    if (!count || have % count)
      return false;
    cutField(field, have / count * inner, from, to);
    return true;
  };
  if ((tensor.has_raw_data() &&
       !cut(*tensor.mutable_raw_data(), tensor.raw_data().size())) ||
      !cut(*tensor.mutable_float_data(), tensor.float_data_size()) ||
      !cut(*tensor.mutable_double_data(), tensor.double_data_size()) ||
      !cut(*tensor.mutable_int32_data(), tensor.int32_data_size()) ||
      !cut(*tensor.mutable_int64_data(), tensor.int64_data_size()) ||
      !cut(*tensor.mutable_uint64_data(), tensor.uint64_data_size()) ||
      tensor.string_data_size())
    return false;
  tensor.set_dims(dim, to);
  return true;
}

static bool resizeTensor(onnx::TensorProto &tensor, const NewSize &newSize) {
  constexpr int mostSizes = 8;
  bool isWide = tensor.data_type() == onnx::TensorProto::INT64;
  if (isWide && tensor.dims_size() <= 1) {
    std::string raw = tensor.raw_data();
    if (raw.size() <= mostSizes * sizeof(int64_t))
      for (size_t at = 0; at + sizeof(int64_t) <= raw.size();
           at += sizeof(int64_t)) {
        int64_t size;
        memcpy(&size, raw.data() + at, sizeof size);
        size = newSize(size);
        memcpy(raw.data() + at, &size, sizeof size);
      }
    if (tensor.has_raw_data())
      tensor.set_raw_data(raw);
    if (tensor.int64_data_size() <= mostSizes)
      for (auto &size : *tensor.mutable_int64_data())
        size = newSize(size);
  }
  for (int dim = 0; dim < tensor.dims_size(); ++dim)
    if (int64_t size = newSize(tensor.dims(dim));
        size != tensor.dims(dim) && !cutTensor(tensor, dim, size))
      return false;
  return true;
}

bool frit::reduce::resize(onnx::ModelProto &model, Knowledge &known,
                          const NewSize &newSize) {
  bool isDone = true;
  forEachGraph(*model.mutable_graph(), [&](onnx::GraphProto &graph) {
    for (auto *values : {graph.mutable_input(), graph.mutable_output(),
                         graph.mutable_value_info()})
      for (onnx::ValueInfoProto &value : *values)
        resizeType(*value.mutable_type(), newSize);
    for (onnx::TensorProto &weight : *graph.mutable_initializer())
      isDone &= resizeTensor(weight, newSize);
  });
  forEachAttribute(model, [&](onnx::AttributeProto &attribute) {
    if (attribute.has_t())
      isDone &= resizeTensor(*attribute.mutable_t(), newSize);
    if (!newSize.inAttributes)
      return;
    if (attribute.type() == onnx::AttributeProto::INT)
      attribute.set_i(newSize(attribute.i()));
    for (auto &size : *attribute.mutable_ints())
      size = newSize(size);
  });
  for (auto &entry : known.types)
    resizeType(entry.second, newSize);
  for (auto &entry : known.constants)
    isDone &= resizeTensor(entry.second, newSize);
  // Output shapes change; importing infers them.
  for (onnx::ValueInfoProto &output : *model.mutable_graph()->mutable_output())
    if (output.type().has_tensor_type())
      output.mutable_type()->mutable_tensor_type()->clear_shape();
  return isDone;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Calls `visit` with each number of the attributes (int64_t or float) and
/// stores the result.
template <typename Visit>
static void visitNumbers(onnx::ModelProto &model, Visit visit) {
  forEachAttribute(model, [&](onnx::AttributeProto &attribute) {
    if (attribute.type() == onnx::AttributeProto::INT)
      attribute.set_i(visit(int64_t(attribute.i())));
    if (attribute.type() == onnx::AttributeProto::FLOAT)
      attribute.set_f(visit(attribute.f()));
    for (auto &number : *attribute.mutable_ints())
      number = visit(int64_t(number));
    for (float &number : *attribute.mutable_floats())
      number = visit(number);
  });
}

unsigned frit::reduce::countNumbers(const onnx::ModelProto &model) {
  onnx::ModelProto copy = model;
  unsigned count = 0;
  visitNumbers(copy, [&](auto number) { return ++count, number; });
  return count;
}

bool frit::reduce::simplifyNumber(onnx::ModelProto &model, unsigned index,
                                  unsigned way) {
  unsigned at = 0;
  bool isSimpler = false;
  visitNumbers(model, [&](auto number) {
    if (at++ != index)
      return number;
    using Number = decltype(number);
    Number half = std::trunc(number / 2);
    Number simple = way == 0 ? 0 : way == 1 ? 1 : half;
    // NaN is not simple.
    isSimpler = std::abs(simple) < std::abs(number) || !(number == number);
    return isSimpler ? simple : number;
  });
  return isSimpler;
}
