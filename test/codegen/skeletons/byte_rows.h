//===- byte_rows.h - Shared code of the checks of rows of bytes -----------===//
//
// Problems of byte_rows.cuh and byte_chain.cuh, and their tensor maps.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_BYTE_ROWS_H
#define FRIT_TEST_CODEGEN_SKELETONS_BYTE_ROWS_H

#include "frit/byte_chain.cuh"
#include "wgmma_bytes.h"

/// Numbers of the schedule that a problem has besides its sizes: tiles of x in
/// shared memory and blocks per SM.
template <int Stages, int Blocks = 1> struct TilesOfRows {
  static constexpr int stages = Stages, blocks = Blocks, split = 1, tileN = 128;
};

template <class P>
inline constexpr frit::ByteRowsLayout kRowsLayout = {
    P::c, P::k, P::r, P::s, P::w, P::q, P::stages, P::blocks};

#ifndef __CUDACC_RTC__
namespace harness {

/// Returns the map of a contiguous tensor of bytes, whose dimensions after the
/// first one have these strides.
inline frit::TensorMap tiledBytes(const void *at, int swizzle,
                                  std::vector<int64_t> dims,
                                  std::vector<int64_t> strides,
                                  std::vector<int64_t> box) {
  artifact::TensorMap map;
  map.rank = dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    map.dims[i] = dims[i];
    map.box[i] = box[i];
    if (i > 0)
      map.strides[i - 1] = strides[i - 1];
  }
  return byteMap(map, static_cast<const uint8_t *>(at), swizzle);
}

template <class P> frit::TensorMap mapOfRows(const uint8_t *x) {
  return tiledBytes(x, P::c, {P::c, P::w, P::h, P::n},
                    {P::c, P::c * P::w, P::c * P::w * P::h},
                    {P::c, kRowsLayout<P>.width(), 1, 1});
}
/// Returns the map of filters; `Group` columns of 8 are dealt out together.
template <class P, int Group = 4>
frit::TensorMap mapOfFilters(const uint8_t *w, int64_t line, int64_t count) {
  const int64_t depth = P::r * P::s * P::c, most = 8 * Group;
  return tiledBytes(w, line, {depth, 2, 4, Group, P::k / most},
                    {depth, 2 * Group * depth, 2 * depth, most * depth},
                    {line, 2, 4, Group, count / most});
}

} // namespace harness
#endif

#endif // FRIT_TEST_CODEGEN_SKELETONS_BYTE_ROWS_H
