//===- Match.h - The result of a match, or the reason for failure ---------===//

#ifndef FRIT_DIALECTS_NN_MATCH_H
#define FRIT_DIALECTS_NN_MATCH_H

#include "llvm/ADT/Twine.h"

#include <optional>
#include <string>
#include <utility>

namespace frit::nn {

/// Why something does not match, as the end of a sentence: "the reductions
/// differ in shape". Remarks and errors print it.
class Mismatch {
public:
  explicit Mismatch(const llvm::Twine &reason) : text(reason.str()) {}
  const std::string &reason() const { return text; }

private:
  std::string text;
};

/// A T, or the reason why there is none. Like llvm::Expected, but it may be
/// copied, cached and dropped unread.
template <class T> class [[nodiscard]] Match {
public:
  Match(T value) : value(std::move(value)) {}
  Match(Mismatch why) : why(std::move(why)) {}

  explicit operator bool() const { return value.has_value(); }
  T &operator*() { return *value; }
  const T &operator*() const { return *value; }
  T *operator->() { return &*value; }
  const T *operator->() const { return &*value; }

  /// Returns the mismatch; call it only if there is no value.
  const Mismatch &mismatch() const { return *why; }
  const std::string &reason() const { return why->reason(); }

private:
  std::optional<T> value;
  std::optional<Mismatch> why;
};

/// None if a check passes, otherwise why it fails.
using Legality = std::optional<Mismatch>;

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_MATCH_H
