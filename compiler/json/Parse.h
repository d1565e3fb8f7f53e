//===- Parse.h - Parse JSON with bounded depth ----------------------------===//

#ifndef FRIT_COMPILER_JSON_PARSE_H
#define FRIT_COMPILER_JSON_PARSE_H

#include "llvm/ADT/StringRef.h"

#include <nlohmann/json.hpp>

namespace frit::importer {

/// Parses a text. The result is discarded (is_discarded) if it is not JSON,
/// repeats a key of an object, or nests more than 64 deep: values are copied
/// and printed recursively.
nlohmann::ordered_json parseJson(llvm::StringRef text);

/// Returns why and where parsing failed: "is not JSON from 3:17 on".
std::string whyDiscarded(llvm::StringRef text);

} // namespace frit::importer

#endif // FRIT_COMPILER_JSON_PARSE_H
