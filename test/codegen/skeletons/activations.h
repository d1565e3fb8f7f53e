//===- activations.h - Activations in f64 ---------------------------------===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_ACTIVATIONS_H
#define FRIT_TEST_CODEGEN_SKELETONS_ACTIVATIONS_H

#include "frit/tile.cuh"

#include <cmath>

namespace harness {

inline double activate(frit::Identity, double x) { return x; }
inline double activate(frit::Relu, double x) { return x > 0 ? x : 0; }
inline double activate(frit::Gelu, double x) {
  return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
}
inline double activate(frit::GeluTo16Bits, double x) {
  return activate(frit::Gelu(), x);
}
inline double activate(frit::GeluTanh, double x) {
  double inner = std::sqrt(2 / std::acos(-1)) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}
inline double activate(frit::Silu, double x) { return x / (1 + std::exp(-x)); }

} // namespace harness

#endif // FRIT_TEST_CODEGEN_SKELETONS_ACTIVATIONS_H
