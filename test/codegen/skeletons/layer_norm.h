//===- layer_norm.h - Shared code of the row checks -----------------------===//
//
// The parts of layer norms for row.cuh and row_staged.cuh, and a reference.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_LAYER_NORM_H
#define FRIT_TEST_CODEGEN_SKELETONS_LAYER_NORM_H

#include "frit/row.cuh"

/// Loads neighbouring elements of a row.
template <int V, class Element, class T>
__device__ void loadElements(Element (&e)[V], const T *from) {
  float a[V];
  frit::loadVector(a, from);
#pragma unroll
  for (int v = 0; v < V; ++v)
    e[v].x = a[v];
}

/// Returns a term of a row's sum, or of its variance once `sum` is known.
template <int R>
__device__ float momentTerm(float x, float sum, unsigned cols) {
  float centred = x - sum / cols;
  return R == 0 ? x : centred * centred;
}

/// Computes (x - mean) / sqrt(variance + 1e-5) * scale + shift from a row's
/// sums `r`.
template <int V, class Element, class T, class S>
__device__ void normalize(float (&out)[V], const Element (&e)[V],
                          const float (&r)[2], unsigned cols, const T *scale,
                          const S *shift) {
  float b[V];
  frit::loadVector(out, scale);
  frit::loadVector(b, shift);
  float factor = frit::rsqrt(r[1] / cols + 1e-5f);
#pragma unroll
  for (int v = 0; v < V; ++v)
    out[v] = (e[v].x - r[0] / cols) * factor * out[v] + b[v];
}

#ifndef __CUDACC_RTC__
#include "harness.h"

namespace harness {

/// Appends the layer norm of a row, and its mean.
template <class T, class S>
void normalizeRow(const T *row, unsigned cols, const T *scale, const S *shift,
                  std::vector<double> &norms, std::vector<double> &means) {
  double mean = 0, variance = 0;
  for (unsigned j = 0; j < cols; ++j)
    mean += toDouble(row[j]) / cols;
  for (unsigned j = 0; j < cols; ++j)
    variance += std::pow(toDouble(row[j]) - mean, 2) / cols;
  for (unsigned j = 0; j < cols; ++j)
    norms.push_back((toDouble(row[j]) - mean) / std::sqrt(variance + 1e-5) *
                        toDouble(scale[j]) +
                    toDouble(shift[j]));
  means.push_back(mean);
}

} // namespace harness

#endif
#endif // FRIT_TEST_CODEGEN_SKELETONS_LAYER_NORM_H
