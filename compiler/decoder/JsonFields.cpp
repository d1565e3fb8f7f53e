//===- JsonFields.cpp - Members of a JSON object, checked -----------------===//

#include "compiler/decoder/JsonFields.h"

#include <cmath>

using namespace mlir;
using namespace frit::decoder;
using Json = nlohmann::ordered_json;

void JsonFields::fail(const Twine &what) {
  emitError(loc) << what;
  isGood = false;
}

void JsonFields::failMember(StringRef key, StringRef expected) {
  const Json *value = find(key);
  if (!value)
    return fail("lacks \"" + key + "\", " + expected);
  std::string text =
      value->dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 60)
    text = text.substr(0, 60) + "…";
  fail("\"" + key + "\" is " + text + ", not " + expected);
}

const Json *JsonFields::find(StringRef key) const {
  auto found = object.is_object() ? object.find(key.str()) : object.end();
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

StringRef JsonFields::choose(ArrayRef<StringRef> keys) const {
  for (StringRef key : keys)
    if (find(key))
      return key;
  return keys.back();
}

int64_t JsonFields::size(StringRef key, std::optional<int64_t> otherwise) {
  const Json *value = find(key);
  if (!value && otherwise)
    return *otherwise;
  if (value && value->is_number_unsigned() &&
      value->get<uint64_t>() - 1 < uint64_t(kLargestSize))
    return value->get<int64_t>();
  failMember(key, "a size from 1 on");
  return 1;
}

double JsonFields::number(StringRef key, std::optional<double> otherwise) {
  return above(key, -INFINITY, otherwise);
}

double JsonFields::above(StringRef key, double bound,
                         std::optional<double> otherwise) {
  const Json *value = find(key);
  if (!value && otherwise)
    return *otherwise;
  if (value && value->is_number()) {
    // What becomes 0 or infinite in f32 is none, either.
    double number = value->get<double>();
    if (std::isfinite(float(number)) && float(number) > bound)
      return number;
  }
  failMember(key, bound == -INFINITY ? "a number"
                  : bound == 0       ? "a positive number"
                                     : "a number above 1");
  return bound == -INFINITY ? 0 : bound + 1;
}

bool JsonFields::flag(StringRef key, bool otherwise) {
  const Json *value = find(key);
  if (value && !value->is_boolean())
    failMember(key, "true or false");
  return value && value->is_boolean() ? value->get<bool>() : otherwise;
}

std::string JsonFields::text(StringRef key,
                             std::optional<StringRef> otherwise) {
  const Json *value = find(key);
  if (!value && otherwise)
    return otherwise->str();
  if (value && value->is_string())
    return value->get<std::string>();
  failMember(key, "a string");
  return "";
}

std::vector<double> JsonFields::numbers(StringRef key, size_t count) {
  const Json *value = find(key);
  std::vector<double> result;
  if (value && value->is_array() && value->size() == count)
    for (const Json &entry : *value)
      if (entry.is_number() && std::isfinite(entry.get<float>()) &&
          entry.get<float>() > 0)
        result.push_back(entry.get<double>());
  if (result.size() != count) {
    failMember(key, ("a list of " + Twine(count) + " positive numbers").str());
    result.assign(count, 1);
  }
  return result;
}
