//===- Artifact.h - Write model.o or model.so -----------------------------===//

#ifndef FRIT_COMPILER_DRIVER_ARTIFACT_H
#define FRIT_COMPILER_DRIVER_ARTIFACT_H

#include "codegen/artifact/ObjectFile.h"
#include "codegen/cpu/CpuKernels.h"

#include "mlir/Support/Timing.h"

namespace frit {

/// Options for writing an image as an object or a shared library.
struct ArtifactOptions {
  std::string output;
  /// The model's name in C.
  llvm::StringRef name;
  artifact::Form form = artifact::Form::shared;
  /// The kind of machine that the artifact is for.
  HostMachine machine = HostMachine::x86_64;
  HostSystem system = HostSystem::gnuLinux;
  /// The file for the weights; empty where they are embedded.
  std::string weightsFile;
  /// The files from which weights were mapped.
  llvm::ArrayRef<artifact::MappedFile> mapped;
  /// Users' C that the host kernels call.
  llvm::ArrayRef<cpu::UserSource> sources;
  /// Called with each object that a shared library is linked from, starting
  /// with the image's, which has no weights.
  llvm::function_ref<llvm::Error(llvm::StringRef, size_t index)> keepObject;
  /// Called when `done` of `total` modules of host kernels are machine code,
  /// from one thread at a time.
  llvm::function_ref<void(size_t done, size_t total)> progress;
  /// Called with each command that compiles or links.
  llvm::function_ref<void(const llvm::Twine &)> say;
};

/// Returns the symbol of the image in the output: "resnet50_image" for the
/// model "resnet50".
std::string imageSymbol(const ArtifactOptions &options);

/// Returns the path by which the artifact finds its weight file: relative to
/// its own folder if the file lies there.
std::string weightsName(const ArtifactOptions &options);

/// Writes the image and the host kernels.
llvm::Error writeArtifact(llvm::MutableArrayRef<cpu::KernelModule> kernels,
                          const artifact::Image &image,
                          const ArtifactOptions &options,
                          mlir::TimingScope &timing);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_ARTIFACT_H
