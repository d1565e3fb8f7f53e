//===- KernelText.h - A kernel as CUDA C++ --------------------------------===//
//
// Every fusion becomes one kernel: a body written for it, given to a skeleton's
// device code. The parameters are one pointer per input of the fusion, x0, x1,
// ..., then one per output, y0, y1, ...; shapes are part of the text.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_SCALAR_KERNELTEXT_H
#define FRIT_CODEGEN_CUDA_SCALAR_KERNELTEXT_H

#include "codegen/cuda/scalar/LinalgFusion.h"
#include "codegen/cuda/scalar/Printer.h"

namespace frit::cuda {

/// A TMA descriptor, which a kernel takes after its pointers. The fields are
/// those of #plan.tensor_map; no element strides means ones.
struct TensorMap {
  unsigned argument = 0; ///< the pointer: inputs come first, then outputs
  int64_t offset = 0;    ///< bytes
  mlir::Type type;
  bool im2col = false;
  llvm::SmallVector<int64_t, 5> dims;
  llvm::SmallVector<int64_t, 4> strides; ///< bytes
  llvm::SmallVector<int64_t, 5> box;
  llvm::SmallVector<int64_t, 5> elementStrides;
  int64_t swizzle = 0;
  llvm::SmallVector<int64_t, 3> lower, upper;
  int64_t channels = 0, pixels = 0;
};

/// A kernel's text and how it is launched.
struct KernelText {
  std::string header; ///< the device code it includes: "map"
  std::string source;
  int64_t grid[3] = {1, 1, 1};
  int64_t block[3] = {1, 1, 1};
  int64_t sharedBytes = 0;
  /// Accumulators of a thread, over which device code unrolls; what compiling
  /// takes grows with it.
  int64_t sums = 0;
  /// Kernels that have some carry a second body, for architectures without
  /// WGMMA.
  llvm::SmallVector<TensorMap, 0> tensorMaps;
  /// Values of the parameters n0, n1, ... that come last, 32 or 64 bits wide.
  llvm::SmallVector<int64_t, 1> scalars;
};

/// Where a kernel waits for the kernels before it (PDL): at its entry, or later
/// in the skeleton, once that has done what needs no input.
enum class PdlWait { atEntry, inSkeleton };

/// What a kernel's declaration says besides its parameters.
struct KernelFrame {
  int64_t threads;       ///< of a block
  size_t tensorMaps = 0; ///< parameters m0, m1, ... after the pointers
  PdlWait wait = PdlWait::atEntry;
  int64_t cluster = 1; ///< blocks of a cluster
  /// Blocks that share an SM, for which registers are divided up; 0 leaves the
  /// number of registers to the compiler.
  int64_t occupancy = 0;
  std::string scalars = ""; ///< the last parameters, "unsigned n0"
};

/// `extern "C" __global__ ... name(...) { call }`.
std::string kernelFunction(llvm::StringRef name, const LinalgFusion &lowered,
                           const KernelFrame &frame, llvm::StringRef call);

/// "const float *x0, frit::f16 *y0": the kernel's parameters, and with
/// `asFields` the fields of a body.
std::string parameterList(const LinalgFusion &lowered, bool asFields = false);
/// "x0, y0".
std::string argumentList(const LinalgFusion &lowered);

/// Prints `node`, stored as element `offset` of output `y<output>`. Inside a
/// loop over lanes returns the store of the whole vector, which belongs behind
/// the loop; else "".
std::string storeOutput(Printer &printer, Graph &graph, unsigned output,
                        mlir::Type element, Node *node, llvm::StringRef offset);

/// A function's body, indented by four spaces, that stores all of `outputs`,
/// given by number, at element `offset`, as vectors where there are lanes.
std::string storeOutputs(Printer &printer, Graph &graph,
                         const LinalgFusion &lowered,
                         llvm::ArrayRef<std::pair<unsigned, Node *>> outputs,
                         llvm::StringRef offset);

/// "static constexpr int64_t m = 8, n = 4;" from pairs of name and value.
std::string
constantsText(llvm::StringRef type,
              llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> constants);

/// A kernel's first statements: they let the next kernel start (PDL) and
/// prefetch small constants into L2.
std::string startText(const LinalgFusion &lowered);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_SCALAR_KERNELTEXT_H
