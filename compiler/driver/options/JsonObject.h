//===- JsonObject.h - Read an object of a JSON file -----------------------===//

#ifndef FRIT_COMPILER_DRIVER_OPTIONS_JSONOBJECT_H
#define FRIT_COMPILER_DRIVER_OPTIONS_JSONOBJECT_H

#include "compiler/json/Parse.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

namespace frit {

/// The first error of a file, which is read to its end in spite of it. Similar
/// to llvm::json::Path::Root.
class FirstError {
public:
  /// Reports a message, unless there is one already.
  void report(const llvm::Twine &message);
  /// Reports a fault at `place`, or in the file if that is empty. `why`
  /// completes the sentence: "must be a number".
  void reportAt(llvm::StringRef place, const llvm::Twine &why);

  /// Returns whether there is an error.
  explicit operator bool() const { return !message.empty(); }

  /// Returns the error, if there is one, with the file's name.
  llvm::Error within(llvm::StringRef path) const;

private:
  std::string message;
};

/// An object of a file that records which keys are read. The destructor reports
/// the others.
class JsonObject {
public:
  using Json = nlohmann::ordered_json;

  /// Messages call the object `place`: "inputs[1]", or "" for the file. The
  /// object and `error` must outlive this.
  JsonObject(const Json &object, std::string place, FirstError &error);
  JsonObject(const JsonObject &) = delete;
  ~JsonObject();

  /// Returns a member, or null.
  const Json *find(const char *key);
  /// Returns a member's name in messages: "inputs[1].type".
  std::string placeOf(llvm::StringRef key) const;
  void fail(llvm::StringRef key, const llvm::Twine &why);

  // Each leaves `value` unchanged if there is no such key.
  void number(const char *key, double &value, double least, double most = 1e30);
  /// Reads a number of at least 0 and less than 1.
  void fraction(const char *key, double &value);
  void integer(const char *key, int64_t &value, int64_t least);
  void boolean(const char *key, bool &value);
  void text(const char *key, std::string &value);
  /// Reads a text whose key is required.
  void neededText(const char *key, std::string &value);
  void patterns(const char *key, std::vector<std::string> &values);
  /// Reads a list of numbers of at least 0.
  void numbers(const char *key, std::vector<double> &values);
  /// Reads a list of objects.
  void each(const char *key,
            llvm::function_ref<void(const Json &, llvm::StringRef)> read);
  /// Reads one of several names. The key is required.
  template <typename Enum>
  void choice(const char *key, Enum &value,
              llvm::ArrayRef<std::pair<const char *, Enum>> choices) {
    const Json *found = find(key);
    std::string names;
    for (auto [name, meaning] : choices) {
      if (found && found->is_string() &&
          found->get_ref<const std::string &>() == name) {
        value = meaning;
        return;
      }
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
    fail(key, "must be one of: " + names);
  }

private:
  const Json &object;
  std::string place;
  FirstError &error;
  std::vector<std::string> known;
};

/// Reads a JSON file. If `read` reports an error, fails with it and the file's
/// name.
llvm::Error readJsonFile(
    llvm::StringRef path,
    llvm::function_ref<void(const JsonObject::Json &, FirstError &)> read);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OPTIONS_JSONOBJECT_H
