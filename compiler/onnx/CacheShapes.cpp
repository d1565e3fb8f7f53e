//===- CacheShapes.cpp - Sizes of inputs of decoders with caches ----------===//
//
//   input_ids            batch × sequence            tokens
//   position_ids         batch × sequence            tokens
//   attention_mask       batch × anything else       context + tokens
//   past_key_values.0.key  batch × 8 × past × 64     context
//
//===----------------------------------------------------------------------===//

#include "compiler/import/CacheShapes.h"

#include "compiler/onnx/onnx.pb.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <limits>

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
/// several dimensions may be it.
static int entriesOf(const onnx::TypeProto::Tensor &type) {
  int found = -1;
  if (!isFloat(type.elem_type()) || type.shape().dim_size() < 3)
    return -1;
  for (int i = 1; i < type.shape().dim_size(); ++i)
    if (isOpen(type.shape().dim(i)))
      found = found == -1 ? i : -2;
  return found;
}

bool frit::hasCacheBranch(llvm::StringRef file) {
  onnx::ModelProto model;
  if (file.size() > size_t(std::numeric_limits<int>::max()) ||
      !model.ParseFromArray(file.data(), static_cast<int>(file.size())))
    return false;
  return llvm::any_of(
      model.graph().input(), [](const onnx::ValueInfoProto &input) {
        return input.name() == kCacheBranch &&
               input.type().tensor_type().elem_type() == TensorProto::BOOL;
      });
}

llvm::Expected<Shapes>
frit::findCacheShapes(llvm::StringRef file, const CacheCall &call,
                      const llvm::StringMap<std::string> &constants) {
  Shapes shapes;
  onnx::ModelProto model;
  if (file.size() > size_t(std::numeric_limits<int>::max()) ||
      !model.ParseFromArray(file.data(), static_cast<int>(file.size())))
    return shapes;
  llvm::StringSet<> weights;
  for (const TensorProto &weight : model.graph().initializer())
    weights.insert(weight.name());

  bool hasCaches = false;
  const onnx::TypeProto::Tensor *tokens = nullptr;
  llvm::SmallVector<const onnx::ValueInfoProto *> rows;
  for (const onnx::ValueInfoProto &input : model.graph().input()) {
    const onnx::TypeProto::Tensor &type = input.type().tensor_type();
    if (weights.contains(input.name()) || constants.contains(input.name()) ||
        !type.has_shape())
      continue;
    const int rank = type.shape().dim_size(), entries = entriesOf(type);
    if (entries == -2)
      return llvm::createStringError(
          "input '" + input.name() +
          "' has several open dimensions besides the batch: which one the "
          "entries of a cache are is not known");
    if (entries >= 0) {
      hasCaches = true;
      auto &shape = shapes[input.name()];
      for (int i = 0; i < rank; ++i) {
        const auto &dim = type.shape().dim(i);
        shape.push_back(i == entries  ? call.context
                        : isOpen(dim) ? call.batch
                                      : dim.dim_value());
      }
    } else if (rank == 2 && !isFloat(type.elem_type())) {
      rows.push_back(&input);
      if (!tokens && !llvm::StringRef(input.name()).contains("mask"))
        tokens = &type;
    }
  }
  if (!hasCaches)
    return llvm::createStringError(
        "--context gives the size of caches, and no input of the model is one: "
        "of floats, with an open dimension for the tokens before the call; "
        "export it with a cache, as `optimum-cli export onnx --task "
        "text-generation-with-past` does");
  for (const onnx::ValueInfoProto *input : rows) {
    const auto &dim = input->type().tensor_type().shape().dim(1);
    bool isLikeTokens =
        tokens && dim.dim_param() == tokens->shape().dim(1).dim_param();
    int64_t size = !isOpen(dim)   ? dim.dim_value()
                   : isLikeTokens ? call.tokens
                                  : call.context + call.tokens;
    shapes[input->name()] = {call.batch, size};
  }
  return shapes;
}
