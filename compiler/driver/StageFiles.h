//===- StageFiles.h - Write --emit and -save-temps ------------------------===//

#ifndef FRIT_COMPILER_DRIVER_STAGEFILES_H
#define FRIT_COMPILER_DRIVER_STAGEFILES_H

#include "compiler/driver/options/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace frit {

/// The stages of a compilation as files. With -save-temps they lie beside the
/// output and begin with its name: net.nn.mlir, net.sm_90a.cu.
class StageFiles {
public:
  explicit StageFiles(const DriverOptions &options);

  /// Fails if -save-temps could write onto an input or into a folder. Knows the
  /// inputs that have been read so far. Keeps later outputs from the stages'
  /// names.
  llvm::Error check() const;

  /// Writes the stage of --emit.
  llvm::Error write(llvm::StringRef text) const;

  /// Saves a stage if -save-temps is given. The file's name ends with `ending`,
  /// such as "nn.mlir".
  llvm::Error save(llvm::StringRef text, const llvm::Twine &ending) const;
  llvm::Error save(mlir::ModuleOp module, const llvm::Twine &ending) const;
  /// Saves the LLVM IR of host kernels, and their assembly.
  llvm::Error save(llvm::Module &module, llvm::TargetMachine &machine,
                   const llvm::Twine &stem) const;

private:
  const DriverOptions &options;
  /// The beginning of the files' names.
  std::string base;
};

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_STAGEFILES_H
