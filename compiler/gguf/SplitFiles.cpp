//===- SplitFiles.cpp - Models in several GGUF files ----------------------===//
//
// llama.cpp's gguf-split names them NAME-00001-of-00003.gguf and so on. The
// first one has all keys, the others those of the split: split.no, split.count
// and split.tensors.count.
//
//===----------------------------------------------------------------------===//

#include "compiler/gguf/SplitFiles.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace frit;
using namespace frit::gguf;

/// Names have five digits.
static constexpr uint64_t kMostFiles = 99999;

static Location locOf(StringRef path, MLIRContext &context) {
  return FileLineColLoc::get(&context, path, 0, 0);
}

LogicalResult gguf::readFile(StringRef path, const ImportOptions &options,
                             MLIRContext &context, Buffers &buffers,
                             GgufFile &file) {
  Location loc = locOf(path, context);
  if (options.onFile)
    options.onFile(path);
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return emitError(loc) << "cannot be read: " << buffer.getError().message();
  StringRef bytes = (*buffer)->getBuffer();
  if (options.onMap)
    options.onMap(path, bytes);
  buffers.push_back(std::move(*buffer));
  std::string error;
  if (!readGguf({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()},
                file, error))
    return emitError(loc) << "cannot be read: " << error;
  return success();
}

uint64_t gguf::splitCount(const GgufFile &file) {
  return file.count("split.count").value_or(1);
}

/// Returns what follows a model's name in the name of one of its files.
static std::string endOf(uint64_t number, uint64_t count) {
  std::string end;
  llvm::raw_string_ostream(end)
      << llvm::format("-%05u-of-%05u.gguf", unsigned(number), unsigned(count));
  return end;
}

LogicalResult gguf::readOtherFiles(StringRef path, const ImportOptions &options,
                                   MLIRContext &context, Buffers &buffers,
                                   GgufFile &file) {
  Location loc = locOf(path, context);
  uint64_t count = splitCount(file), own = file.count("split.no").value_or(0);
  if (count > kMostFiles)
    return emitError(loc) << "is one of " << count << " files; up to "
                          << kMostFiles << " are possible";
  if (own)
    return emitError(loc) << "is file " << own + 1 << " of " << count
                          << "; give the first one, whose name ends in '"
                          << endOf(1, count) << "'";
  StringRef stem = path;
  if (!stem.consume_back(endOf(1, count)))
    return emitError(loc) << "is the first of " << count
                          << " files, but its name does not end in '"
                          << endOf(1, count) << "', so that the others cannot "
                          << "be found";
  for (uint64_t number = 2; number <= count; ++number) {
    std::string other = stem.str() + endOf(number, count);
    GgufFile part;
    if (failed(readFile(other, options, context, buffers, part)))
      return failure();
    if (splitCount(part) != count || part.count("split.no") != number - 1)
      return emitError(locOf(other, context))
             << "does not say that it is file " << number << " of " << count;
    for (auto &[name, tensor] : part.tensors)
      if (!file.tensors.emplace(name, std::move(tensor)).second)
        return emitError(locOf(other, context))
               << "has the tensor '" << StringRef(name.data(), name.size())
               << "', as has a file before it";
  }
  auto tensors = file.count("split.tensors.count");
  if (tensors && *tensors != file.tensors.size())
    return emitError(loc) << "says that the " << count << " files have "
                          << *tensors << " tensors, but they have "
                          << file.tensors.size();
  return success();
}
