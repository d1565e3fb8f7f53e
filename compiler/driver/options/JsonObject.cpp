//===- JsonObject.cpp - Read an object of a JSON file ---------------------===//

#include "compiler/driver/options/JsonObject.h"

#include "compiler/driver/ModelInput.h"
#include "compiler/support/Help.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/GlobPattern.h"

using namespace frit;
using Json = JsonObject::Json;

void FirstError::report(const llvm::Twine &text) {
  if (message.empty())
    message = text.str();
}

void FirstError::reportAt(llvm::StringRef place, const llvm::Twine &why) {
  report(place.empty() ? "it " + why : "'" + place + "' " + why);
}

llvm::Error FirstError::within(llvm::StringRef path) const {
  return *this ? llvm::createStringError(path + ": " + message)
               : llvm::Error::success();
}

JsonObject::JsonObject(const Json &object, std::string place, FirstError &error)
    : object(object), place(std::move(place)), error(error) {
  if (!object.is_object())
    fail("", "must be an object");
}

JsonObject::~JsonObject() {
  if (!object.is_object())
    return;
  for (const auto &item : object.items())
    if (!llvm::is_contained(known, item.key())) {
      std::string nearest = nearestTo(item.key(), known);
      fail(item.key(), (nearest.empty() ? "is unknown; known here: "
                                        : "is unknown; did you mean '" +
                                              nearest + "'? Known here: ") +
                           llvm::join(known, ", "));
    }
}

const Json *JsonObject::find(const char *key) {
  if (!llvm::is_contained(known, key))
    known.push_back(key);
  auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

std::string JsonObject::placeOf(llvm::StringRef key) const {
  return place.empty() ? key.str()
         : key.empty() ? place
                       : place + "." + key.str();
}

void JsonObject::fail(llvm::StringRef key, const llvm::Twine &why) {
  error.reportAt(placeOf(key), why);
}

void JsonObject::number(const char *key, double &value, double least,
                        double most) {
  const Json *found = find(key);
  if (!found)
    return;
  double given = found->is_number() ? found->get<double>() : least - 1;
  // Without another limit, any number in a float's range is valid.
  std::string why;
  llvm::raw_string_ostream out(why);
  if (most < 1e30 || given > most)
    out << llvm::format("must be a number from %g to %g", least, most);
  else
    out << llvm::format("must be a number of at least %g", least);
  if (given < least || given > most)
    return fail(key, why);
  value = given;
}

void JsonObject::fraction(const char *key, double &value) {
  number(key, value, 0, 1);
  if (value == 1)
    fail(key, "must be less than 1");
}

void JsonObject::integer(const char *key, int64_t &value, int64_t least) {
  const Json *found = find(key);
  if (!found)
    return;
  // The file may have unsigned numbers too large for the type.
  bool fits = found->is_number_unsigned()
                  ? found->get<uint64_t>() <= uint64_t(INT64_MAX)
                  : found->is_number_integer();
  if (!fits || found->get<int64_t>() < least)
    return fail(key, least == INT64_MIN ? "must be an integer of 64 bits"
                                        : "must be an integer of at least " +
                                              std::to_string(least));
  value = found->get<int64_t>();
}

void JsonObject::boolean(const char *key, bool &value) {
  if (const Json *found = find(key)) {
    if (!found->is_boolean())
      return fail(key, "must be true or false");
    value = found->get<bool>();
  }
}

void JsonObject::text(const char *key, std::string &value) {
  if (const Json *found = find(key)) {
    if (!found->is_string())
      return fail(key, "must be a string");
    value = found->get<std::string>();
  }
}

void JsonObject::neededText(const char *key, std::string &value) {
  text(key, value);
  if (value.empty() || value.find('\0') != std::string::npos)
    fail(key, "must be a name");
}

void JsonObject::patterns(const char *key, std::vector<std::string> &values) {
  const Json *found = find(key);
  if (!found)
    return;
  auto isPattern = [](const Json &item) {
    if (!item.is_string())
      return false;
    auto glob = llvm::GlobPattern::create(item.get_ref<const std::string &>());
    bool fine = bool(glob);
    llvm::consumeError(glob.takeError());
    return fine;
  };
  if (!found->is_array() || !llvm::all_of(*found, isPattern))
    return fail(key, "must be a list of names or patterns such as \"*.bias\"");
  for (const Json &item : *found)
    values.push_back(item.get<std::string>());
}

void JsonObject::numbers(const char *key, std::vector<double> &values) {
  const Json *found = find(key);
  if (!found)
    return;
  auto isNumber = [](const Json &item) {
    return item.is_number() && item.get<double>() >= 0 &&
           item.get<double>() <= 1e30;
  };
  if (!found->is_array() || found->empty() || !llvm::all_of(*found, isNumber))
    return fail(key, "must be a list of numbers of at least 0");
  for (const Json &item : *found)
    values.push_back(item.get<double>());
}

void JsonObject::each(
    const char *key,
    llvm::function_ref<void(const Json &, llvm::StringRef)> read) {
  const Json *found = find(key);
  if (!found)
    return;
  if (!found->is_array())
    return fail(key, "must be a list of objects");
  for (size_t i = 0; i < found->size(); ++i)
    read((*found)[i], placeOf(key) + "[" + std::to_string(i) + "]");
}

llvm::Error
frit::readJsonFile(llvm::StringRef path,
                   llvm::function_ref<void(const Json &, FirstError &)> read) {
  auto file = readFile(path.str());
  if (!file)
    return file.takeError();
  llvm::StringRef text = (*file)->getBuffer();
  Json json = importer::parseJson(text);
  FirstError error;
  if (json.is_discarded())
    error.report(importer::whyDiscarded(text));
  else
    read(json, error);
  return error.within(path);
}
