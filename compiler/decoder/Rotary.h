//===- Rotary.h - Tables of rotary positions ------------------------------===//

#ifndef FRIT_COMPILER_DECODER_ROTARY_H
#define FRIT_COMPILER_DECODER_ROTARY_H

#include "compiler/decoder/Config.h"
#include "dialects/nn/NN.h"

namespace frit::decoder {

/// Cosines and sines of each position's angles, f32 constants. Element i of the
/// first half of a head and element i of the second are a pair.
struct RotaryTables {
  mlir::Value cosines; ///< positions × 1 × size/2
  mlir::Value sines;   ///< positions × 2 × size/2, negative for the first half
};

/// The same as attributes, which functions share.
struct RotaryAttrs {
  mlir::ElementsAttr cosines, sines;
};

/// Returns radians per position of each pair, in f32.
std::vector<float> rotaryFrequencies(const RotaryConfig &rotary,
                                     int64_t positions);

/// Returns the factor of cosines and sines.
double rotaryFactor(const RotaryConfig &rotary);

/// Computes the tables for a context of `positions`.
RotaryAttrs computeRotary(const RotaryConfig &rotary, int64_t positions,
                          mlir::MLIRContext &context);

/// Builds x, batch×queries×heads×size, with the first `2 · size/2` elements of
/// each head rotated in f32. The rows are those of the tables at each position:
/// batch×queries×1×size/2 and batch×queries×2×size/2.
mlir::Value rotate(nn::NNBuilder &b, mlir::Value x, const RotaryTables &rows);

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_ROTARY_H
