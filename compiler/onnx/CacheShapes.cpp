//===- CacheShapes.cpp - Sizes of inputs of decoders with caches ----------===//
//
//   input_ids            batch × sequence            tokens
//   position_ids         batch × sequence            tokens
//   attention_mask       batch × anything else       context + tokens
//   past_key_values.0.key  batch × 8 × past × 64     context
//
//===----------------------------------------------------------------------===//

#include "compiler/import/CacheShapes.h"

#include "compiler/onnx/GroupQueryCaches.h"
#include "compiler/onnx/onnx.pb.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <limits>
#include <optional>

using namespace frit;
using onnx::TensorProto;
using onnx::TensorShapeProto;
using Shapes = llvm::StringMap<llvm::SmallVector<int64_t>>;

static bool isFloat(int64_t type) {
  return type == TensorProto::FLOAT || type == TensorProto::FLOAT16 ||
         type == TensorProto::BFLOAT16;
}

static bool isOpen(const TensorShapeProto::Dimension &dim) {
  return !dim.has_dim_value();
}

/// Returns the dimension of a cache's entries; -1 if it is no cache, -2 if
/// several dimensions may be it. With `headSize`, the last is none.
static int entriesOf(const onnx::TypeProto::Tensor &type, int64_t headSize) {
  int found = -1;
  const int rank = type.shape().dim_size();
  if (!isFloat(type.elem_type()) || rank < 3)
    return -1;
  for (int i = 1; i < (headSize ? rank - 1 : rank); ++i)
    if (isOpen(type.shape().dim(i)))
      found = found == -1 ? i : -2;
  return found;
}

/// Parses a file; none if it is no model.
static std::optional<onnx::ModelProto> parse(llvm::StringRef file) {
  std::optional<onnx::ModelProto> model(std::in_place);
  google::protobuf::LogSilencer quiet;
  if (file.size() > size_t(std::numeric_limits<int>::max()) ||
      !model->ParseFromArray(file.data(), static_cast<int>(file.size())))
    model.reset();
  return model;
}

/// Returns a model's inputs that are no weights and no constants.
static llvm::SmallVector<const onnx::ValueInfoProto *>
inputsOf(const onnx::ModelProto &model,
         const llvm::StringMap<std::string> &constants = {}) {
  llvm::StringSet<> weights;
  for (const TensorProto &weight : model.graph().initializer())
    weights.insert(weight.name());
  llvm::SmallVector<const onnx::ValueInfoProto *> inputs;
  for (const onnx::ValueInfoProto &input : model.graph().input())
    if (!weights.contains(input.name()) && !constants.contains(input.name()) &&
        input.type().tensor_type().has_shape())
      inputs.push_back(&input);
  return inputs;
}

static bool isOfSource(const onnx::ValueInfoProto &input) {
  return llvm::StringRef(input.name()).contains("encoder");
}

static bool chooses(const onnx::ValueInfoProto &input) {
  return input.name() == kCacheBranch &&
         input.type().tensor_type().elem_type() == TensorProto::BOOL;
}

bool frit::hasCacheBranch(llvm::StringRef file) {
  auto model = parse(file);
  return model && llvm::any_of(model->graph().input(), chooses);
}

std::optional<ModelPart> frit::partOf(llvm::StringRef file) {
  auto model = parse(file);
  if (!model || !model->has_graph())
    return std::nullopt;
  bool isMerged = false, hasCaches = false, hasHidden = false,
       takesSource = false, takesCaches = false;
  auto inputs = inputsOf(*model);
  for (const onnx::ValueInfoProto *input : inputs) {
    const auto &type = input->type().tensor_type();
    bool isFloats = isFloat(type.elem_type());
    bool isCache = isFloats && type.shape().dim_size() == 4;
    isMerged |= chooses(*input);
    takesSource |= isOfSource(*input);
    takesCaches |= isCache;
    hasCaches |= isCache && isOfSource(*input);
    hasHidden |= isFloats && type.shape().dim_size() == 3 && isOfSource(*input);
  }
  if (isMerged && takesSource)
    return ModelPart::bothDecoders;
  if (hasCaches || (hasHidden && takesCaches))
    return ModelPart::nextDecoder;
  if (hasHidden)
    return ModelPart::firstDecoder;
  const auto &outputs = model->graph().output();
  bool isEncoder = !takesSource && !takesCaches && !inputs.empty() &&
                   inputs.size() <= 2 && outputs.size() >= 1 &&
                   outputs[0].type().tensor_type().shape().dim_size() == 3;
  return isEncoder ? ModelPart::encoder : ModelPart::other;
}

