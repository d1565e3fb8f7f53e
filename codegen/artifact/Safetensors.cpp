//===- Safetensors.cpp - The head of a file of weights --------------------===//

#include "codegen/artifact/Safetensors.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace frit::artifact;

static StringRef typeName(DType type) {
  switch (type) {
  case DType::f32:
    return "F32";
  case DType::f64:
    return "F64";
  case DType::f16:
    return "F16";
  case DType::bf16:
    return "BF16";
  case DType::i8:
    return "I8";
  case DType::i16:
    return "I16";
  case DType::i32:
    return "I32";
  case DType::i64:
    return "I64";
  case DType::u8:
    return "U8";
  case DType::u16:
    return "U16";
  case DType::u32:
    return "U32";
  case DType::u64:
    return "U64";
  case DType::boolean:
    return "BOOL";
  case DType::f8e4m3:
    return "F8_E4M3";
  case DType::f8e5m2:
    return "F8_E5M2";
  }
  llvm_unreachable("an element type without a name");
}

std::string frit::artifact::safetensorsHead(ArrayRef<NamedTensor> tensors) {
  std::string header;
  raw_string_ostream os(header);
  json::OStream json(os);
  uint64_t offset = 0;
  json.object([&] {
    json.attributeObject("__metadata__", [&] {
      json.attribute("producer", "frit " FRIT_VERSION);
    });
    for (const NamedTensor &tensor : tensors)
      json.attributeObject(json::fixUTF8(tensor.name), [&] {
        json.attribute("dtype", typeName(tensor.type));
        json.attributeArray("shape", [&] {
          for (int64_t size : tensor.dims)
            json.value(size);
        });
        json.attributeArray("data_offsets", [&] {
          json.value(offset);
          json.value(offset += tensor.bytes);
        });
      });
  });
  // The bytes that follow are aligned for every type.
  header.resize(alignTo(header.size(), 8), ' ');
  std::string head(8, '\0');
  support::endian::write64le(head.data(), header.size());
  return head + header;
}
