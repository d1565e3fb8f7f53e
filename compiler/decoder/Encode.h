//===- Encode.h - Encoders that a decoder attends to ----------------------===//

#ifndef FRIT_COMPILER_DECODER_ENCODE_H
#define FRIT_COMPILER_DECODER_ENCODE_H

#include "compiler/decoder/Sizes.h"
#include "compiler/decoder/Weights.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace frit::decoder {

/// Builds @main of FRIT_FUNCTION_ENCODE for a model that has an encoder, and
/// for `places` tokens of its source; a sound has all places. As buildFunction.
mlir::OwningOpRef<mlir::ModuleOp> buildEncoder(const DecoderConfig &config,
                                               DecoderWeights &weights,
                                               const DecoderSizes &sizes,
                                               int64_t places);

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_ENCODE_H
