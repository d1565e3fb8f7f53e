//===- Serialize.h - Plans as the bytes the runtime reads -----------------===//

#ifndef FRIT_CODEGEN_ARTIFACT_SERIALIZE_H
#define FRIT_CODEGEN_ARTIFACT_SERIALIZE_H

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

/// A dimension that the model leaves open, as frit/artifact.h tells.
struct OpenSymbol {
  std::string name;
  int64_t least = 1, most = 1;
  bool padded = false;
};

/// One main list's sizes of the symbols, and what depends on them of its inputs
/// and outputs: an extent per dimension, or none where all are fixed.
struct OpenVariant {
  llvm::SmallVector<int64_t> sizes;
  std::vector<llvm::SmallVector<Extent>> inputs, outputs;
};

/// The shapes that a model leaves open; without variants where all are fixed.
/// The variants are in the order of each program's main lists.
struct OpenShapes {
  std::vector<OpenSymbol> symbols;
  std::vector<OpenVariant> variants;
  /// How many of the outputs, the last ones, are counts.
  unsigned counts = 0;
  /// The symbols whose sizes are the last inputs, one each.
  llvm::SmallVector<unsigned> sizes;
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
                                 const OpenShapes &shapes = {});

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_SERIALIZE_H
