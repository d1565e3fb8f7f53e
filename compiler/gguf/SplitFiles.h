//===- SplitFiles.h - Models in several GGUF files ------------------------===//

#ifndef FRIT_COMPILER_GGUF_SPLITFILES_H
#define FRIT_COMPILER_GGUF_SPLITFILES_H

#include "compiler/import/Import.h"
#include "compiler/support/Gguf.h"

#include "mlir/IR/Location.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <vector>

namespace frit::gguf {

/// The mapped files of a model.
using Buffers = std::vector<std::unique_ptr<llvm::MemoryBuffer>>;

/// Maps a file and reads it; `options` is called with it. Fails after an error
/// at the file.
llvm::LogicalResult readFile(llvm::StringRef path, const ImportOptions &options,
                             mlir::MLIRContext &context, Buffers &buffers,
                             GgufFile &file);

/// Returns how many files a model is split into; 1 of a whole one.
uint64_t splitCount(const GgufFile &file);

/// Adds the tensors of the others of a split model's files to those of `path`,
/// the first one, which has the keys.
llvm::LogicalResult readOtherFiles(llvm::StringRef path,
                                   const ImportOptions &options,
                                   mlir::MLIRContext &context, Buffers &buffers,
                                   GgufFile &file);

} // namespace frit::gguf

#endif // FRIT_COMPILER_GGUF_SPLITFILES_H
