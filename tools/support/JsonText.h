//===- JsonText.h - JSON as text ------------------------------------------===//

#ifndef FRIT_TOOLS_SUPPORT_JSONTEXT_H
#define FRIT_TOOLS_SUPPORT_JSONTEXT_H

#include <nlohmann/json.hpp>
#include <string>

namespace frit::tools {

/// Formats JSON on one line, or with `indent` spaces per level. Names from
/// files need not be UTF-8; other bytes are replaced by U+FFFD.
inline std::string jsonText(const nlohmann::ordered_json &json,
                            int indent = -1) {
  return json.dump(indent, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace frit::tools

#endif // FRIT_TOOLS_SUPPORT_JSONTEXT_H
