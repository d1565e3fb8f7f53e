//===- Build.h - Decoder language models as nn modules --------------------===//

#ifndef FRIT_COMPILER_DECODER_BUILD_H
#define FRIT_COMPILER_DECODER_BUILD_H

#include "compiler/decoder/Sizes.h"
#include "compiler/decoder/Weights.h"

#include "frit/roles.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace frit::decoder {

/// Builds the function @main of FRIT_FUNCTION_PREFILL or FRIT_FUNCTION_VERIFY
/// for `chunk` tokens of each sequence, or of FRIT_FUNCTION_DECODE for one
/// (runtime/include/frit/roles.h), or of FRIT_FUNCTION_ENCODE for a source of
/// `chunk` tokens or, of a sound, 2 · `chunk` frames. Inputs are the first
/// arguments; each state is an argument and a result. A sequence whose `count`
/// is 0 keeps its next token, and its logits mean nothing. Null after errors,
/// which name the tensors of the weights that do not fit.
mlir::OwningOpRef<mlir::ModuleOp> buildFunction(const DecoderConfig &config,
                                                DecoderWeights &weights,
                                                const DecoderSizes &sizes,
                                                frit_function_role role,
                                                int64_t chunk);

/// Returns the bytes of the caches of all sequences.
int64_t cacheBytes(const DecoderConfig &config, const DecoderSizes &sizes);

/// Returns the bytes of the keys and values of all sources.
int64_t sourceBytes(const DecoderConfig &config, const DecoderSizes &sizes);

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_BUILD_H