bool frit::readsSound(llvm::StringRef file) {
  auto model = parse(file);
  return model &&
         llvm::any_of(inputsOf(*model), [](const onnx::ValueInfoProto *input) {
           return isFloat(input->type().tensor_type().elem_type());
         });
}

/// Returns whether an input may be a decoder's tokens.
static bool areTokens(const onnx::ValueInfoProto &input) {
  const auto &type = input.type().tensor_type();
  llvm::StringRef name = input.name();
  return type.shape().dim_size() == 2 && !isFloat(type.elem_type()) &&
         !name.contains("mask") && !name.contains("position");
}

std::optional<int64_t> frit::fixedTokens(llvm::StringRef file) {
  auto model = parse(file);
  if (model)
    for (const onnx::ValueInfoProto *input : inputsOf(*model))
      if (const auto &shape = input->type().tensor_type().shape();
          areTokens(*input) && !isOpen(shape.dim(1)))
        return shape.dim(1).dim_value();
  return std::nullopt;
}

/// Returns a dimension of a type, if it is fixed.
static std::optional<int64_t> sizeOf(const onnx::ValueInfoProto &value,
                                     int at) {
  const auto &shape = value.type().tensor_type().shape();
  if (at < 0)
    at += shape.dim_size();
  if (at < 0 || at >= shape.dim_size() || isOpen(shape.dim(at)))
    return std::nullopt;
  return shape.dim(at).dim_value();
}

/// Returns the heads that all attention operators of ONNX Runtime have.
static std::optional<int64_t> headsOf(const onnx::GraphProto &graph) {
  std::optional<int64_t> heads;
  for (const onnx::NodeProto &node : graph.node())
    if (node.op_type() == "GroupQueryAttention" ||
        node.op_type() == "MultiHeadAttention")
      for (const onnx::AttributeProto &attribute : node.attribute())
        if (attribute.name() == "num_heads") {
          if (heads && *heads != attribute.i())
            return std::nullopt;
          heads = attribute.i();
        }
  return heads;
}

DecoderSizes frit::findDecoderSizes(llvm::StringRef file,
                                    const DecoderNames &names) {
  DecoderSizes sizes;
  auto model = parse(file);
  if (!model)
    return sizes;
  auto [before, after] = llvm::StringRef(names.keys).split("%d");
  // Layers without attention keep what has other names.
  bool hasOthers = false;
  int64_t layers = 0;
  for (const onnx::ValueInfoProto *input : inputsOf(*model)) {
    llvm::StringRef name = input->name();
    bool isPast = name.contains("past");
    uint64_t layer = 0;
    if (!name.consume_front(before) || !name.consume_back(after) ||
        name.getAsInteger(10, layer)) {
      hasOthers |= isPast && !name.contains("value");
      continue;
    }
    ++layers;
    sizes.groups = sizeOf(*input, 1);
    sizes.headSize = sizeOf(*input, 3);
  }
  if (layers && !hasOthers)
    sizes.layers = layers;
  sizes.heads = headsOf(model->graph());
  for (const onnx::ValueInfoProto &output : model->graph().output())
    if (output.name() == names.logits)
      sizes.vocabulary = sizeOf(output, -1);
  return sizes;
}

llvm::Expected<Shapes> frit::findEncoderShapes(llvm::StringRef file,
                                               const EncoderCall &call) {
  Shapes shapes;
  auto model = parse(file);
  if (!model)
    return shapes;
  for (const onnx::ValueInfoProto *input : inputsOf(*model)) {
    const auto &type = input->type().tensor_type();
    auto &shape = shapes[input->name()];
    bool isSound = isFloat(type.elem_type());
    const int64_t given[] = {call.batch, isSound ? call.bins : call.places,
                             call.frames};
    for (int i = 0; i < type.shape().dim_size(); ++i) {
      const auto &dim = type.shape().dim(i);
      int64_t size = isOpen(dim) ? (i < 3 ? given[i] : 0) : dim.dim_value();
      if (!size)
        return llvm::createStringError(
            "input '" + input->name() + "': its dimension " + llvm::Twine(i) +
            " is open, and no config.json beside the file has num_mel_bins and "
            "max_source_positions; export it for sounds of one length");
      shape.push_back(size);
    }
  }
  return shapes;
}

