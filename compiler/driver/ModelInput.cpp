//===- ModelInput.cpp - The model that is compiled ------------------------===//

#include "compiler/driver/ModelInput.h"

#include "compiler/driver/Variants.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace frit;

llvm::Error ModelInput::read(const DriverOptions &options,
                             MLIRContext &context) {
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
  };
  auto importOne = [&] {
    return (json ? importJson : importOnnx)((*file)->getMemBufferRef(),
                                            options.input, import, context);
  };
  if (options.openSymbols.empty()) {
    if (OwningOpRef<ModuleOp> module = importOne())
      variants.push_back(std::move(module));
    listNames = {"main"};
    return llvm::Error::success();
  }

  WeightCache weights;
  import.weights = &weights;
  for (const SymbolSizes &symbol : options.openSymbols)
    import.openSymbols.insert(symbol.name);
  Variants built(
      options.openSymbols,
      [&](const Variants::Sizes &sizes) {
        for (auto [symbol, size] : llvm::zip_equal(options.openSymbols, sizes))
          import.symbols[symbol.name] = size;
        return importOne();
      },
      context);
  if (!built.build())
    return llvm::Error::success();
  for (size_t i = 0; i < built.modules.size(); ++i)
    listNames.push_back(built.listName(i));
  variants = std::move(built.modules);
  shapes = std::move(built.shapes);
  return llvm::Error::success();
}
