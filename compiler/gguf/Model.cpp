//===- Model.cpp - Decoder language models from GGUF files ----------------===//

#include "compiler/gguf/Model.h"

#include "compiler/gguf/Keys.h"
#include "compiler/gguf/ModelWeights.h"
#include "compiler/gguf/SplitFiles.h"

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

/// Makes the decoder of a file whose bytes are in `buffers`.
static std::unique_ptr<decoder::Decoder>
makeDecoder(Buffers buffers, GgufFile file, Location loc) {
  auto config = readKeys(file, loc);
  if (!config)
    return nullptr;
  auto made = std::make_unique<decoder::Decoder>();
  made->config = std::move(*config);
  made->weights = std::make_unique<ModelWeights>(
      std::make_shared<Buffers>(std::move(buffers)), std::move(file),
      made->config, loc);
  return made;
}

std::unique_ptr<decoder::Decoder>
gguf::readModel(std::unique_ptr<llvm::MemoryBuffer> buffer, Location loc) {
  GgufFile file;
  std::string error;
  if (!readGguf({reinterpret_cast<const uint8_t *>(buffer->getBufferStart()),
                 buffer->getBufferSize()},
                file, error)) {
    emitError(loc) << "cannot be read: " << error;
    return nullptr;
  }
  Buffers buffers;
  buffers.push_back(std::move(buffer));
  return makeDecoder(std::move(buffers), std::move(file), loc);
}

std::unique_ptr<decoder::Decoder> gguf::readModel(StringRef path,
                                                  const ImportOptions &options,
                                                  MLIRContext &context) {
  GgufFile file;
  Buffers buffers;
  if (failed(readFile(path, options, context, buffers, file)) ||
      (splitCount(file) > 1 &&
       failed(readOtherFiles(path, options, context, buffers, file))))
    return nullptr;
  return makeDecoder(std::move(buffers), std::move(file),
                     FileLineColLoc::get(&context, path, 0, 0));
}
