//===- ModelWeights.cpp - The tensors of a GGUF file ----------------------===//

#include "compiler/gguf/ModelWeights.h"

#include "compiler/gguf/Blocks.h"
#include "compiler/gguf/Codes.h"
#include "compiler/gguf/Keys.h"
#include "compiler/import/Elements.h"
#include "compiler/support/Halves.h"

#include "llvm/Support/Parallel.h"

#include <bit>
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace frit;
using namespace frit::decoder;
using namespace frit::gguf;

/// The most differing tensors that messages name.
static constexpr int kMostNamed = 8;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static StringRef partName(const DecoderConfig &config, Part part) {
  switch (part) {
  case Part::embedding:
    return "token_embd";
  case Part::positions:
    return "position_embd";
  case Part::head:
    return "output";
  case Part::lastNorm:
    return "output_norm";
  case Part::attentionNorm:
    return "attn_norm";
  case Part::afterAttentionNorm:
    return "post_attention_norm";
  case Part::feedForwardNorm:
    return "ffn_norm";
  case Part::afterFeedForwardNorm:
    return "post_ffw_norm";
  case Part::query:
    return "attn_q";
  case Part::key:
    return "attn_k";
  case Part::value:
    return "attn_v";
  case Part::queryKeyValue:
    return "attn_qkv";
  case Part::queryNorm:
    return "attn_q_norm";
  case Part::keyNorm:
    return "attn_k_norm";
  case Part::output:
    return "attn_output";
  case Part::gate:
    return "ffn_gate";
  case Part::up:
  case Part::gateUp:
    return "ffn_up";
  case Part::down:
    return "ffn_down";
  default: // parts of models with an encoder
    break;
  }
  llvm_unreachable("no such part");
}

static std::string nameOf(const DecoderConfig &config, const TensorId &id) {
  std::string name =
      id.layer < 0 ? "" : "blk." + std::to_string(id.layer) + ".";
  name += partName(config, id.part);
  return name + (id.isBias ? ".bias" : ".weight");
}

