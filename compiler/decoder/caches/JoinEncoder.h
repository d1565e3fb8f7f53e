//===- JoinEncoder.h - An encoder and what decoders read of it ------------===//

#ifndef FRIT_COMPILER_DECODER_CACHES_JOINENCODER_H
#define FRIT_COMPILER_DECODER_CACHES_JOINENCODER_H

#include "compiler/decoder/caches/Caches.h"

#include <string>
#include <vector>

namespace frit::decoder {

/// A state of a source: what decoders read of what an encoder gives.
struct SourceState {
  std::string name;            ///< of the decoder's input
  mlir::RankedTensorType type; ///< for as many places as the caches hold
};

/// Returns the states of the source of a function that bindCaches has made.
std::vector<SourceState> sourceStates(mlir::ModuleOp module);

/// Returns what a decoder takes of an imported encoder: its first output of
/// floats of batch × places × width. Null if it has none.
mlir::Value encodedOf(mlir::ModuleOp encoder);

/// Turns @main of an imported encoder into FRIT_FUNCTION_ENCODE.
///
/// The encoder takes tokens, batch × `count`, and a mask of them, or a sound.
/// `decoder` was imported for as many places: its results with the names of
/// `states`, where "present" stands for "past_key_values", fill the caches of
/// the source. Fails after reporting what does not fit.
llvm::LogicalResult joinEncoder(mlir::ModuleOp encoder, mlir::ModuleOp decoder,
                                llvm::ArrayRef<SourceState> states,
                                int64_t batch, int64_t count);

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_CACHES_JOINENCODER_H
