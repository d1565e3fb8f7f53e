//===- ModelInput.cpp - Read the model's file -----------------------------===//

#include "compiler/driver/ModelInput.h"

#include "compiler/driver/ForeignFormats.h"
#include "compiler/support/InputFile.h"

#include "llvm/Support/FileSystem.h"

namespace fs = llvm::sys::fs;

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
frit::readFile(const std::string &path) {
  if (std::error_code error = checkInput(path))
    return llvm::createFileError(path, error);
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(
      path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return llvm::createFileError(path, file.getError());
  return std::move(*file);
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
frit::readModel(const std::string &path) {
  if (path != "-" && fs::is_directory(path))
    return llvm::createStringError(path + ": " + describeForeignFolder(path));
  auto file = readFile(path);
  if (!file)
    return file.takeError();
  std::string foreign = describeForeignFile(path, (*file)->getBuffer());
  if (!foreign.empty())
    return llvm::createStringError(path + ": " + foreign);
  return std::move(*file);
}
