//===- Parse.h - JSON that is not nested without end ----------------------===//

#ifndef FRIT_COMPILER_IMPORT_JSON_PARSE_H
#define FRIT_COMPILER_IMPORT_JSON_PARSE_H

#include "llvm/ADT/StringRef.h"

#include <nlohmann/json.hpp>

namespace frit::importer {

/// Values are copied and shown by recursion, so they may be no deeper.
inline constexpr int mostNested = 64;

/// What a text says; discarded where it is no JSON or deeper than that.
inline nlohmann::ordered_json parseJson(llvm::StringRef text) {
  using Json = nlohmann::ordered_json;
  bool isDeep = false;
  auto watch = [&](int depth, Json::parse_event_t, Json &) {
    isDeep |= depth > mostNested;
    return depth <= mostNested;
  };
  Json value = Json::parse(text.begin(), text.end(), watch,
                           /*allow_exceptions=*/false);
  return isDeep ? Json(Json::value_t::discarded) : value;
}

} // namespace frit::importer

#endif // FRIT_COMPILER_IMPORT_JSON_PARSE_H
