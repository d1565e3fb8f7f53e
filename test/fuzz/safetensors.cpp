//===- safetensors.cpp - Fuzz the safetensors reader ----------------------===//
//
// Read by the compiler, by the runtime and by frit-run. Checks that
// descriptions of tensors refer to existing bytes.
//
//===----------------------------------------------------------------------===//

#include "compiler/json/Safetensors.h"
#include "compiler/import/Elements.h"
#include "runtime/exec/Safetensors.h"
#include "test/fuzz/Context.h"
#include "test/fuzz/Target.h"
#include "tools/support/Bytes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace frit;

static void readInCompiler(llvm::StringRef bytes) {
  MLIRContext &context = fuzz::context();
  unsigned before = fuzz::errors();
  std::shared_ptr<llvm::MemoryBuffer> file =
      llvm::MemoryBuffer::getMemBufferCopy(bytes, "w.safetensors");
  auto tensors =
      importer::readSafetensors(std::move(file), UnknownLoc::get(&context));
  if (!tensors && fuzz::errors() == before)
    fuzz::broken("an input is refused only with an error");
}

static void readInRuntime(const uint8_t *data, size_t size) {
  std::map<std::string, StoredTensor> tensors;
  if (frit::readSafetensors(data, size, tensors).failed())
    return;
  uint64_t bytes = 0;
  for (const auto &[name, tensor] : tensors) {
    if (tensor.offset > size || tensor.bytes > size - tensor.offset)
      fuzz::broken("every tensor lies within its file");
    bytes += tensor.bytes;
  }
  if (bytes > size)
    fuzz::broken("tensors do not overlap");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  readInCompiler({reinterpret_cast<const char *>(data), size});
  readInRuntime(data, size);
  std::vector<tools::Tensor> tensors;
  (void)tools::readSafetensors({data, size}, tensors);
  return 0;
}
