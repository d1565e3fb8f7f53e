//===- Model.h - Decoder language models from GGUF files ------------------===//

#ifndef FRIT_COMPILER_GGUF_MODEL_H
#define FRIT_COMPILER_GGUF_MODEL_H

#include "compiler/decoder/Decoder.h"

namespace frit::gguf {

/// Returns whether a file begins as GGUF files do.
bool isModel(llvm::StringRef path);

/// Reads a file that may be damaged, or the first of several and the others.
/// Null after errors at a file. They stay mapped as long as the context lives;
/// `options` is called with each.
std::unique_ptr<decoder::Decoder> readModel(llvm::StringRef path,
                                            const ImportOptions &options,
                                            mlir::MLIRContext &context);

/// Reads a file's bytes.
std::unique_ptr<decoder::Decoder>
readModel(std::unique_ptr<llvm::MemoryBuffer> buffer, mlir::Location loc);

} // namespace frit::gguf

#endif // FRIT_COMPILER_GGUF_MODEL_H
