//===- EmitModule.cpp - All kernels of a target as one translation unit ---===//

#include "codegen/cuda/EmitModule.h"

#include <set>

using namespace frit::cuda;

std::string frit::cuda::emitModule(llvm::ArrayRef<KernelText> kernels) {
  std::set<std::string> headers;
  for (const KernelText &kernel : kernels)
    headers.insert(kernel.header);
  std::string text;
  for (const std::string &header : headers)
    text += "#include \"frit/" + header + ".cuh\"\n";
  for (const KernelText &kernel : kernels)
    text += "\n" + kernel.source;
  return text;
}
