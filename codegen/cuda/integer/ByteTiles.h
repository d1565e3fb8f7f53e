//===- ByteTiles.h - Products of bytes on sm_90a --------------------------===//

#ifndef FRIT_CODEGEN_CUDA_INTEGER_BYTETILES_H
#define FRIT_CODEGEN_CUDA_INTEGER_BYTETILES_H

#include "codegen/cuda/contraction/Wgmma.h"
#include "codegen/cuda/integer/IntegerProduct.h"

namespace frit::cuda {

/// Bytes of a step of k; columns of which filters are dealt out together; and
/// bytes of TMA's units.
inline constexpr int64_t kByteDepth = kLineBytes, kDealt = 32, kUnit = 16;

/// Returns why wgmma_bytes.cuh does not compute a product, or byte_pair.cuh
/// two.
nn::Legality checkWgmmaBytes(const IntegerProduct &product,
                             const Machine &machine);

/// Returns whether the pixels of y are those of x: TMA then reads a matrix.
bool isByteProduct(const IntegerProduct &product);

/// A convolution as TMA reads it: with `rows`, the s taps of a row are one tap
/// of s · c channels, since they never leave x on the left or right.
struct ByteWindows {
  int64_t c, width, s;
  bool rows;
};
ByteWindows windowsOf(const IntegerProduct &product);

/// Returns the taps of a step of k: several if they have few channels.
int64_t tapsOfByteStep(const IntegerProduct &product);

/// Return the lower and the upper corner of TMA's im2col mode, width first.
std::pair<llvm::SmallVector<int64_t, 3>, llvm::SmallVector<int64_t, 3>>
byteCorners(const IntegerProduct &product);

/// Returns the map of w, which deals filters out to columns, `count` at a time;
/// a thread has neighbours of `group` matrices of 8 columns.
artifact::TensorMap mapOfFilters(const IntegerProduct &product, int64_t count,
                                 int64_t group = 4);

/// Returns the schedule of byte_rows.cuh, if that computes a convolution and is
/// faster than products of pixels.
std::optional<nn::Schedule> chooseByteRows(const IntegerProduct &product,
                                           Problem &problem,
                                           const Machine &machine);

/// Describes a product, or two, to the model of WGMMA's tiles. `problem` is the
/// product with what follows its sums.
WgmmaWork workOf(const IntegerProduct &product, Problem &problem);

/// Returns whether blocks may divide the steps of k.
bool maySplit(const IntegerProduct &product, const Machine &machine);

/// Returns a tile with the rest of its schedule. If a block's tiles can have
/// the same columns, and the stages hold all steps of k, these are read once.
WgmmaTile byteTile(const WgmmaTile &pick, const WgmmaWork &work,
                   const GpuArch &arch);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_INTEGER_BYTETILES_H
