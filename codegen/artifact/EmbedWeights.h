//===- EmbedWeights.h - Append weights to an ELF file ---------------------===//
//
// Keeps weights, which may be gigabytes, out of the assembler and the linker.
// The object that LLVM writes has an empty placeholder section. In the
// assembled or linked file, that section is made to refer to the space after
// the end, and the weights are copied there directly from their files.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_ARTIFACT_EMBEDWEIGHTS_H
#define FRIT_CODEGEN_ARTIFACT_EMBEDWEIGHTS_H

#include "codegen/artifact/Serialize.h"

#include "llvm/Support/Error.h"
#include "llvm/TargetParser/Triple.h"

namespace frit::artifact {

/// The artifact: an object file or a shared library.
enum class Form { object, shared };

/// Returns module-level assembly for the placeholder section of the weights,
/// with the local symbol `label` at its start.
std::string weightSection(Form form, const llvm::Triple &triple,
                          llvm::StringRef label, uint64_t bytes);

/// Enlarges the placeholder section in `elf`, a whole file, to `bytes`. Returns
/// the file offset at which the weights belong. In a shared library they get
/// their own segment, and the image `symbol` is relocated to it.
llvm::Expected<uint64_t> reserveWeights(llvm::MutableArrayRef<char> elf,
                                        Form form, llvm::StringRef symbol,
                                        uint64_t bytes);

/// Writes `bytes` to a file.
llvm::Error writeBytes(llvm::StringRef path, llvm::ArrayRef<char> bytes);

/// A memory-mapped file.
struct MappedFile {
  std::string path;
  llvm::StringRef bytes;
};

/// Writes `head` and, from `offset` on, the weights to `path`. Weights in
/// mapped files are copied by the kernel without being read.
llvm::Error writeWithWeights(llvm::StringRef path, llvm::ArrayRef<char> head,
                             uint64_t offset, const Image &image,
                             llvm::ArrayRef<MappedFile> mapped);

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_EMBEDWEIGHTS_H
