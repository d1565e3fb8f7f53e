//===- EmbedWeights.h - Weights behind the end of an ELF file -------------===//
//
// Gigabytes of weights go through neither the assembler nor the linker. The
// object that LLVM writes has a section that stands for them, and what comes
// out, of the assembler or of the linker, is told that this section lies behind
// the file's end. There the weights are copied from the files they are in.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_ARTIFACT_EMBEDWEIGHTS_H
#define FRIT_CODEGEN_ARTIFACT_EMBEDWEIGHTS_H

#include "codegen/artifact/Serialize.h"

#include "llvm/Support/Error.h"

namespace frit::artifact {

/// What the object file becomes.
enum class Form { object, shared };

/// Module-level assembly of the section that stands for the weights, at which
/// the local symbol `label` points.
std::string weightSection(Form form, llvm::StringRef label, uint64_t bytes);

/// Makes the section in `elf`, a whole file, `bytes` large. Returns the offset
/// behind the file's end at which the weights belong. In a shared library they
/// become a segment of their own, and the image named `symbol` points there.
llvm::Expected<uint64_t> reserveWeights(llvm::MutableArrayRef<char> elf,
                                        Form form, llvm::StringRef symbol,
                                        uint64_t bytes);

/// Writes a file of these bytes.
llvm::Error writeBytes(llvm::StringRef path, llvm::ArrayRef<char> bytes);

/// A file as it lies in memory, mapped.
struct MappedFile {
  std::string path;
  llvm::StringRef bytes;
};

/// Writes `head` and, from `offset` on, the weights to `path`. Those that lie
/// in one of the mapped files are copied from there without being read.
llvm::Error writeWithWeights(llvm::StringRef path, llvm::ArrayRef<char> head,
                             uint64_t offset, const Image &image,
                             llvm::ArrayRef<MappedFile> mapped);

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_EMBEDWEIGHTS_H
