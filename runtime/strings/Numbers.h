//===- Numbers.h - The numbers of strings ---------------------------------===//

#ifndef FRIT_RUNTIME_STRINGS_NUMBERS_H
#define FRIT_RUNTIME_STRINGS_NUMBERS_H

#include "runtime/plan/PlanView.h"

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace frit {

/// Gives the strings of a call their numbers: those of the plan's vocabulary,
/// and the next ones for others.
class StringNumbers {
public:
  /// Must be called first. Keeps a reference to the plan's bytes.
  void open(const PlanView &plan);
  /// Forgets the strings of the last call.
  void clear();

  /// Sets `number` to that of `text`, which is copied. Fails if a call has too
  /// much text.
  Status add(std::string_view text, int64_t &number);
  /// Returns whether a string has this number.
  bool has(int64_t number) const {
    return number >= 0 && size_t(number) < known + made.size();
  }
  /// Returns the string with a number; valid until `clear`.
  std::string_view text(int64_t number) const;

private:
  PlanView plan;
  size_t known = 0; ///< strings of the vocabulary
  std::unordered_map<std::string_view, int64_t> vocabulary, others;
  std::deque<std::string> made; ///< the texts of `others`
  uint64_t bytes = 0;           ///< of `made`
};

} // namespace frit

#endif // FRIT_RUNTIME_STRINGS_NUMBERS_H
