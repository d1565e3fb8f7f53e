//===- TargetWarnings.cpp - What the targets of -march do not do ----------===//

#include "compiler/driver/TargetWarnings.h"

#include "codegen/cuda/compile/Nvrtc.h"
#include "codegen/cuda/target/GpuArch.h"
#include "compiler/pipeline/Pipeline.h"

using namespace mlir;
using namespace frit;

void frit::warnOfHosts(const DriverOptions &options,
                       DiagnosticPrinter &diagnostics) {
  for (const std::string &arch : options.archs) {
    if (!cuda::isCudaArch(arch))
      continue;
    std::string host = cuda::describeArch(arch).host;
    if (host == "none")
      diagnostics.warning("NVIDIA names no GPU of " + Twine(arch) +
                          " [-Wtarget]");
    else if (host != "any" && host != nameOf(options.machine))
      diagnostics.warning(Twine(arch) + " is a GPU of " + host +
                          " machines, and the artifact's host code is for " +
                          nameOf(options.machine) +
                          ": it runs on none; use -march=" + arch + "," + host +
                          " for an artifact of its own [-Wtarget]");
  }
}

void frit::warnOfFloats(const DriverOptions &options, StringRef precision,
                        DiagnosticPrinter &diagnostics) {
  bool trains = precision == "amp-fp8";
  for (const std::string &arch : options.archs) {
    bool isCuda = cuda::isCudaArch(arch);
    int capability = isCuda ? cuda::describeArch(arch).capability : 0;
    if (isCuda && cuda::describeArch(arch).hasFloat8())
      continue;
    diagnostics.warning(
        Twine(arch) +
        " does not multiply floats of 8 bits, as sm_89 and later do: with " +
        (trains ? "-fprecision=amp-fp8" : "-fquantize=fp8") +
        " it rounds to them and multiplies " +
        (isNarrow(precision) && capability >= 80 ? "bf16" : "f32") +
        (trains ? "; -fprecision=amp-bf16 is faster there"
                : "; -fquantize=int8 would multiply bytes") +
        " [-Wtarget]");
  }
}

void frit::warnOfUnused(const DriverOptions &options,
                        DiagnosticPrinter &diagnostics) {
  for (const std::string &message : options.unused)
    diagnostics.warning(message + " [-Wunused]");
}
