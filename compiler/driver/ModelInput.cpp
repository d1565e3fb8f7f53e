//===- ModelInput.cpp - The model that is compiled ------------------------===//

#include "compiler/driver/ModelInput.h"

#include "compiler/driver/Counts.h"
#include "compiler/driver/OutputFile.h"
#include "compiler/driver/Variants.h"

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
  auto importOne = [&] {
    return (json ? importJson : importOnnx)((*file)->getMemBufferRef(),
                                            options.input, import, context);
  };
  // Imports that are only compared with another share its weights.
  WeightCache weights;
  import.weights = &weights;
  if (options.openSymbols.empty()) {
    OwningOpRef<ModuleOp> module = importOne();
    listNames = {"main"};
    if (!module)
      return llvm::Error::success();
    resolveCounts(*module);
    variants.push_back(std::move(module));
    if (!describeCounts(variants, shapes))
      variants.clear();
    return llvm::Error::success();
  }

  for (const SymbolSizes &symbol : options.openSymbols)
    import.openSymbols.insert(symbol.name);
  auto setSizes = [&](ArrayRef<int64_t> sizes) {
    for (auto [symbol, size] : llvm::zip_equal(options.openSymbols, sizes))
      import.symbols[symbol.name] = size;
  };
  Variants built(
      options.openSymbols,
      [&](const Variants::Sizes &sizes) {
        setSizes(sizes);
        return importOne();
      },
      context);
  if (!built.build())
    return llvm::Error::success();
  for (OwningOpRef<ModuleOp> &module : built.modules)
    resolveCounts(*module);
  if (!describeCounts(built.modules, built.shapes))
    return llvm::Error::success();
  for (size_t i = 0; i < built.modules.size(); ++i)
    listNames.push_back(built.listName(i));
  variants = std::move(built.modules);
  shapes = std::move(built.shapes);
  return llvm::Error::success();
}
