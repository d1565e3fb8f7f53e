//===- WeightRounding.h - Codes of numbers and blocks ---------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_QUANTIZE_WEIGHTROUNDING_H
#define FRIT_COMPILER_TRANSFORM_QUANTIZE_WEIGHTROUNDING_H

#include "compiler/transform/quantize/WeightCodes.h"

namespace frit {

/// The scale of a block of numbers, and its bits in f16, or bf16 of e2m1.
struct BlockScale {
  float scale;
  uint16_t bits;
};

/// Returns the scale of the block of `numbers`, which their extreme decides.
BlockScale scaleOf(nn::Code code, llvm::ArrayRef<float> numbers);

/// Returns the code of the number that is nearest to `number`, and what it
/// stands for.
uint8_t codeOf(nn::Code code, float number, float scale);
float numberOf(nn::Code code, uint8_t bits, float scale);

/// Write and read element `i` of a row of codes. Those of 4 bits are written in
/// order.
void setCode(nn::Code code, uint8_t *row, int64_t i, uint8_t bits);
uint8_t getCode(nn::Code code, const uint8_t *row, int64_t i);

/// Returns the bits of a block's scale as a number.
float scaleNumber(nn::Code code, uint16_t bits);

/// Makes the codes and the scales of a row's numbers. Returns whether they are
/// finite. May be called from several threads.
using RoundRow = llvm::function_ref<bool(llvm::ArrayRef<float> numbers,
                                         uint8_t *codes, uint16_t *scales)>;

/// Rounds a matrix as roundWeights does, each row by `round`.
std::optional<WeightCodes> roundRows(mlir::ElementsAttr matrix, bool transposed,
                                     WeightFormat format, RoundRow round);

/// Calls `visit` with the numbers of up to `most` rows of a matrix that can be
/// rounded, and the numbers that its codes stand for.
void compareRows(mlir::ElementsAttr matrix, bool transposed,
                 WeightFormat format, const WeightCodes &codes, int64_t most,
                 llvm::function_ref<void(llvm::ArrayRef<float> numbers,
                                         llvm::ArrayRef<float> rounded)>
                     visit);

/// Rounds a row to the nearest codes. Returns whether its numbers are finite.
bool roundNearest(llvm::ArrayRef<float> numbers, WeightFormat format,
                  uint8_t *codes, uint16_t *scales);

/// Visits the first `most` rows and what `round` makes of them.
void tryRows(mlir::ElementsAttr value, bool transposed, WeightFormat format,
             int64_t most, RoundRow round,
             llvm::function_ref<void(llvm::ArrayRef<float> numbers,
                                     llvm::ArrayRef<float> made)>
                 visit);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_QUANTIZE_WEIGHTROUNDING_H
