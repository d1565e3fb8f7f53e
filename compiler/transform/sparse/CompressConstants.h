//===- CompressConstants.h - Constant matrices without their zeros --------===//

#ifndef FRIT_COMPILER_TRANSFORM_SPARSE_COMPRESSCONSTANTS_H
#define FRIT_COMPILER_TRANSFORM_SPARSE_COMPRESSCONSTANTS_H

#include "dialects/nn/operators/Sparse.h"

#include <map>
#include <tuple>

namespace frit {

/// The operands of nn.decompress, in the order of tiles.
struct CompressedConstant {
  mlir::ElementsAttr values, places;
};

/// Returns a constant matrix without its zeros, if it is 2:4 sparse along k and
/// has whole tiles. Its elements are floats of 32 or 16 bits, or, with a code,
/// codes of 8 bits. k runs along its rows, or down its columns if it is
/// transposed.
std::optional<CompressedConstant>
compressConstant(mlir::ElementsAttr value, bool transposed,
                 std::optional<nn::Code> code);

/// Such constants by value, whether it is transposed, and code; nothing of
/// those that are dense. The functions of a model share them.
using CompressedWeights =
    std::map<std::tuple<const void *, bool, std::optional<nn::Code>>,
             std::optional<CompressedConstant>>;

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_SPARSE_COMPRESSCONSTANTS_H
