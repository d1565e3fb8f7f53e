//===- ObjectFile.h - Writes the object file ------------------------------===//

#ifndef FRIT_CODEGEN_ARTIFACT_OBJECTFILE_H
#define FRIT_CODEGEN_ARTIFACT_OBJECTFILE_H

#include "codegen/artifact/EmbedWeights.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace frit::artifact {

/// The symbol by which frit_module_load finds the image of any shared library.
inline constexpr llvm::StringLiteral kLibrarySymbol = "frit_model_image";

/// Adds the image to `module`, which holds its host kernels: the plan, the
/// table of kernels, the `frit_image` named `symbol` and a section that stands
/// for the weights. Only `symbol` is left global, and in a shared library
/// kLibrarySymbol, a second name of it: any number of models link into one
/// program.
void addImage(llvm::Module &module, const Image &image, llvm::StringRef symbol,
              Form form);

/// Compiles `module` to the bytes of an object.
llvm::Expected<llvm::SmallVector<char, 0>>
compileObject(llvm::Module &module, llvm::TargetMachine &machine);

/// A C header for an application that links the object: the image's
/// declaration, the model's inputs and outputs and what of their shapes is
/// open.
std::string writeHeader(mlir::ModuleOp module, llvm::StringRef symbol,
                        llvm::StringRef model,
                        const plan::OpenShapes &shapes = {});

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_OBJECTFILE_H
