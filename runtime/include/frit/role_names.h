//===- role_names.h - Names of the roles in the compiler's modules --------===//

#ifndef FRIT_ROLE_NAMES_H
#define FRIT_ROLE_NAMES_H

#include "frit/roles.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace frit::artifact {

/// In the order of frit_function_role and of frit_state_role.
inline constexpr const char *kFunctionRoles[] = {
    "inference", "train_step", "eval_step", "prefill",
    "decode",    "verify",     "encode"};
inline constexpr const char *kStateRoles[] = {
    "other",          "parameter",  "optimizer",    "statistic",
    "learning_rate",  "loss_scale", "counter",      "random_seed",
    "random_counter", "cache",      "length",       "tokens",
    "adapter",        "source",     "source_length"};

/// Returns the role with this name.
template <typename Role, size_t N>
constexpr std::optional<Role> roleNamed(const char *const (&names)[N],
                                        std::string_view name) {
  for (size_t i = 0; i < N; ++i)
    if (names[i] == name)
      return Role(i);
  return std::nullopt;
}
constexpr std::optional<frit_function_role>
functionRoleNamed(std::string_view name) {
  return roleNamed<frit_function_role>(kFunctionRoles, name);
}
constexpr std::optional<frit_state_role> stateRoleNamed(std::string_view name) {
  return roleNamed<frit_state_role>(kStateRoles, name);
}

} // namespace frit::artifact

#endif // FRIT_ROLE_NAMES_H