static bool isNorm(Part part) {
  switch (part) {
  case Part::lastNorm:
  case Part::attentionNorm:
  case Part::afterAttentionNorm:
  case Part::feedForwardNorm:
  case Part::afterFeedForwardNorm:
  case Part::queryNorm:
  case Part::keyNorm:
    return true;
  default:
    return false;
  }
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static void store(ArrayRef<float> numbers, Type element, char *to) {
  if (element.isF32()) {
    memcpy(to, numbers.data(), numbers.size() * sizeof(float));
    return;
  }
  for (auto [i, number] : llvm::enumerate(numbers)) {
    uint16_t bits = element.isF16() ? toHalf(number) : toBrain(number);
    memcpy(to + 2 * i, &bits, 2);
  }
}

static Type plainType(GgufType type, MLIRContext *context) {
  switch (type) {
  case GgufType::f32:
    return Float32Type::get(context);
  case GgufType::f16:
    return Float16Type::get(context);
  case GgufType::bf16:
    return BFloat16Type::get(context);
  default:
    return {};
  }
}

/// Returns the stored row of a row of the model, where pairs of rows are
/// neighbours in the file and half a head apart in the model.
static int64_t pairedRow(int64_t row, int64_t headSize) {
  int64_t inHead = row % headSize, half = headSize / 2;
  return row - inHead + inHead % half * 2 + inHead / half;
}

ElementsAttr ModelWeights::elementsOf(const GgufTensor &tensor,
                                      const TensorId &id,
                                      ArrayRef<int64_t> shape,
                                      Type element) const {
  std::string name(tensor.name);
  Type plain = plainType(tensor.type, element.getContext());
  bool isPaired =
      hasPairedRows(config) && (id.part == Part::query || id.part == Part::key);
  // The builder adds 1 to the scales of some norms; files have the sum.
  bool hasOne = config.addsOneToNorm && isNorm(id.part);
  bool isAligned = !plain || reinterpret_cast<uintptr_t>(tensor.data.data()) %
                                     importer::elementBytes(plain) ==
                                 0;
  if (plain && !isPaired && !hasOne && isAligned)
    return importer::makeElements(
        RankedTensorType::get(shape, plain),
        {{reinterpret_cast<const char *>(tensor.data.data()),
          tensor.data.size()},
         buffers},
        name);

  GgufBlock block = *blockOf(tensor.type);
  int64_t columns = int64_t(tensor.dims[0]);
  int64_t rows = ShapedType::getNumElements(shape) / columns;
  // Elements of a bias are in the order of the rows.
  if (shape.size() == 1)
    std::swap(rows, columns);
  int64_t rowBytes = columns / block.weights * block.bytes;
  int64_t size = importer::elementBytes(element);
  auto owner =
      std::make_shared<std::vector<char>>(size_t(rows * columns * size));
  llvm::parallelFor(0, size_t(rows), [&](size_t row) {
    SmallVector<float, 0> numbers(columns);
    int64_t from =
        isPaired ? pairedRow(int64_t(row), config.headSize) : int64_t(row);
    dequantize(tensor.type, tensor.data.data() + from * rowBytes,
               size_t(columns / block.weights), numbers.data());
    if (hasOne)
      for (float &number : numbers)
        number -= 1;
    store(numbers, element, owner->data() + int64_t(row) * columns * size);
  });
  ArrayRef<char> bytes(owner->data(), owner->size());
  return importer::makeElements(RankedTensorType::get(shape, element),
                                {bytes, owner}, name);
}

/// Returns elements whose bytes `fill` writes row by row.
template <typename Fill>
static ElementsAttr makeRows(RankedTensorType type, StringRef name,
                             const Fill &fill) {
  int64_t rows = type.getDimSize(0),
          rowBytes = type.getDimSize(1) *
                     importer::elementBytes(type.getElementType());
  auto owner = std::make_shared<std::vector<char>>(size_t(rows * rowBytes));
  llvm::parallelFor(0, size_t(rows), [&](size_t row) {
    fill(int64_t(row), owner->data() + int64_t(row) * rowBytes);
  });
  return importer::makeElements(
      type, {ArrayRef<char>(owner->data(), owner->size()), owner}, name);
}

/// Returns whether f16 has all these numbers.
static bool areHalves(ArrayRef<float> numbers) {
  return llvm::all_of(numbers, [](float number) {
    return halfToFloat(toHalf(number)) == number;
  });
}

ModelWeights::Codes ModelWeights::codesOf(const GgufTensor &tensor,
                                          const TensorId &id,
                                          ArrayRef<int64_t> shape,
                                          Type element) const {
  std::string name(tensor.name);
  MLIRContext *context = loc.getContext();
  GgufBlock block = *blockOf(tensor.type);
  CodeLayout layout = *codeLayoutOf(tensor.type);
  bool isPaired =
      hasPairedRows(config) && (id.part == Part::query || id.part == Part::key);
  int64_t rows = shape[0], columns = shape[1], blocks = columns / layout.block;
  int64_t rowBytes = columns / block.weights * block.bytes;
  int64_t codeBytes = columns * nn::bitsOf(layout.code) / 8;
  std::vector<float> scales(size_t(rows * blocks)), offsets;
  if (layout.hasOffsets)
    offsets.resize(scales.size());
  Codes made;
  made.code = layout.code;
  Type u8 = IntegerType::get(context, 8, IntegerType::Unsigned);
  made.codes = makeRows(
      RankedTensorType::get({rows, codeBytes}, u8), name + ".codes",
      [&](int64_t row, char *to) {
        int64_t from = isPaired ? pairedRow(row, config.headSize) : row;
        readCodes(tensor.type, tensor.data.data() + from * rowBytes,
                  size_t(columns / block.weights),
                  reinterpret_cast<uint8_t *>(to), &scales[row * blocks],
                  layout.hasOffsets ? &offsets[row * blocks] : nullptr);
      });
  // Scales of MXFP4 are powers of two, which exceed f16. Numbers of f32 are
  // exactly what the file says; those of 16 bits are rounded anyway.
  Type factor = layout.code == nn::Code::e2m1 ? Type(BFloat16Type::get(context))
                                              : Type(Float16Type::get(context));
  if (factor.isF16() && element.isF32() &&
      !(areHalves(scales) && areHalves(offsets)))
    factor = element;
  auto factors = [&](const std::vector<float> &numbers, const Twine &suffix) {
    return makeRows(RankedTensorType::get({rows, blocks}, factor),
                    (name + suffix).str(), [&](int64_t row, char *to) {
                      store(ArrayRef(numbers).slice(row * blocks, blocks),
                            factor, to);
                    });
  };
  made.scales = factors(scales, ".scales");
  if (layout.hasOffsets)
    made.offsets = factors(offsets, ".offsets");
  return made;
}

Value ModelWeights::buildCodes(nn::NNBuilder &b, Location own,
                               const GgufTensor &tensor, const TensorId &id,
                               ArrayRef<int64_t> shape, Type element) {
  std::string name(tensor.name);
  Codes &codes = madeCodes[name];
  if (!codes.codes)
    codes = codesOf(tensor, id, shape, element);
  auto constant = [&](ElementsAttr value, const Twine &suffix) -> Value {
    if (!value)
      return {};
    return nn::ConstantOp::create(b, own, value,
                                  b.getStringAttr(name + suffix));
  };
  return nn::DequantizeOp::create(b, own, constant(codes.codes, ".codes"),
                                  constant(codes.scales, ".scales"),
                                  constant(codes.offsets, ".offsets"),
                                  nn::nameOf(codes.code), element,
                                  /*tiled=*/false);
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

const GgufTensor *ModelWeights::find(const TensorId &id,
                                     ArrayRef<int64_t> shape) {
  std::string name = nameOf(config, id);
  auto found = file.tensors.find(name);
  if (found == file.tensors.end()) {
    emitError(loc) << "lacks the tensor '" << name << "', "
                   << nn::shapeText(shape);
    return nullptr;
  }
  const GgufTensor &tensor = found->second;
  read.insert(name);
  SmallVector<int64_t> stored;
  for (uint64_t dim : llvm::reverse(tensor.dims))
    stored.push_back(int64_t(dim));
  if (ArrayRef<int64_t>(stored) != shape) {
    emitError(loc) << "tensor '" << name << "' has the shape "
                   << nn::shapeText(stored) << ", but the keys say "
                   << nn::shapeText(shape);
    return nullptr;
  }
  if (!canDequantize(tensor.type)) {
    emitError(loc)
        << "tensor '" << name << "' has the type " << blockOf(tensor.type)->name
        << ", which is not supported; F32, F16, BF16, Q4_0, Q4_1, "
           "Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K, IQ4_NL and MXFP4 are";
    return nullptr;
  }
  if (shape.size() == 1 && blockOf(tensor.type)->weights > 1) {
    emitError(loc) << "tensor '" << name << "' of one dimension has the type "
                   << blockOf(tensor.type)->name << ", which is for matrices";
    return nullptr;
  }
  return &tensor;
}

Value ModelWeights::build(nn::NNBuilder &b, const TensorId &id,
                          ArrayRef<int64_t> shape, Type element) {
  const GgufTensor *tensor = find(id, shape);
  if (!tensor)
    return {};
  std::string name(tensor->name), key;
  Location own = NameLoc::get(b.getStringAttr("weight '" + name + "'"), loc);
  if (shape.size() == 2 && codeLayoutOf(tensor->type))
    return buildCodes(b, own, *tensor, id, shape, element);
  llvm::raw_string_ostream(key) << name << ' ' << element;
  ElementsAttr &value = made[key];
  if (!value)
    value = elementsOf(*tensor, id, shape, element);
  Value weight =
      nn::ConstantOp::create(b, own, value, b.getStringAttr(name)).getY();
  return b.cast(weight, element);
}

/// Returns whether a tensor is read elsewhere, or not at all.
static bool isUnused(StringRef name) {
  return name == "rope_freqs.weight" || name.starts_with("rope_factors_") ||
         name.ends_with(".rope_freqs.weight") ||
         name.ends_with(".attn_rot_embd");
}

LogicalResult ModelWeights::checkAllRead() {
  int extra = 0;
  for (const auto &[name, tensor] : file.tensors) {
    StringRef text(name.data(), name.size());
    if (read.contains(text) || isUnused(text))
      continue;
    if (extra++ < kMostNamed)
      emitError(loc) << "has the tensor '" << text
                     << "', which a model of the architecture " << config.family
                     << " with these keys does not have";
  }
  if (extra > kMostNamed)
    emitError(loc) << "and " << extra - kMostNamed << " more";
  return success(!extra);
}
