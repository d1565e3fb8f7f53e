//===- Model.cpp - Decoder language models from GGUF files ----------------===//

#include "compiler/gguf/Model.h"

#include "compiler/gguf/Keys.h"
#include "compiler/gguf/ModelWeights.h"

#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace frit;
using namespace frit::gguf;

bool gguf::isModel(StringRef path) {
  if (!llvm::sys::fs::is_regular_file(path))
    return false;
  auto start = llvm::MemoryBuffer::getFileSlice(path, 4, 0);
  return start && (*start)->getBuffer() == "GGUF";
}

std::unique_ptr<decoder::Decoder>
gguf::readModel(std::shared_ptr<llvm::MemoryBuffer> buffer, Location loc) {
  GgufFile file;
  std::string error;
  if (!readGguf({reinterpret_cast<const uint8_t *>(buffer->getBufferStart()),
                 buffer->getBufferSize()},
                file, error)) {
    emitError(loc) << "cannot be read: " << error;
    return nullptr;
  }
  auto config = readKeys(file, loc);
  if (!config)
    return nullptr;
  auto made = std::make_unique<decoder::Decoder>();
  made->config = std::move(*config);
  made->weights = std::make_unique<ModelWeights>(
      std::move(buffer), std::move(file), made->config, loc);
  return made;
}

std::unique_ptr<decoder::Decoder> gguf::readModel(StringRef path,
                                                  const ImportOptions &options,
                                                  MLIRContext &context) {
  Location loc = FileLineColLoc::get(&context, path, 0, 0);
  if (options.onFile)
    options.onFile(path);
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer) {
    emitError(loc) << "cannot be read: " << buffer.getError().message();
    return nullptr;
  }
  if (options.onMap)
    options.onMap(path, (*buffer)->getBuffer());
  return readModel(std::move(*buffer), loc);
}
