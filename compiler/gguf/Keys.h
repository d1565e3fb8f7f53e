//===- Keys.h - What a GGUF file's keys say of a decoder ------------------===//

#ifndef FRIT_COMPILER_GGUF_KEYS_H
#define FRIT_COMPILER_GGUF_KEYS_H

#include "compiler/decoder/Config.h"
#include "compiler/support/Gguf.h"

#include "mlir/IR/Location.h"

#include <optional>

namespace frit::gguf {

/// Reads the configuration of a model. None after errors at `loc`: the
/// architecture is unknown, or a key is missing, wrong, or says something that
/// the builder does not have.
std::optional<decoder::DecoderConfig> readKeys(const GgufFile &file,
                                               mlir::Location loc);

/// Returns whether rows of queries and keys are stored in another order: the
/// two elements of a head that rotate together are neighbours.
bool hasPairedRows(const decoder::DecoderConfig &config);

} // namespace frit::gguf

#endif // FRIT_COMPILER_GGUF_KEYS_H
