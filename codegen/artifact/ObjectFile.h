//===- ObjectFile.h - Writes the object file ------------------------------===//

#ifndef FRIT_CODEGEN_ARTIFACT_OBJECTFILE_H
#define FRIT_CODEGEN_ARTIFACT_OBJECTFILE_H

#include "codegen/artifact/Serialize.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace frit::artifact {

/// Adds the image to `module`, which holds its host kernels: the plan, the
/// table of kernels and the `frit_image` named `symbol`. The weights are read
/// from `weightsFile` when the object is written.
void addImage(llvm::Module &module, const Image &image, llvm::StringRef symbol,
              llvm::StringRef weightsFile);

/// Writes the weights, each at its offset, to `path`.
llvm::Error writeWeights(const Image &image, llvm::StringRef path);

/// Compiles `module` to an object at `path`.
llvm::Error writeObject(llvm::Module &module, llvm::TargetMachine &machine,
                        llvm::StringRef path);

/// A C header for an application that links the object: the image's
/// declaration and the model's inputs and outputs.
std::string writeHeader(mlir::ModuleOp module, llvm::StringRef symbol,
                        llvm::StringRef model);

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_OBJECTFILE_H
