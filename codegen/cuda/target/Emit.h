//===- Emit.h - Fusions as CUDA C++ ---------------------------------------===//
//
// Every fusion becomes one kernel: a body written for it, given to a skeleton
// of device/. The parameters are one pointer per input of the fusion, x0, x1,
// ..., then one per output, y0, y1, ...; shapes are part of the text.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_TARGET_EMIT_H
#define FRIT_CODEGEN_CUDA_TARGET_EMIT_H

#include "codegen/cuda/scalar/Printer.h"
#include "codegen/cuda/target/CudaTarget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"

namespace frit::cuda {

/// A descriptor for tensor copies, which a kernel takes after its pointers. The
/// fields are those of #plan.tensor_map; no element strides means ones.
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
  std::string header; ///< the skeleton it includes: "map"
  std::string source;
  int64_t grid[3] = {1, 1, 1};
  int64_t block[3] = {1, 1, 1};
  int64_t sharedBytes = 0;
  /// Sums that a thread has in registers, over which the text unrolls.
  int64_t sums = 0;
  /// Kernels with some have another body for architectures without WGMMA.
  llvm::SmallVector<TensorMap, 0> tensorMaps;
  /// Values of the parameters n0, n1, ... that come last, 32 or 64 bits wide.
  llvm::SmallVector<int64_t, 1> scalars;
};

/// Who waits for the kernels before: the function that calls a skeleton, first
/// thing, or the skeleton, once it has done what needs no input.
enum class Waits { inFunction, inSkeleton };

/// The kernel `name` of a fusion, by the fusion's schedule or, where it has
/// none, the target's. Reports at the fusion what has no text.
llvm::FailureOr<KernelText>
emitKernel(nn::FusionOp fusion, llvm::StringRef name, const CudaTarget &target);

/// The linalg form of a fusion, in a module of its own.
class LinalgFusion {
public:
  explicit LinalgFusion(nn::FusionOp fusion);

  /// The tensor that a value of the fusion's body became.
  mlir::Value operator[](mlir::Value value) const {
    return values.lookup(value);
  }
  llvm::ArrayRef<mlir::Type> inputElements() const { return inputs; }
  /// The values the fusion yields, lowered.
  llvm::ArrayRef<mlir::Value> outputs() const { return results; }
  mlir::MLIRContext *context() const { return mlirContext; }
  /// The inputs that no kernel which may run just before this one writes, in
  /// the plan's words `plan.constant_inputs`.
  llvm::ArrayRef<int64_t> constantInputs() const { return constants; }
  /// What input `i` takes up.
  int64_t inputBytes(size_t i) const { return bytes[i]; }

private:
  mlir::MLIRContext *mlirContext;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::IRMapping values;
  llvm::SmallVector<mlir::Type> inputs;
  llvm::SmallVector<int64_t> bytes, constants;
  llvm::SmallVector<mlir::Value> results;
};

inline int64_t ceilDiv(int64_t x, int64_t y) { return (x + y - 1) / y; }

inline mlir::RankedTensorType rankedType(mlir::Value v) {
  return llvm::cast<mlir::RankedTensorType>(v.getType());
}
inline mlir::Type elementType(mlir::Value v) {
  return rankedType(v).getElementType();
}

/// "const float *x0, frit::f16 *y0": the kernel's parameters, and with
/// `asFields` the fields of a body; and "x0, y0".
std::string parameterList(const LinalgFusion &lowered, bool asFields = false);
std::string argumentList(const LinalgFusion &lowered);

/// Statements that keep `node` as element `offset` of output `y<output>`: in
/// the loop over lanes where `printer` is in it, with the vector's store after
/// it given back.
std::string storeOutput(Printer &printer, Graph &graph, unsigned output,
                        mlir::Type element, Node *node, llvm::StringRef offset);

/// A function's body, by four spaces, that keeps all of `outputs`, by number,
/// as elements `offset` of theirs, in vectors where there are lanes.
std::string storeOutputs(Printer &printer, Graph &graph,
                         const LinalgFusion &lowered,
                         llvm::ArrayRef<std::pair<unsigned, Node *>> outputs,
                         llvm::StringRef offset);

/// "static constexpr int64_t m = 8, n = 4;" from pairs of name and value.
std::string
constantsText(llvm::StringRef type,
              llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> constants);

/// What a kernel begins with: it lets the next one start, and has the constants
/// fetched that are read while it runs.
std::string startText(const LinalgFusion &lowered);

/// `extern "C" __global__ ... name(...) { call }`. After the pointers come
/// `mapCount` tensor maps, m0, m1, .... Its blocks stand in clusters of
/// `cluster`, and registers are shared out for `resident` of them beside each
/// other where that is not 0. `scalars` declares the last parameters, "unsigned
/// n0".
std::string kernelFunction(llvm::StringRef name, const LinalgFusion &lowered,
                           int64_t threads, llvm::StringRef call,
                           size_t mapCount = 0, Waits waits = Waits::inFunction,
                           int64_t cluster = 1, int64_t resident = 0,
                           llvm::StringRef scalars = "");

/// One emitter per skeleton; each reports why into `failure`.
llvm::FailureOr<KernelText> emitMap(const LinalgFusion &lowered,
                                    llvm::StringRef name,
                                    nn::ScheduleAttr schedule,
                                    std::string &failure);
llvm::FailureOr<KernelText>
emitRow(nn::FusionOp fusion, const LinalgFusion &lowered, llvm::StringRef name,
        nn::ScheduleAttr schedule, std::string &failure);
llvm::FailureOr<KernelText> emitTranspose(nn::FusionOp fusion,
                                          const LinalgFusion &lowered,
                                          llvm::StringRef name,
                                          std::string &failure);
llvm::FailureOr<KernelText> emitContraction(nn::FusionOp fusion,
                                            const LinalgFusion &lowered,
                                            llvm::StringRef name,
                                            nn::ScheduleAttr schedule,
                                            std::string &failure);

llvm::FailureOr<KernelText> emitDepthwise(nn::FusionOp fusion,
                                          const LinalgFusion &lowered,
                                          llvm::StringRef name,
                                          nn::ScheduleAttr schedule,
                                          std::string &failure);

/// Schedules of the skeletons that may take a fusion, or null with the reason.
nn::ScheduleAttr scheduleMap(const LinalgFusion &lowered);
nn::ScheduleAttr scheduleRow(nn::FusionOp fusion, const LinalgFusion &lowered,
                             std::string &reason);
nn::ScheduleAttr scheduleTranspose(nn::FusionOp fusion,
                                   const LinalgFusion &lowered,
                                   std::string &reason);
/// Whether a convolution of each channel by itself has a kernel: of an image,
/// by a window that is not too large.
bool takesDepthwise(llvm::ArrayRef<int64_t> window,
                    llvm::ArrayRef<int64_t> strides,
                    llvm::ArrayRef<int64_t> pads,
                    llvm::ArrayRef<int64_t> dilations);
nn::ScheduleAttr scheduleDepthwise(nn::FusionOp fusion, std::string &reason);
nn::ScheduleAttr scheduleContraction(nn::FusionOp fusion,
                                     const CudaOptions &options,
                                     std::string &reason);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_TARGET_EMIT_H
