//===- ObjectFile.h - Write the object file -------------------------------===//

#ifndef FRIT_CODEGEN_ARTIFACT_OBJECTFILE_H
#define FRIT_CODEGEN_ARTIFACT_OBJECTFILE_H

#include "codegen/artifact/EmbedWeights.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace frit::artifact {

/// The symbol by which frit_module_load finds the image in a shared library.
inline constexpr llvm::StringLiteral kLibrarySymbol = "frit_model_image";

/// Copies the definitions of `from`, possibly of another context, to `module`.
void copyInto(llvm::Module &module, const llvm::Module &from);

/// Adds the image to `module`: the plan, the table of kernels, the `frit_image`
/// named `symbol` and the placeholder section of the weights. An object has its
/// kernels in the module too; all other symbols of it become local, so that any
/// number of models link into one program. A shared library is linked with the
/// objects of its kernels, and gets the alias kLibrarySymbol.
void addImage(llvm::Module &module, const Image &image, llvm::StringRef symbol,
              Form form);

/// Compiles `module` to an object file in memory.
llvm::SmallVector<char, 0> compileObject(llvm::Module &module,
                                         llvm::TargetMachine &machine);

/// Returns a C header for programs that link the object of `image`: a reference
/// to the image that is checked when it is opened, and a comment with the
/// inputs, outputs and symbolic dimensions of each function, and the size of
/// the state.
std::string writeHeader(mlir::ModuleOp module, const Image &image,
                        llvm::StringRef symbol, llvm::StringRef model,
                        const plan::FunctionShapes &shapes = {});

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_OBJECTFILE_H
