//===- folder.cpp - Fuzz the reader of folders of language models ---------===//
//
// The bytes are two sizes of 32 bits and three files: config.json of the first
// size, an index of the second, perhaps empty, and weights. A model that was
// read is built as the functions of an artifact, which must be valid.
//
//===----------------------------------------------------------------------===//

#include "compiler/decoder/Decoder.h"
#include "compiler/import/Import.h"
#include "test/fuzz/BuildFunction.h"
#include "test/fuzz/Context.h"
#include "test/fuzz/Target.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace frit;
using llvm::StringRef;

/// A folder that is removed when the program ends.
struct Folder {
  Folder() {
    if (llvm::sys::fs::createUniqueDirectory("fuzz-folder", path))
      fuzz::broken("a temporary folder can be made");
  }
  ~Folder() { (void)llvm::sys::fs::remove_directories(path); }

  /// Writes a file, or removes it if it has nothing.
  void write(StringRef name, StringRef content) const {
    llvm::SmallString<128> file(path);
    llvm::sys::path::append(file, name);
    (void)llvm::sys::fs::remove(file);
    if (content.empty())
      return;
    std::error_code error;
    llvm::raw_fd_ostream out(file, error);
    out << content;
  }
  llvm::SmallString<128> path;
};

/// Takes up to `size` characters off the front.
static StringRef take(StringRef &bytes, size_t size) {
  StringRef front = bytes.take_front(size);
  bytes = bytes.drop_front(front.size());
  return front;
}

static void writeFiles(const Folder &folder, StringRef bytes) {
  StringRef sizes = take(bytes, 8);
  if (sizes.size() < 8)
    return;
  auto size = [&](size_t at) {
    return llvm::support::endian::read32le(sizes.data() + at);
  };
  folder.write("config.json", take(bytes, size(0)));
  StringRef index = take(bytes, size(4));
  folder.write("model.safetensors.index.json", index);
  folder.write("model.safetensors", index.empty() ? bytes : "");
  folder.write("part.safetensors", index.empty() ? "" : bytes);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Folder folder;
  writeFiles(folder, {reinterpret_cast<const char *>(data), size});
  MLIRContext &context = fuzz::context(loadImportDialects);
  unsigned before = fuzz::errors();
  auto model = decoder::readFolder(folder.path, ImportOptions(), context);
  if (!model && fuzz::errors() == before)
    fuzz::broken("an input is refused only with an error");
  if (!model)
    return 0;
  decoder::DecoderOptions options;
  options.context = 16;
  options.type = size % 2 ? "f32" : "bf16";
  auto sizes =
      decoder::chooseSizes(model->config, options, UnknownLoc::get(&context));
  if (!sizes)
    return 0;
  const auto &encoder = model->config.encoder;
  // As the pipeline, no more tokens in a call than there is room for.
  auto chunk = [](int64_t room) { return std::min<int64_t>(room, 4); };
  bool isBuilt = fuzz::buildFunction(*model, *sizes, FRIT_FUNCTION_PREFILL,
                                     chunk(sizes->context)) &&
                 fuzz::buildFunction(*model, *sizes, FRIT_FUNCTION_DECODE, 1);
  if (isBuilt && encoder)
    isBuilt = fuzz::buildFunction(*model, *sizes, FRIT_FUNCTION_ENCODE,
                                  encoder->bins ? sizes->places
                                                : chunk(sizes->places));
  if (isBuilt)
    (void)model->weights->checkAllRead();
  return 0;
}
