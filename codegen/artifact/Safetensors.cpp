//===- Safetensors.cpp - Write safetensors files --------------------------===//

#include "codegen/artifact/Safetensors.h"

#include "codegen/artifact/Elements.h"
#include "dialects/plan/Plan.h"

#include "frit/safetensors.h"

#include "llvm/Support/JSON.h"

#include <map>

using namespace llvm;
using namespace frit::artifact;

/// Returns a text as a JSON string; bytes that are not UTF-8 are replaced.
static std::string quote(StringRef text) {
  std::string quoted;
  raw_string_ostream os(quoted);
  os << json::Value(json::fixUTF8(text));
  return quoted;
}

std::string frit::artifact::safetensorsHead(ArrayRef<NamedTensor> tensors) {
  std::vector<TensorToStore> stored;
  for (const NamedTensor &tensor : tensors)
    stored.push_back({tensor.name, tensor.type, tensor.dims, tensor.bytes});
  std::map<std::string, std::string> metadata = {
      {"producer", "frit " FRIT_VERSION}};
  return frit::safetensorsHead(stored, metadata, quote);
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
