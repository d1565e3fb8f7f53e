//===- onnx.cpp - Fuzz the ONNX importer ----------------------------------===//

#include "test/fuzz/Model.h"
#include "test/fuzz/Target.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace frit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  // Large weights are read out of the model's own file.
  static const std::string path = fuzz::folder() + "/model.onnx";
  std::error_code error;
  llvm::raw_fd_ostream(path, error) << bytes;
  fuzz::compile(bytes, [&](const ImportOptions &options, MLIRContext &context) {
    return importOnnx({bytes, path}, path, options, context);
  });
  // Memory mappings of the file stay valid.
  llvm::sys::fs::remove(path);
  return 0;
}
