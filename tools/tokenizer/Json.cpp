//===- Json.cpp - Read members of untrusted JSON --------------------------===//

#include "tools/tokenizer/Json.h"

using namespace frit;
using namespace frit::tokenizer;
using tools::Fault;

static constexpr int kMostNesting = 64;

static bool isTooDeep(std::string_view text) {
  int depth = 0;
  bool inString = false;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (inString && c == '\\')
      ++at;
    else if (c == '"')
      inString = !inString;
    else if (!inString && (c == '[' || c == '{') && ++depth > kMostNesting)
      return true;
    else if (!inString && (c == ']' || c == '}'))
      --depth;
  }
  return false;
}

namespace {

/// Finds the position of the first error.
struct ErrorFinder final : nlohmann::json_sax<Json> {
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(string_t &) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string &,
                   const nlohmann::detail::exception &) override {
    place = position;
    return false;
  }

  size_t place = 0;
};

} // namespace

Fault frit::tokenizer::parseJson(tools::Bytes bytes, Json &json) {
  std::string_view text = tools::asText(bytes);
  if (isTooDeep(text))
    return Fault("JSON that is nested more than " +
                 std::to_string(kMostNesting) + " deep");
  json = Json::parse(text.begin(), text.end(), nullptr,
                     /*allow_exceptions=*/false);
  if (!json.is_discarded())
    return {};
  ErrorFinder finder;
  (void)Json::sax_parse(text.begin(), text.end(), &finder);
  return Fault("it is no JSON: error at byte " +
               std::to_string(std::min(finder.place, text.size())) + " of " +
               std::to_string(text.size()));
}

Node Node::operator[](const char *key) const {
  static const Json none;
  std::string inner = place.empty() ? key : place + "." + key;
  if (json->is_object())
    if (auto found = json->find(key); found != json->end())
      return Node(*found, std::move(inner));
  return Node(none, std::move(inner));
}

Node Node::element(size_t index) const {
  return Node((*json)[index], place + "[" + std::to_string(index) + "]");
}

Fault Node::fault(const std::string &message) const {
  return place.empty() ? Fault(message) : Fault(message).within(place);
}

Fault Node::mismatch(const char *expected) const {
  std::string kind = json->is_number() ? "a number"
                     : isNull() ? "nothing"
                                : std::string("a JSON ") + json->type_name();
  return fault(std::string("expected ") + expected + ", not " + kind);
}

Fault Node::read(std::string &result) const {
  if (!json->is_string())
    return mismatch("a string");
  result = *json->get_ptr<const std::string *>();
  return {};
}

Fault Node::read(bool &result) const {
  if (!json->is_boolean())
    return mismatch("true or false");
  result = *json->get_ptr<const bool *>();
  return {};
}

Fault Node::read(double &result) const {
  if (!json->is_number())
    return mismatch("a number");
  result = json->get<double>();
  return {};
}

Fault Node::read(uint32_t &result) const {
  // A number that was parsed is unsigned unless it has a sign or a fraction.
  if (!json->is_number_unsigned() || json->get<uint64_t>() > UINT32_MAX)
    return mismatch("an integer of 32 bits");
  result = uint32_t(json->get<uint64_t>());
  return {};
}

Fault Node::read(std::vector<Node> &elements) const {
  if (!json->is_array())
    return mismatch("an array");
  elements.clear();
  for (size_t index = 0; index < json->size(); ++index)
    elements.push_back(element(index));
  return {};
}

static constexpr int kMostSequences = 8;

using ReadStep = std::function<Fault(const Node &, const std::string &)>;

static Fault readNested(const Node &node, const char *list,
                        const ReadStep &readStep, int depth) {
  if (node.isNull())
    return {};
  std::string type;
  if (Fault fault = node["type"].read(type))
    return fault;
  if (type != "Sequence")
    return readStep(node, type);
  if (depth == kMostSequences)
    return node.fault("sequences are nested too deep");
  std::vector<Node> inner;
  if (Fault fault = node[list].read(inner))
    return fault;
  for (const Node &step : inner)
    if (Fault fault = readNested(step, list, readStep, depth + 1))
      return fault;
  return {};
}

Fault frit::tokenizer::readSteps(const Node &node, const char *list,
                                 const ReadStep &readStep) {
  return readNested(node, list, readStep, 0);
}
