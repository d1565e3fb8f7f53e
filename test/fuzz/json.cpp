//===- json.cpp - Fuzz the JSON graph importer ----------------------------===//

#include "test/fuzz/Model.h"
#include "test/fuzz/Target.h"

using namespace mlir;
using namespace frit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  static const std::string path = fuzz::folder() + "/model.json";
  fuzz::compile(bytes, [&](const ImportOptions &options, MLIRContext &context) {
    return importJson({bytes, path}, path, options, context);
  });
  return 0;
}
