//===- ReadCodes.cpp - Reads matrices of codes from a folder --------------===//

#include "compiler/decoder/quantized/ReadCodes.h"

#include "compiler/decoder/quantized/CodeReader.h"

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

/// What is measured of activations, caches and results, and the sizes that
/// tensors have anyway.
static constexpr StringLiteral kUnneeded[] = {
    ".input_scale",      ".output_scale",      ".activation_scale",
    ".input_zero_point", ".output_zero_point", ".input_scale_ub",
    ".weight_shape",     ".k_scale",           ".v_scale",
    ".q_scale",          ".k_zero_point",      ".v_zero_point"};

/// Returns the element type of `.weight`, or null.
static Type typeOf(const StoredTensors &tensors, StringRef module) {
  ElementsAttr value = tensors.find((module + ".weight").str());
  return value ? value.getElementType() : Type();
}

std::string decoder::codesNameOf(const StoredTensors &tensors,
                                 StringRef module) {
  for (StringRef suffix : {".qweight", ".weight_packed"})
    if (std::string name = (module + suffix).str(); tensors.contains(name))
      return name;
  Type type = typeOf(tensors, module);
  if (type && (isa<Float8E4M3FNType>(type) || type.isInteger(8)))
    return (module + ".weight").str();
  return "";
}

std::optional<CodedMatrix> CodeReader::floats() {
  std::string name = nameOf(".weight");
  ElementsAttr value = tensors.read(name);
  if (!hasShape(name, value, {rows, columns}))
    return std::nullopt;
  bool isInverse = tensors.contains(nameOf(".weight_scale_inv"));
  auto scales = rowScales(isInverse ? ".weight_scale_inv" : ".weight_scale",
                          ".weight", /*hasBlocks=*/true);
  if (!scales)
    return std::nullopt;
  std::vector<char> own;
  ArrayRef<char> bytes = bytesOf(value, own);
  return make(nn::Code::e4m3, bytes, nullptr, *scales, {});
}

std::optional<CodedMatrix> decoder::readCodes(StoredTensors &tensors,
                                              const Scheme &scheme,
                                              StringRef module, int64_t rows,
                                              int64_t columns) {
  CodeReader reader(tensors, scheme, module, rows, columns);
  std::string name = codesNameOf(tensors, module);
  if (StringRef(name).ends_with(".weight_packed"))
    return reader.packed();
  if (StringRef(name).ends_with(".weight"))
    return typeOf(tensors, module).isInteger(8) ? reader.bytes()
                                                : reader.floats();
  switch (scheme.packing) {
  case Packing::gptq:
    return reader.gptq();
  case Packing::awq:
    return reader.awq();
  case Packing::unknown:
    tensors.fail(name) << "has codes, but config.json has no "
                          "\"quantization_config\" that says how: one with "
                          "the \"quant_method\" gptq or awq does";
    return std::nullopt;
  }
  llvm_unreachable("no such packing");
}

bool decoder::isUnneeded(const StoredTensors &tensors, StringRef name) {
  if (llvm::any_of(kUnneeded,
                   [&](StringRef suffix) { return name.ends_with(suffix); }))
    return true;
  StringRef module = name;
  if (!module.consume_back(".bias") || !hasCodes(tensors, module))
    return false;
  ElementsAttr value = tensors.find(name);
  Type type = value.getElementType();
  if (!type.isF32() && !type.isF16() && !type.isBF16())
    return false;
  return llvm::all_of(numbersOf(value), [](float x) { return x == 0; });
}
