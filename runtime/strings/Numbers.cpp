//===- Numbers.cpp - The numbers of strings -------------------------------===//

#include "runtime/strings/Numbers.h"

using namespace frit;

void StringNumbers::open(const PlanView &opened) {
  plan = opened;
  known = plan.vocabulary().size();
  vocabulary.reserve(known);
  for (size_t i = 0; i < known; ++i)
    vocabulary.try_emplace(plan.text(plan.vocabulary()[i]), int64_t(i));
}

void StringNumbers::clear() {
  others.clear();
  made.clear();
  bytes = 0;
}

Status StringNumbers::add(std::string_view text, int64_t &number) {
  if (auto found = vocabulary.find(text); found != vocabulary.end()) {
    number = found->second;
    return Status();
  }
  if (auto found = others.find(text); found != others.end()) {
    number = found->second;
    return Status();
  }
  // Every string also takes some memory beside its text.
  bytes += text.size() + 64;
  if (bytes > artifact::kMostTextBytes)
    return invalidArgument(
        format("the call's strings take more than %s: give it fewer at a time",
               formatBytes(artifact::kMostTextBytes).c_str()));
  number = int64_t(known + made.size());
  others.emplace(made.emplace_back(text), number);
  return Status();
}

std::string_view StringNumbers::text(int64_t number) const {
  size_t index = size_t(number);
  return index < known ? plan.text(plan.vocabulary()[index])
                       : std::string_view(made[index - known]);
}
