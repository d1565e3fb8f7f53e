//===- IntegerText.h - The text of a product of bytes ---------------------===//

#ifndef FRIT_CODEGEN_CUDA_INTEGER_INTEGERTEXT_H
#define FRIT_CODEGEN_CUDA_INTEGER_INTEGERTEXT_H

#include "codegen/cuda/integer/IntegerProduct.h"

namespace frit::cuda {

/// What follows the sums.
struct IntegerEnd {
  int64_t vector; ///< neighbouring columns that are stored together
  /// Whether what it reads may come through boxes, and what it stores leave.
  bool readsBoxes, storesBoxes;
  std::string text;       ///< the struct Columns and the functions of the end
  std::string first = {}; ///< those of the other product, if there is one
  /// Bytes of a column that the ends read, or 0 if they are not all words.
  int64_t columnBytes = 0, firstColumnBytes = 0;
};

/// Prints what follows the sums, of which a thread has `neighbours` of a row;
/// or says why there is no text for it.
nn::Match<IntegerEnd> printEnd(const IntegerProduct &product,
                               const LinalgFusion &lowered, int64_t neighbours);

/// Adds the text of a product to a kernel that has its tensor maps: the struct
/// NAME_product of integer_gemm.cuh, NAME_first of byte_pair.cuh or
/// byte_chain.cuh if there are two products, and the function. `tile` is the
/// text of the tile's constants, `frame` has the rest of the declaration, and
/// `call` is the body.
void printProduct(KernelText &kernel, const IntegerProduct &product,
                  const IntegerEnd &end, const LinalgFusion &lowered,
                  llvm::StringRef name, llvm::StringRef tile, KernelFrame frame,
                  llvm::StringRef call);
/// Returns a call of `function`, or of `floor` on architectures without WGMMA;
/// both lack the closing parenthesis.
std::string callOrFloor(llvm::StringRef function, llvm::StringRef floor);

/// Return the names of the kernel's parameters: of an operand, and of the zero
/// points after a comma, unless the product is of floats.
std::string parameterOf(mlir::Value operand);
std::string zeroParameters(const IntegerProduct &product);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_INTEGER_INTEGERTEXT_H
