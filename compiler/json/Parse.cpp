//===- Parse.cpp - Parse JSON with bounded depth --------------------------===//

#include "compiler/json/Parse.h"

using namespace frit;
using llvm::StringRef;
using Json = nlohmann::ordered_json;

static constexpr int kMostNested = 64;

Json importer::parseJson(StringRef text) {
  bool isDeep = false;
  auto watch = [&](int depth, Json::parse_event_t, Json &) {
    isDeep |= depth > kMostNested;
    return depth <= kMostNested;
  };
  Json value = Json::parse(text.begin(), text.end(), watch,
                           /*allow_exceptions=*/false);
  return isDeep ? Json(Json::value_t::discarded) : value;
}

namespace {
/// SAX handler that finds where a file stops being JSON.
struct FindError : nlohmann::json_sax<Json> {
  size_t position = 0;
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
  bool parse_error(size_t at, const std::string &,
                   const nlohmann::detail::exception &) override {
    position = at;
    return false;
  }
};
} // namespace

/// Formats a position as "line:column", from 1 on: "3:17".
static std::string lineAndColumn(StringRef text, size_t position) {
  text = text.take_front(position ? position - 1 : 0);
  size_t line = text.count('\n') + 1;
  size_t column = text.size() - (text.rfind('\n') + 1) + 1;
  return std::to_string(line) + ":" + std::to_string(column);
}

std::string importer::whyDiscarded(StringRef text) {
  FindError finder;
  if (Json::sax_parse(text.begin(), text.end(), &finder))
    return "has values in values more than " + std::to_string(kMostNested) +
           " deep";
  return "is not JSON from " + lineAndColumn(text, finder.position) + " on";
}
