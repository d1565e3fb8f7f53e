//===- Safetensors.cpp - Write safetensors files --------------------------===//

#include "codegen/artifact/Safetensors.h"

#include "codegen/artifact/Elements.h"
#include "dialects/plan/Plan.h"

#include "frit/dtype.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace frit::artifact;

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
        json.attribute("dtype", findDType(tensor.type)->stored);
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
  // Pad, so that the data are aligned for every type.
  header.resize(alignTo(header.size(), 8), ' ');
  std::string head(8, '\0');
  support::endian::write64le(head.data(), header.size());
  return head + header;
}

void frit::artifact::writeSafetensors(
    ArrayRef<std::pair<std::string, mlir::ElementsAttr>> tensors,
    raw_ostream &os) {
  std::vector<NamedTensor> named;
  for (const auto &[name, value] : tensors) {
    mlir::ShapedType type = value.getShapedType();
    DType element = frit::plan::dtypeOf(type.getElementType());
    named.push_back(
        {name, element, SmallVector<int64_t>(type.getShape()),
         uint64_t(type.getNumElements()) * findDType(element)->bytes});
  }
  os << safetensorsHead(named);
  for (const auto &[name, value] : tensors) {
    std::list<std::string> owned;
    ArrayRef<char> bytes = *bytesOf(value, owned);
    os.write(bytes.data(), bytes.size());
  }
}
