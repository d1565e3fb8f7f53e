//===- JsonText.h - JSON as text ------------------------------------------===//

#ifndef FRIT_TOOLS_SUPPORT_JSONTEXT_H
#define FRIT_TOOLS_SUPPORT_JSONTEXT_H

#include "tools/support/Tensor.h"

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

/// Returns a tensor's element; integers of 64 bits exactly.
inline nlohmann::ordered_json jsonElement(const Tensor &tensor,
                                          uint64_t index) {
  if (tensor.isString())
    return tensor.texts[index];
  if (tensor.dtype == FRIT_U64)
    return uint64_t(tensor.integerAt(index));
  if (tensor.dtype == FRIT_BOOL || !tensor.isInteger())
    return tensor.at(index);
  return int64_t(tensor.integerAt(index));
}

} // namespace frit::tools

#endif // FRIT_TOOLS_SUPPORT_JSONTEXT_H