/// Returns whether inputs and outputs may be caches of a fixed size: those of
/// floats with four dimensions, as many inputs as outputs, each of one shape
/// with its partner.
static bool hasFixedCaches(const onnx::ModelProto &model) {
  auto isCache = [](const onnx::ValueInfoProto &value) {
    const auto &type = value.type().tensor_type();
    return isFloat(type.elem_type()) && type.shape().dim_size() == 4;
  };
  llvm::SmallVector<const onnx::ValueInfoProto *> before, after;
  for (const onnx::ValueInfoProto *input : inputsOf(model))
    if (isCache(*input))
      before.push_back(input);
  for (const onnx::ValueInfoProto &output : model.graph().output())
    if (isCache(output))
      after.push_back(&output);
  if (before.empty() || before.size() != after.size())
    return false;
  for (auto [input, output] : llvm::zip_equal(before, after)) {
    const auto &taken = input->type().tensor_type().shape(),
               &given = output->type().tensor_type().shape();
    for (int i = 0; i < taken.dim_size(); ++i)
      if (isOpen(taken.dim(i)) || isOpen(given.dim(i)) ||
          given.dim(i).dim_value() != taken.dim(i).dim_value())
        return false;
  }
  return true;
}

llvm::Expected<Shapes>
frit::findCacheShapes(llvm::StringRef file, const CacheCall &call,
                      const llvm::StringMap<std::string> &constants) {
  Shapes shapes;
  auto model = parse(file);
  if (!model)
    return shapes;

  bool hasCaches = call.places != 0;
  // Past and present of GroupQueryAttention share a buffer, and the mask has
  // the size of that.
  const llvm::StringMap<int64_t> shared = groupQueryCaches(*model);
  bool sharesBuffers = false;
  const onnx::TypeProto::Tensor *tokens = nullptr;
  llvm::SmallVector<const onnx::ValueInfoProto *> rows;
  for (const onnx::ValueInfoProto *input : inputsOf(*model, constants)) {
    const onnx::TypeProto::Tensor &type = input->type().tensor_type();
    llvm::StringRef name = input->name();
    const int64_t headSize = shared.lookup(name);
    const int rank = type.shape().dim_size(),
              entries = entriesOf(type, headSize);
    if (call.places && isOfSource(*input)) {
      auto &shape = shapes[name];
      for (int i = 0; i < rank; ++i) {
        const auto &dim = type.shape().dim(i);
        shape.push_back(!isOpen(dim) ? dim.dim_value()
                        : i == 0     ? call.batch
                                     : call.places);
      }
      continue;
    }
    if (entries == -2)
      return llvm::createStringError(
          "input '" + name +
          "' has several open dimensions besides the batch: which one the "
          "entries of a cache are is not known");
    if (entries >= 0) {
      hasCaches = true;
      sharesBuffers |= shared.contains(name);
      auto &shape = shapes[name];
      for (int i = 0; i < rank; ++i) {
        const auto &dim = type.shape().dim(i);
        shape.push_back(i == entries    ? call.context
                        : !isOpen(dim)  ? dim.dim_value()
                        : i == rank - 1 ? headSize
                                        : call.batch);
      }
    } else if (rank == 2 && !isFloat(type.elem_type())) {
      rows.push_back(input);
      if (!tokens && !name.contains("mask"))
        tokens = &type;
    } else if (rank == 1 && !isFloat(type.elem_type()) &&
               name.contains("position") && isOpen(type.shape().dim(0))) {
      shapes[name] = {call.tokens};
    }
  }
  // The model's own size of caches is the context.
  bool isFixed = !hasCaches && hasFixedCaches(*model);
  if (!hasCaches && !isFixed)
    return llvm::createStringError(
        "--context gives the size of caches, and no input of the model is one: "
        "of floats, with an open dimension for the tokens before the call; "
        "export it with a cache, as `optimum-cli export onnx --task "
        "text-generation-with-past` does");
  for (const onnx::ValueInfoProto *input : rows) {
    const auto &dim = input->type().tensor_type().shape().dim(1);
    bool isLikeTokens =
        tokens && dim.dim_param() == tokens->shape().dim(1).dim_param();
    int64_t size = !isOpen(dim)               ? dim.dim_value()
                   : isLikeTokens             ? call.tokens
                   : isFixed || sharesBuffers ? call.context
                                              : call.context + call.tokens;
    shapes[input->name()] = {call.batch, size};
  }
  return shapes;
}
