//===- Filtered.h - What filters of templates are applied to --------------===//

#ifndef FRIT_TOOLS_TOKENIZER_JINJA_FILTERED_H
#define FRIT_TOOLS_TOKENIZER_JINJA_FILTERED_H

#include "tools/tokenizer/jinja/Interpreter.h"

#include <span>

namespace frit::jinja {

/// What a filter is applied to and given.
struct Filtered {
  Interpreter &interpreter;
  const Value &value;
  const Arguments &arguments;

  const Value *argument(size_t index, const char *name) const {
    return arguments.find(index, name);
  }
  bool has(size_t index, const char *name) const {
    const Value *given = argument(index, name);
    return given && isTrue(*given);
  }
  std::string textAt(size_t index, const char *name,
                     const char *otherwise) const {
    const Value *given = argument(index, name);
    return given ? textOf(*given) : otherwise;
  }
  Value make(std::string text) const {
    return interpreter.makeText(std::move(text));
  }
  /// Returns what a loop over the value has; empty after a fault.
  std::vector<Value> items() const {
    std::vector<Value> all;
    interpreter.iterate(value, all);
    return all;
  }
  /// Returns what an argument, such as "function.name" or 0, says of an item.
  Value memberOf(const Value &item, const Value &path) const;
};

using Filter = Value (*)(const Filtered &);
using NamedFilter = std::pair<std::string_view, Filter>;

/// The filters of lists and maps, and those of texts and numbers.
std::span<const NamedFilter> listFilters();
std::span<const NamedFilter> textFilters();

} // namespace frit::jinja

#endif // FRIT_TOOLS_TOKENIZER_JINJA_FILTERED_H
