//===- activation.h - Activation functions --------------------------------===//
//
// Activation functions that have a name in the compiler, plans, artifacts and
// the runtime.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_ACTIVATION_H
#define FRIT_ACTIVATION_H

#include <cstdint>
#include <string_view>

namespace frit {

/// Artifacts store these numbers. `other` is any elementwise function without a
/// name here: no library computes it, and no plan or artifact contains it.
enum class Activation : uint32_t { none, relu, geluTanh, gelu, silu, other };

/// Names by number.
inline constexpr std::string_view kActivationNames[] = {
    "none", "relu", "gelu_tanh", "gelu", "silu", "other"};

} // namespace frit

#endif // FRIT_ACTIVATION_H
