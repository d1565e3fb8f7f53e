//===- Serialize.h - Serialize a plan for the runtime ---------------------===//

#ifndef FRIT_CODEGEN_ARTIFACT_SERIALIZE_H
#define FRIT_CODEGEN_ARTIFACT_SERIALIZE_H

#include "dialects/plan/OpenShapes.h"
#include "dialects/plan/Plan.h"
#include "frit/artifact.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <list>
#include <string>
#include <vector>

namespace frit::artifact {

/// Device code of one target, indexed by its kernels' `module`; empty for a CPU
/// target.
struct TargetCode {
  struct Module {
    std::string cubin;
    std::string ptx;
  };
  std::vector<Module> modules;
};

/// The bytes of a constant.
struct WeightRun {
  uint64_t offset = 0;        ///< from the start of the weights
  llvm::ArrayRef<char> bytes; ///< owned by the constant's attribute
};

/// The contents of an object file.
struct Image {
  std::string plan;
  llvm::SmallVector<WeightRun> weights;
  uint64_t weightBytes = 0;
  /// Header of the safetensors file with these weights; empty if they are
  /// embedded.
  std::string weightsHead;
  /// Expanded bytes of splats and bools, to which `weights` points.
  std::list<std::string> spelledOut;
  /// Names of the host kernels, in table order.
  llvm::SmallVector<std::string> hostKernels;

  /// Returns the bytes of weights in the object file.
  uint64_t embeddedBytes() const {
    return weightsHead.empty() ? weightBytes : 0;
  }
};

/// Returns the symbol of a CPU kernel in the object, as debuggers and profilers
/// show it.
std::string hostKernelName(plan::TargetOp target, llvm::StringRef kernel);

/// Serializes the plan of `module`, after memory planning. `code` is keyed by
/// architecture. `model` is the artifact's name. If
/// `weightsFile` is not empty, the weights go to that safetensors file next to
/// the artifact.
llvm::FailureOr<Image> serialize(mlir::ModuleOp module, llvm::StringRef model,
                                 const llvm::StringMap<TargetCode> &code,
                                 llvm::StringRef weightsFile = "",
                                 const plan::FunctionShapes &shapes = {});

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_SERIALIZE_H
