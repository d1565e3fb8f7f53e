//===- gguf.cpp - Fuzz the reader of GGUF models --------------------------===//
//
// The bytes are a GGUF file. A model that was read is built as the functions of
// an artifact, which must be valid.
//
//===----------------------------------------------------------------------===//

#include "compiler/gguf/Model.h"
#include "compiler/import/Import.h"
#include "test/fuzz/BuildFunction.h"
#include "test/fuzz/Context.h"
#include "test/fuzz/Target.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace frit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MLIRContext &context = fuzz::context(loadImportDialects);
  unsigned before = fuzz::errors();
  Location loc = UnknownLoc::get(&context);
  std::unique_ptr<llvm::MemoryBuffer> file =
      llvm::MemoryBuffer::getMemBufferCopy(
          {reinterpret_cast<const char *>(data), size}, "m.gguf");
  auto model = gguf::readModel(std::move(file), loc);
  if (!model && fuzz::errors() == before)
    fuzz::broken("an input is refused only with an error");
  if (!model)
    return 0;
  decoder::DecoderOptions options;
  options.context = 16;
  options.type = size % 2 ? "f32" : "bf16";
  auto sizes = decoder::chooseSizes(model->config, options, loc);
  if (sizes && fuzz::buildFunction(*model, *sizes, FRIT_FUNCTION_PREFILL, 4) &&
      fuzz::buildFunction(*model, *sizes, FRIT_FUNCTION_DECODE, 1))
    (void)model->weights->checkAllRead();
  return 0;
}
