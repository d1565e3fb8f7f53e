//===- Parse.h - JSON that is not nested without end ----------------------===//

#ifndef FRIT_COMPILER_JSON_PARSE_H
#define FRIT_COMPILER_JSON_PARSE_H

#include "llvm/ADT/StringRef.h"

#include <nlohmann/json.hpp>

namespace frit::importer {

/// What a text says; discarded where it is no JSON or has values in values more
/// than 64 deep, since they are copied and shown by recursion.
nlohmann::ordered_json parseJson(llvm::StringRef text);

/// Why `text` was discarded, and where: "is not JSON from 3:17 on".
std::string whyDiscarded(llvm::StringRef text);

} // namespace frit::importer

#endif // FRIT_COMPILER_JSON_PARSE_H
