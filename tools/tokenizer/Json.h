//===- Json.h - Read members of untrusted JSON ----------------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_JSON_H
#define FRIT_TOOLS_TOKENIZER_JSON_H

#include "tools/support/Bytes.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace frit::tokenizer {

using Json = nlohmann::json;

/// Parses a document that is nested 64 deep at most.
tools::Fault parseJson(tools::Bytes bytes, Json &json);

/// A value of a document that outlives this, and its place for messages:
/// "model.merges[3]". A member that is absent is as one that is null.
class Node {
public:
  explicit Node(const Json &json) : json(&json) {}

  bool isNull() const { return json->is_null(); }
  bool isText() const { return json->is_string(); }
  bool isArray() const { return json->is_array(); }
  const Json &value() const { return *json; }

  /// Returns a member; null if this is no object or has none of that name.
  Node operator[](const char *key) const;
  /// Returns an element of an array.
  Node element(size_t index) const;

  /// Each fails unless the value has the type of `result`. Integers are 0 to
  /// 2^32 - 1.
  tools::Fault read(std::string &result) const;
  tools::Fault read(bool &result) const;
  tools::Fault read(double &result) const;
  tools::Fault read(uint32_t &result) const;
  tools::Fault read(std::vector<Node> &elements) const;

  /// Reads the value unless it is null, which leaves `result` as it is.
  template <typename T> tools::Fault readOptional(T &result) const {
    return isNull() ? tools::Fault() : read(result);
  }

  /// Returns a fault at this place.
  tools::Fault fault(const std::string &message) const;

private:
  Node(const Json &json, std::string place)
      : json(&json), place(std::move(place)) {}
  tools::Fault mismatch(const char *expected) const;

  const Json *json;
  std::string place;
};

/// Calls `readStep` with a step of a tokenizer.json and its "type", unless it
/// is null; with each in order where the type is "Sequence", which has its
/// steps, sequences too, in the member `list`. At most 8 sequences are nested.
tools::Fault readSteps(
    const Node &node, const char *list,
    const std::function<tools::Fault(const Node &, const std::string &type)>
        &readStep);

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_JSON_H
