//===- ExportOnnx.cpp - Trained weights in a copy of the model ------------===//

#include "compiler/onnx/onnx.pb.h"
#include "compiler/support/OutputFile.h"
#include "tools/frit-train/weights/Export.h"
#include "tools/frit-train/weights/InferenceMode.h"
#include "tools/support/Files.h"
#include "tools/support/Mapped.h"

#include <charconv>
#include <map>

using namespace frit::train;

/// Maximum size of a protobuf message.
static constexpr uint64_t kMostBytes = 0x7fffffff;

/// Returns the frit_dtype of an ONNX float type; 0 for others.
static int floatType(int type) {
  switch (type) {
  case onnx::TensorProto::FLOAT:
    return FRIT_F32;
  case onnx::TensorProto::DOUBLE:
    return FRIT_F64;
  case onnx::TensorProto::FLOAT16:
    return FRIT_F16;
  case onnx::TensorProto::BFLOAT16:
    return FRIT_BF16;
  default:
    return 0;
  }
}

namespace {
/// Where a tensor's elements are in a file beside the model.
struct ExternalPlace {
  std::string file;
  uint64_t offset = 0, length = UINT64_MAX; ///< the latter: to the file's end
};
} // namespace

static ExternalPlace placeOf(const onnx::TensorProto &tensor) {
  ExternalPlace place;
  for (const auto &entry : tensor.external_data()) {
    const std::string &value = entry.value();
    const char *end = value.data() + value.size();
    if (entry.key() == "location")
      place.file = value;
    else if (entry.key() == "offset")
      std::from_chars(value.data(), end, place.offset);
    else if (entry.key() == "length")
      std::from_chars(value.data(), end, place.length);
  }
  return place;
}

namespace {
/// Replaces the weights of a model.
class Exporter {
public:
  /// Finds the weights of the model, and replaces them if `writes`.
  Exporter(const std::string &original, const std::vector<TensorView> &weights,
           bool writes)
      : folder(original.substr(0, original.rfind('/') + 1)), writes(writes) {
    for (const TensorView &weight : weights)
      left.emplace(weight.name, &weight);
  }

  /// Visits the initializers of a graph and of the graphs in its nodes.
  Fault visit(onnx::GraphProto &graph) {
    for (onnx::TensorProto &tensor : *graph.mutable_initializer())
      if (Fault fault = visit(tensor, tensor.name()))
        return fault;
    for (onnx::NodeProto &node : *graph.mutable_node())
      if (Fault fault = visit(node))
        return fault;
    return {};
  }

  /// Turns copies of initializers into initializers of their own if they were
  /// trained separately. Exporters store equal weights once and copy them by
  /// Identity.
  void separateCopies(onnx::GraphProto &graph) {
    std::map<std::string, const onnx::TensorProto *> initializers;
    for (const onnx::TensorProto &tensor : graph.initializer())
      initializers.emplace(tensor.name(), &tensor);
    int kept = 0;
    for (int i = 0; i < graph.node_size(); ++i) {
      const onnx::NodeProto &node = graph.node(i);
      bool isCopy = node.op_type() == "Identity" && node.input_size() == 1 &&
                    node.output_size() == 1 && left.contains(node.output(0));
      auto source =
          isCopy ? initializers.find(node.input(0)) : initializers.end();
      if (source == initializers.end()) {
        graph.mutable_node()->SwapElements(i, kept++);
        continue;
      }
      // Type and shape are the original's; the elements are set later.
      onnx::TensorProto *own = graph.add_initializer();
      own->set_name(node.output(0));
      own->set_data_type(source->second->data_type());
      *own->mutable_dims() = source->second->dims();
    }
    graph.mutable_node()->DeleteSubrange(kept, graph.node_size() - kept);
  }

