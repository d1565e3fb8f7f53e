//===- Verify.h - Guesses of the next tokens ------------------------------===//

#ifndef FRIT_COMPILER_DECODER_VERIFY_H
#define FRIT_COMPILER_DECODER_VERIFY_H

#include "dialects/nn/NN.h"

namespace frit::decoder {

/// What a call of FRIT_FUNCTION_VERIFY keeps of each sequence, i32.
struct Verified {
  mlir::Value kept; ///< batch: tokens of the call that stay in the caches
  mlir::Value next; ///< batch × 1: the likeliest token after the last of them
};

/// Builds what is kept of `tokens`, batch × rows, of which `count` of each
/// sequence count: the first, and those after it as long as each is the
/// likeliest one after the token before it. `likeliest` is batch × rows, the
/// likeliest token after each. Nothing is kept of a sequence whose count is 0.
Verified acceptGuesses(nn::NNBuilder &b, mlir::Value tokens,
                       mlir::Value likeliest, mlir::Value count);

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_VERIFY_H
