//===- KernelText.h - A kernel as CUDA C++ --------------------------------===//
//
// Every fusion becomes one kernel: a body printed for it, which a skeleton's
// device code calls. The parameters are one pointer per input of the fusion,
// x0, x1, ..., then one per output, y0, y1, ...; shapes are part of the text.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_SCALAR_KERNELTEXT_H
#define FRIT_CODEGEN_CUDA_SCALAR_KERNELTEXT_H

#include "codegen/cuda/scalar/LinalgFusion.h"
#include "codegen/cuda/scalar/Printer.h"
#include "frit/artifact.h"

namespace frit::cuda {

/// Returns the TMA descriptor of a tensor. Dimensions are innermost first;
/// `strides` are the byte strides of all but the innermost. `argument` is the
/// number of the tensor's pointer: inputs first, then outputs. With `box`, it
/// copies boxes of that many elements.
artifact::TensorMap tensorMap(unsigned argument, mlir::Type element,
                              llvm::ArrayRef<int64_t> dims,
                              llvm::ArrayRef<int64_t> strides,
                              llvm::ArrayRef<int64_t> box = {});

/// A kernel's source text and launch configuration.
struct KernelText {
  std::string header; ///< name of the device header it includes: "map"
  std::string source;
  int64_t grid[3] = {1, 1, 1};
  int64_t block[3] = {1, 1, 1};
  int64_t sharedBytes = 0;
  /// Accumulators of a thread. Device code unrolls over them, so compile time
  /// grows with their number.
  int64_t sums = 0;
  /// NVRTC's approximate time for the device code that it includes.
  double headerMilliseconds = 0;
  /// TMA descriptors, passed after the pointers. Kernels that use them also
  /// contain a second body for architectures without WGMMA.
  llvm::SmallVector<artifact::TensorMap, 0> tensorMaps;
  /// Whether it has such a body although it uses no TMA.
  bool hasFloor = false;
  /// Values of the last parameters n0, n1, ..., which are 32 or 64 bits wide.
  llvm::SmallVector<int64_t, 1> scalars;
  /// Whether every block waits for the kernels before it (PDL).
  bool waits = true;
  /// Users' texts that precede it, and their include directories. `symbol` is
  /// the kernel that one of the texts defines, or empty.
  std::vector<std::string> preludes, folders;
  std::string symbol;
};

/// Place of the PDL wait: at the kernel's entry, or in the skeleton after work
/// that needs no input.
enum class PdlWait { atEntry, inSkeleton };

/// The parts of a kernel's declaration besides its parameters.
struct KernelFrame {
  int64_t threads;       ///< threads per block
  size_t tensorMaps = 0; ///< parameters m0, m1, ... after the pointers
  PdlWait wait = PdlWait::atEntry;
  int64_t cluster = 1; ///< blocks per cluster
  /// Minimum blocks per SM, which bounds the registers of a thread; 0 leaves
  /// the bound to the compiler.
  int64_t occupancy = 0;
  std::string scalars = ""; ///< the last parameters, "unsigned n0"
};

/// Returns `extern "C" __global__ ... name(...) { call }`.
std::string kernelFunction(llvm::StringRef name, const LinalgFusion &lowered,
                           const KernelFrame &frame, llvm::StringRef call);

/// Returns the kernel's parameters, such as "const float *x0, frit::f16 *y0",
/// or with `asFields` the fields of a body.
std::string parameterList(const LinalgFusion &lowered, bool asFields = false);
/// Returns the names of all pointers: "x0, y0".
std::string argumentList(const LinalgFusion &lowered);

/// Prints the store of `node` to element `offset` of output `y<output>`. Inside
/// a loop over lanes returns the vector store, to be printed after the loop;
/// else returns "". The store is done if `condition`, "if (...) ", holds and,
/// of what follows sums of bytes, the variable `guard`. An empty `offset`
/// stores to the variable `to`.
std::string storeOutput(Printer &printer, Graph &graph, unsigned output,
                        mlir::Type element, Node *node, llvm::StringRef offset,
                        llvm::StringRef condition = "",
                        llvm::StringRef guard = "");

/// Returns a function body, indented by four spaces, that stores `outputs` (by
/// number) at element `offset`, as vectors if there are lanes. Rows of a state
/// are stored where its update places them.
std::string storeOutputs(Printer &printer, Graph &graph,
                         const LinalgFusion &lowered,
                         llvm::ArrayRef<std::pair<unsigned, Node *>> outputs,
                         llvm::StringRef offset, llvm::StringRef guard = "");

/// Returns "static constexpr int64_t m = 8, n = 4;" from pairs of name and
/// value.
std::string
constantsText(llvm::StringRef type,
              llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> constants);

/// Returns a kernel's first statements, which let the next kernel start (PDL)
/// and prefetch small constants into L2.
std::string startText(const LinalgFusion &lowered);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_SCALAR_KERNELTEXT_H