  /// Returns the weights for which no initializer was found.
  const std::map<std::string, const TensorView *> &missing() const {
    return left;
  }

private:
  Fault visit(onnx::NodeProto &node) {
    bool isConstant = node.op_type() == "Constant" && node.output_size() == 1;
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_t())
        if (Fault fault = visit(*attribute.mutable_t(),
                                isConstant ? node.output(0) : std::string()))
          return fault;
      if (attribute.has_g())
        if (Fault fault = visit(*attribute.mutable_g()))
          return fault;
      for (onnx::GraphProto &graph : *attribute.mutable_graphs())
        if (Fault fault = visit(graph))
          return fault;
    }
    return {};
  }

  Fault visit(onnx::TensorProto &tensor, const std::string &name) {
    bool isExternal = tensor.data_location() == onnx::TensorProto::EXTERNAL;
    if (isExternal)
      frit::protectInput(folder + placeOf(tensor).file);
    if (auto found = left.find(name); found != left.end()) {
      if (Fault fault = replace(tensor, *found->second))
        return fault;
      left.erase(found);
    } else if (writes && isExternal) {
      if (Fault fault = embed(tensor))
        return fault;
    }
    bytes += tensor.raw_data().size();
    if (bytes > kMostBytes)
      return Fault("its weights take more than the 2 GiB of one ONNX file; "
                   "export a .safetensors file");
    return {};
  }

  Fault replace(onnx::TensorProto &tensor, const TensorView &weight) const {
    std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
    int type = floatType(tensor.data_type());
    if (dims != weight.dims || !type || weight.dtype != FRIT_F32)
      return Fault("its initializer '" + weight.name + "' is " +
                   formatType(type ? frit_dtype(type) : frit_dtype(0),
                              uint32_t(dims.size()), dims.data()) +
                   ", and the trained weight is " + weight.type() +
                   "; is it the model that was compiled?");
    if (!writes)
      return {};
    Tensor converted;
    converted.dtype = frit_dtype(type);
    converted.dims = dims;
    converted.data = Storage(*byteSize(converted.dtype, dims));
    for (uint64_t i = 0, count = converted.count(); i < count; ++i) {
      float value;
      memcpy(&value, weight.data.data() + i * sizeof value, sizeof value);
      converted.set(i, value);
    }
    clearData(tensor);
    tensor.set_raw_data(converted.data.data(), converted.data.size());
    return {};
  }

  static void clearData(onnx::TensorProto &tensor) {
    tensor.clear_float_data();
    tensor.clear_double_data();
    tensor.clear_int32_data();
    tensor.clear_external_data();
    tensor.clear_data_location();
  }

  /// Reads a tensor's elements from its external file.
  Fault embed(onnx::TensorProto &tensor) {
    auto [location, offset, length] = placeOf(tensor);
    std::string place = "initializer '" + tensor.name() + "'";
    auto [file, isNew] = files.try_emplace(location);
    if (isNew)
      if (Fault fault =
              mapFile(folder + location, file->second.data, file->second.owner))
        return fault.within(place);
    Bytes data = file->second.data;
    if (offset <= data.size() && length == UINT64_MAX)
      length = data.size() - offset;
    if (offset > data.size() || length > data.size() - offset ||
        length > kMostBytes)
      return Fault(place + " reaches past the end of '" + folder + location +
                   "'");
    clearData(tensor);
    tensor.set_raw_data(data.data() + offset, length);
    return {};
  }

  std::string folder;
  bool writes;
  std::map<std::string, const TensorView *> left;
  std::map<std::string, TensorView> files;
  uint64_t bytes = 0;
};
} // namespace

Fault frit::train::exportOnnx(const std::string &path,
                              const std::string &original,
                              const std::vector<TensorView> &weights) {
  Bytes bytes;
  std::shared_ptr<const void> owner;
  if (Fault fault = mapFile(original, bytes, owner))
    return fault;
  onnx::ModelProto model;
  if (bytes.size() > kMostBytes ||
      !model.ParseFromArray(bytes.data(), int(bytes.size())) ||
      !model.has_graph())
    return Fault("'" + original + "' is no ONNX model, or is damaged");
  Exporter exporter(original, weights, !path.empty());
  exporter.separateCopies(*model.mutable_graph());
  Fault fault = exporter.visit(*model.mutable_graph());
  if (!fault && !exporter.missing().empty())
    fault =
        Fault("it has no initializer '" + exporter.missing().begin()->first +
              "'; is it the model that was compiled?");
  if (fault)
    return fault.within("cannot export to a copy of '" + original + "'");
  if (path.empty())
    return {};
  setInferenceMode(model);
  std::string text;
  if (!model.SerializeToString(&text))
    return Fault("cannot write '" + path +
                 "': it would exceed the 2 GiB of one ONNX file; export a "
                 ".safetensors file");
  return writingFault(path, writeFile(path, text));
}
