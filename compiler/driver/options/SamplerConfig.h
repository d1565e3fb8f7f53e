//===- SamplerConfig.h - Samplers as diffusers saves them -----------------===//

#ifndef FRIT_COMPILER_DRIVER_OPTIONS_SAMPLERCONFIG_H
#define FRIT_COMPILER_DRIVER_OPTIONS_SAMPLERCONFIG_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace frit {

/// Reads a scheduler_config.json of diffusers. Returns the text of --sampler
/// that stands for it, followed by `settings`: "ddim:betas=linear,…,steps=20".
/// Fails, naming the field, if it asks for what no sampler does.
llvm::Expected<std::string> readSamplerConfig(const std::string &path,
                                              llvm::StringRef settings);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OPTIONS_SAMPLERCONFIG_H
