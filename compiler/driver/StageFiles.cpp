//===- StageFiles.cpp - Write --emit and -save-temps ----------------------===//

#include "compiler/driver/StageFiles.h"

#include "compiler/driver/ModelOutputs.h"
#include "compiler/driver/Outputs.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace frit;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

StageFiles::StageFiles(const DriverOptions &options) : options(options) {
  llvm::SmallString<128> path(options.output);
  llvm::sys::path::replace_extension(path, "");
  base = isStreamOutput(options.output) ? options.title : path.str().str();
}

/// Returns a regular expression that matches the names of stage files which
/// begin with `name`.
static std::string patternOf(StringRef name, const DriverOptions &options) {
  // The object of -c is the output itself.
  std::string object = options.emit == Emit::shared ? "|([0-9]+\\.)?o" : "";
  std::string archs;
  for (const std::string &arch : options.archs)
    archs += (archs.empty() ? "(" : "|") + llvm::Regex::escape(arch);
  archs += ")";
  std::string modules = "(nn(_[0-9]+)?|simplified|plan|" + archs + "\\.fused)";
  return "^" + llvm::Regex::escape(name) + "\\.((.+\\.)?(" + modules +
         "\\.mlir|" + archs + "\\.cu|" + archs +
         "(\\.[0-9]+)?\\.(ptx|cubin|ll|s))" + object + ")$";
}

Error StageFiles::check() const {
  if (!options.saveTemps)
    return Error::success();
  // Only files that exist can be in the way.
  llvm::Regex pattern(patternOf(llvm::sys::path::filename(base), options));
  StringRef folder = llvm::sys::path::parent_path(base);
  std::string place = folder.empty() ? "." : folder.str();
  protectNames(
      place, "a stage that -save-temps keeps",
      [pattern = patternOf(llvm::sys::path::filename(base), options)](
          std::string_view name) { return llvm::Regex(pattern).match(name); });
  std::error_code end;
  llvm::sys::fs::directory_iterator file(place, end);
  for (; !end && file != llvm::sys::fs::directory_iterator();
       file.increment(end)) {
    StringRef name = llvm::sys::path::filename(file->path());
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    if (pattern.match(name))
      if (std::error_code error = checkOutput(path.str().str()))
        return outputError(path, error);
  }
  return Error::success();
}

Error StageFiles::write(StringRef text) const {
  return writeText(options.output, text);
}

Error StageFiles::save(StringRef text, const Twine &ending) const {
  return options.saveTemps ? writeText((base + "." + ending).str(), text)
                           : Error::success();
}

Error StageFiles::save(mlir::ModuleOp module, const Twine &ending) const {
  return options.saveTemps ? save(printed(module), ending) : Error::success();
}

Error StageFiles::save(llvm::Module &module, llvm::TargetMachine &machine,
                       const Twine &stem) const {
  if (!options.saveTemps)
    return Error::success();
  std::string text;
  llvm::raw_string_ostream(text) << module;
  if (Error error = save(text, stem + ".ll"))
    return error;
  // Emitting assembly changes the module.
  auto clone = llvm::CloneModule(module);
  llvm::SmallString<0> assembly;
  llvm::raw_svector_ostream out(assembly);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr,
                                  llvm::CodeGenFileType::AssemblyFile))
    return llvm::createStringError("this target writes no assembly");
  passes.run(*clone);
  return save(assembly, stem + ".s");
}
