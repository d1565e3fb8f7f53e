//===- Model.cpp - Compile a model of arbitrary bytes ---------------------===//

#include "test/fuzz/Model.h"

#include "compiler/transform/Passes.h"
#include "test/fuzz/Context.h"
#include "test/fuzz/Target.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace frit;

static void write(const std::string &path, llvm::StringRef bytes) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  os << bytes;
}

static std::string makeFolder() {
  llvm::SmallString<128> made;
  if (llvm::sys::fs::createUniqueDirectory("frit-fuzz", made))
    fuzz::broken("a folder for temporary files can be made");
  std::string path = made.str().str();
  std::string header =
      R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
      R"("b":{"dtype":"I64","shape":[3],"data_offsets":[24,48]},)"
      R"("c":{"dtype":"F16","shape":[4,4],"data_offsets":[48,80]}})";
  std::string file(8, '\0');
  llvm::support::endian::write64le(file.data(), header.size());
  file += header;
  for (int i = 0; i < 80; ++i)
    file += char(i);
  write(path + "/w.safetensors", file);
  write(path + "/w.bin", std::string(4096, '\1'));
  return path;
}

const std::string &frit::fuzz::folder() {
  static const std::string path = makeFolder();
  // Registered after the path's creation, so it runs before its destruction.
  [[maybe_unused]] static const int removed =
      atexit([] { llvm::sys::fs::remove_directories(folder()); });
  return path;
}

void frit::fuzz::compile(llvm::StringRef bytes,
                         llvm::function_ref<OwningOpRef<ModuleOp>(
                             const ImportOptions &, MLIRContext &)>
                             import) {
  // Only names that the model has: others would be an error.
  ImportOptions options;
  for (auto [name, size] : {std::pair("batch", 2), std::pair("sequence", 4)})
    if (bytes.contains(name))
      options.symbols[name] = size;
  MLIRContext &context = fuzz::context(loadImportDialects);
  unsigned before = errors();
  OwningOpRef<ModuleOp> model = import(options, context);
  if (!model) {
    if (errors() == before)
      broken("an input is refused only with an error");
    return;
  }
  if (failed(verify(*model)))
    broken("an imported module is valid");
  exportJson(*model, "w.safetensors", llvm::nulls());
  PassManager passes(&context);
  passes.addPass(createSimplify());
  passes.addPass(createCompose());
  passes.addPass(createSimplify());
  before = errors();
  if (failed(passes.run(*model)) && errors() == before)
    broken("a pass fails only with an error");
}
