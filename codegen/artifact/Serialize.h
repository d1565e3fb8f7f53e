//===- Serialize.h - Plans as the bytes the runtime reads -----------------===//

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

/// Device code of one program, by the numbers that its kernels' `module` has;
/// empty on the cpu target.
struct TargetCode {
  struct Module {
    std::string cubin;
    std::string ptx;
  };
  std::vector<Module> modules;
};

/// A constant's bytes.
struct WeightRun {
  uint64_t offset = 0;        ///< from the start of the weights
  llvm::ArrayRef<char> bytes; ///< owned by the constant's attribute
};

/// What an object file holds.
struct Image {
  std::string plan;
  llvm::SmallVector<WeightRun> weights;
  uint64_t weightBytes = 0;
  /// What a file of these weights begins with; empty where they are embedded.
  std::string weightsHead;
  /// Bytes of splats and bools, spelled out; `weights` points into them.
  std::list<std::string> spelledOut;
  /// Names of the host kernels, in table order.
  llvm::SmallVector<std::string> hostKernels;

  /// Bytes of weights in the object itself.
  uint64_t embeddedBytes() const {
    return weightsHead.empty() ? weightBytes : 0;
  }
};

/// The name that a kernel of the cpu target `arch` has in the object, where
/// debuggers and profilers show it.
std::string hostKernelName(llvm::StringRef arch, llvm::StringRef kernel);

/// Serialises the plan.programs and plan.constants of `module`, whose memory is
/// placed. `code` is keyed by the programs' names; `model` is what the artifact
/// calls itself. The weights are for a safetensors file beside the artifact,
/// where `weightsFile` names one.
llvm::FailureOr<Image> serialize(mlir::ModuleOp module, llvm::StringRef model,
                                 const llvm::StringMap<TargetCode> &code,
                                 llvm::StringRef weightsFile = "",
                                 const plan::OpenShapes &shapes = {});

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_SERIALIZE_H
