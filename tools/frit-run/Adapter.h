//===- Adapter.h - Load an adapter of low rank ----------------------------===//

#ifndef FRIT_TOOLS_FRIT_RUN_ADAPTER_H
#define FRIT_TOOLS_FRIT_RUN_ADAPTER_H

#include "frit/generate.h"
#include "tools/support/Fault.h"

#include <string>

namespace frit::run {

/// Makes a session use the adapter (LoRA) of a folder as PEFT writes it:
/// adapter_config.json and adapter_model.safetensors. Fails if the adapter is
/// of another kind or of another model.
tools::Fault loadAdapter(const std::string &folder, frit_session *session);

} // namespace frit::run

#endif // FRIT_TOOLS_FRIT_RUN_ADAPTER_H
