//===- IntegerProduct.h - Products of bytes on NVIDIA GPUs ----------------===//
//
// Floats of 8 bits are multiplied like bytes without zero points: the kernels
// copy, arrange and store them in the same way.

#ifndef FRIT_CODEGEN_CUDA_INTEGER_INTEGERPRODUCT_H
#define FRIT_CODEGEN_CUDA_INTEGER_INTEGERPRODUCT_H

#include "codegen/cuda/target/Skeleton.h"

namespace frit::cuda {

/// The sizes of a quantized convolution; a product of matrices is one of images
/// of one pixel.
struct IntegerProduct {
  nn::QuantizedConvOp op;
  /// Another product of the fusion, and the bytes that it becomes, which the
  /// end of this one reads; null if there is none. Or, with `isChain`, this one
  /// multiplies these bytes.
  nn::QuantizedConvOp first = {};
  mlir::Value firstCodes = {};
  bool isChain = false;
  int64_t n = 0, h = 1, w = 1, c = 0; ///< x
  int64_t k = 0, r = 1, s = 1;        ///< filters and their size
  int64_t p = 1, q = 1;               ///< y
  int64_t strideH = 1, strideW = 1, dilationH = 1, dilationW = 1;
  int64_t padTop = 0, padLeft = 0;
  bool signedX = false, signedW = false;
  /// Whether both zero points are known to be 0; floats have none.
  bool isCentered = false;
  /// Instructions of the end per sum.
  double endInstructions = 6;
  /// Bytes that the end reads for each sum, of tensors of the result's size.
  int64_t addedBytes = 0;
  /// The only such tensor, if it has bytes.
  std::optional<unsigned> boxed;
  /// Whether its one result, of 8 or 16 bits, is stored through boxes.
  bool storesBoxes = false;
  /// The formats of floats as integer_mma.cuh names them; empty for bytes.
  llvm::StringRef floatX = {}, floatW = {};

  bool hasFloats() const { return !floatX.empty(); }
  int64_t pixels() const { return n * p * q; }
  int64_t depth() const { return r * s * c; }
};

/// Describes an operator, or says why the kernels of bytes do not compute it:
/// they compute sums alone, of one group.
nn::Match<IntegerProduct> describeProduct(nn::QuantizedConvOp op);

/// Describes the product of a fusion, or says why its kernel does not compute
/// the whole: every result has an element for each sum. If there are two
/// products, it is the one that reads the other's codes.
nn::Match<IntegerProduct> describeProduct(nn::FusionOp fusion);

/// Describes the other product of a fusion that describeProduct has described.
IntegerProduct describeFirst(const IntegerProduct &product);

/// Describes operators as such a pair of products, or says why they are none:
/// one becomes bytes, by operators in a row, which the other's end reads; both
/// have as many sums; and no other tensor of that size is read.
nn::Match<IntegerProduct>
describePair(llvm::ArrayRef<mlir::Operation *> operators);

/// Describes operators as a product that becomes bytes, by operators in a row,
/// and one that alone multiplies these, or says why they are none.
nn::Match<IntegerProduct>
describeChain(llvm::ArrayRef<mlir::Operation *> operators);

/// Returns whether stores through boxes are faster than those of threads.
bool favorsBoxes(const IntegerProduct &product, const GpuArch &arch);

/// Describes an operator or a fusion, or says why the target does not compute
/// it.
template <class Source>
nn::Match<IntegerProduct> describeFor(Source source, const Machine &machine) {
  nn::Match<IntegerProduct> product = describeProduct(source);
  if (product && product->hasFloats() && !machine.arch.hasFloat8())
    return nn::Mismatch("the target does not multiply floats of 8 bits");
  if (product && product->storesBoxes)
    product->storesBoxes = favorsBoxes(*product, machine.arch);
  return product;
}

/// Returns the schedule with the least estimated time, of either skeleton.
nn::Match<nn::Schedule> chooseIntegerKernel(Problem &problem,
                                            const Machine &machine);

/// Offers that schedule if it is of a skeleton's Attr, or says why there is
/// none.
template <class Attr>
nn::Legality offerChosen(Problem &problem, const Machine &machine,
                         Offers &offers) {
  auto chosen = chooseIntegerKernel(problem, machine);
  if (!chosen)
    return chosen.mismatch();
  if (auto schedule = dyn_cast<Attr>(*chosen))
    offers.add(schedule);
  return std::nullopt;
}

/// Returns the schedules of a product, the one with the least estimated time
/// first, at most `most`.
llvm::SmallVector<IntegerGemmAttr>
rankTiles(const IntegerProduct &product, const GpuArch &arch, unsigned most);

/// Returns the estimated time of a product in microseconds.
double estimateTime(const IntegerProduct &product, IntegerGemmAttr schedule,
                    const GpuArch &arch);

/// Returns the threads of a block and the bytes of its shared memory.
int64_t threadsOf(IntegerGemmAttr schedule);
int64_t sharedBytesOf(IntegerGemmAttr schedule);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_INTEGER_INTEGERPRODUCT_H
