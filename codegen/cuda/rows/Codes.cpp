//===- Codes.cpp - Codes of few bits --------------------------------------===//

#include "codegen/cuda/rows/Codes.h"

#include "codegen/cuda/target/Problem.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

nn::Legality cuda::checkCodes(const nn::QuantizedMatrix &matrix, Type to) {
  if (!isHalf(to))
    return nn::Mismatch("it is not computed in 16 bits");
  if (!nn::hasWholeTiles(matrix))
    return nn::Mismatch("its codes are no whole tiles");
  // A step of 4 words of codes has one scale.
  if (matrix.block % (4 * 32 / nn::bitsOf(matrix.code)) != 0)
    return nn::Mismatch("its blocks are too small");
  Type scale = nn::tensorType(matrix.scales).getElementType();
  if (!isHalf(scale) && !scale.isF32())
    return nn::Mismatch("its scales are too wide");
  return std::nullopt;
}

void cuda::addCodes(ProblemText &text, const nn::QuantizedMatrix &matrix) {
  text.addType("Scale", matrix.scales);
  text.addConstants("int", {{"block", matrix.block}});
  text.addConstants("bool", {{"hasOffsets", bool(matrix.offsets)}});
  text.addField("static constexpr frit::Code code = frit::Code::" +
                nn::nameOf(matrix.code) + ";");
}
