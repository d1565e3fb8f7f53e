//===- InfoJson.h - Describe a model as JSON ------------------------------===//

#ifndef FRIT_TOOLS_FRIT_RUN_INFOJSON_H
#define FRIT_TOOLS_FRIT_RUN_INFOJSON_H

#include "Session.h"

#include <nlohmann/json.hpp>

namespace frit::run {

using Json = nlohmann::ordered_json;

/// Returns all that --info says.
Json infoJson(const Session &session);
/// Lists the algorithm of each library step of the chosen target.
Json picksJson(const Session &session);
/// Lists the guards: their condition, and the cost of the steps they guard.
Json guardsJson(const Session &session);

/// Returns the type of an input or output, as "batchx3x224x224xf32".
std::string typeOf(const Module &module, const frit_tensor_info &info,
                   const int32_t *symbols, const int32_t *counts = nullptr);

} // namespace frit::run

#endif // FRIT_TOOLS_FRIT_RUN_INFOJSON_H
