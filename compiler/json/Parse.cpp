//===- Parse.cpp - Parse JSON with bounded depth --------------------------===//

#include "compiler/json/Parse.h"

#include "compiler/import/LfsPointer.h"

#include "llvm/ADT/StringSet.h"

using namespace frit;
using llvm::StringRef;
using Json = nlohmann::ordered_json;

static constexpr int kMostNested = 64;

/// The keys read so far of each open object.
using OpenObjects = std::vector<llvm::StringSet<>>;

Json importer::parseJson(StringRef text) {
  // The library takes a NUL for the end of the text.
  bool isWrong = text.contains('\0');
  OpenObjects objects;
  auto watch = [&](int depth, Json::parse_event_t event, Json &parsed) {
    if (event == Json::parse_event_t::object_start)
      objects.emplace_back();
    else if (event == Json::parse_event_t::object_end)
      objects.pop_back();
    else if (event == Json::parse_event_t::key)
      isWrong |= !objects.back().insert(parsed.get_ref<std::string &>()).second;
    isWrong |= depth > kMostNested;
    return depth <= kMostNested;
  };
  Json value = Json::parse(text.begin(), text.end(), watch,
                           /*allow_exceptions=*/false);
  return isWrong ? Json(Json::value_t::discarded) : value;
}

namespace {
/// SAX handler that finds where a file stops being JSON, or repeats a key of an
/// object.
struct FindError : nlohmann::json_sax<Json> {
  size_t position = 0;
  std::string twice;
  OpenObjects objects;
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(size_t) override {
    objects.emplace_back();
    return true;
  }
  bool key(string_t &key) override {
    if (twice.empty() && !objects.back().insert(key).second)
      twice = key;
    return true;
  }
  bool end_object() override {
    objects.pop_back();
    return true;
  }
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
  if (isLfsPointer(text))
    return kLfsPointer.str();
  FindError finder;
  if (Json::sax_parse(text.begin(), text.end(), &finder) &&
      !finder.twice.empty())
    return "has '" + finder.twice + "' twice in one object";
  if (size_t nul = text.find('\0'); !finder.position && nul != text.npos)
    finder.position = nul + 1;
  if (!finder.position)
    return "has values in values more than " + std::to_string(kMostNested) +
           " deep";
  return "is not JSON from " + lineAndColumn(text, finder.position) + " on";
}
