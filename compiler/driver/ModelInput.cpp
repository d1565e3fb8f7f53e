//===- ModelInput.cpp - The model that is compiled ------------------------===//

#include "compiler/driver/ModelInput.h"

#include "compiler/driver/OutputFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace frit;

llvm::Error ModelInput::read(const DriverOptions &options,
                             MLIRContext &context) {
  // A device may have no end.
  llvm::sys::fs::file_status status;
  if (options.input != "-" && !llvm::sys::fs::status(options.input, status) &&
      (status.type() == llvm::sys::fs::file_type::character_file ||
       status.type() == llvm::sys::fs::file_type::block_file))
    return llvm::createStringError("'" + options.input + "': is a device");
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(
      options.input, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return llvm::createFileError(options.input, file.getError());
  // A weights file that is missing, a cycle: whatever is wrong is reported.
  bool json = options.language ? *options.language == Language::json
                               : StringRef(options.input).ends_with(".json");
  ImportOptions import = options.import;
  import.onMap = [this](StringRef path, StringRef bytes) {
    mapped.push_back({path.str(), bytes});
    protectInput(path.str());
  };
  for (const SymbolSizes &symbol : options.openSymbols)
    import.openSymbols.insert(symbol.name);
  // Imports that are only compared with another share its weights.
  WeightCache weights;
  import.weights = &weights;
  auto importFor = [&](ArrayRef<int64_t> sizes) {
    for (auto [symbol, size] : llvm::zip_equal(options.openSymbols, sizes))
      import.symbols[symbol.name] = size;
    return (json ? importJson : importOnnx)((*file)->getMemBufferRef(),
                                            options.input, import, context);
  };
  auto imported = importVariants(options.openSymbols, importFor, context);
  if (succeeded(imported))
    model = std::move(*imported);
  return llvm::Error::success();
}
