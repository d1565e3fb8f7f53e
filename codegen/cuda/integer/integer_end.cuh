//===- integer_end.cuh - What follows the sums of bytes -------------------===//
//
// Threads store their sums from registers. The columns of a tile are dealt out
// to filters so that a thread's sums are of neighbours: of each 8G columns,
// lane l has filters l % 4 * 2G to l % 4 * 2G + 2G - 1.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_INTEGER_INTEGER_END_CUH
#define FRIT_CODEGEN_CUDA_INTEGER_INTEGER_END_CUH

#include "frit/base.cuh"

namespace frit {

/// The sums of a thread: of two rows, 8 apart, of each of CountM groups, which
/// are StepM rows apart; and of CountN matrices of 8 columns, Group of which
/// are dealt out together.
template <int CountM, int StepM, int CountN, int Group> struct SumPlaces {
  static constexpr int kCountM = CountM, kStepM = StepM, kCountN = CountN;
  static constexpr int kGroup = Group, kNeighbours = 2 * Group;
};

/// Passes a warp's sums to the end, a thread's neighbours at a time. `sumAt(i,
/// j, c)` is accumulator c of matrix j of group i of rows; `isMine(i, j, half)`
/// says whether this block stores those of a row. What the end reads is loaded
/// some steps ahead, since no load moves above a store.
template <class Places, class P, class SumAt, class IsMine>
__device__ inline void storeSums(const P &end, int firstRow, int firstCol,
                                 int rows, const SumAt &sumAt,
                                 const IsMine &isMine) {
  constexpr int kParts = Places::kNeighbours / P::kVector;
  constexpr int kRows = Places::kCountM * 2;
  constexpr int kSteps = Places::kCountN / Places::kGroup * kParts * kRows;
  constexpr int kBytes = sizeof(typename P::Elements);
  constexpr int kMost = kBytes < 32 ? 64 / kBytes : 2;
  constexpr int kAhead = kMost < kSteps ? kMost : kSteps;
  const int lane = threadIdx.x % 32;
  auto colOf = [&](int step) {
    const int part = step / kRows;
    return firstCol + part / kParts * Places::kGroup * 8 +
           lane % 4 * Places::kNeighbours + part % kParts * P::kVector;
  };
  auto rowOf = [&](int step) {
    return firstRow + step % kRows / 2 * Places::kStepM + step % 2 * 8 +
           lane / 4;
  };
  auto isOurs = [&](int step) {
    return isMine(step % kRows / 2, step / kRows / kParts * Places::kGroup,
                  step % 2);
  };
  typename P::Elements ahead[kAhead];
  // Places outside of the result become some inside: a branch would wait.
  auto load = [&](int step) {
    const int row = rowOf(step), col = colOf(step), last = rows - 1;
    if (isOurs(step))
      ahead[step % kAhead] =
          end.elements(row < last ? row : last, col < P::k ? col : 0);
  };
#pragma unroll
  for (int step = 0; step < kAhead; ++step)
    load(step);
  auto columnsOf = [&](int part) {
    const int col = colOf(part * kRows);
    return end.columns(col < P::k ? col : 0);
  };
  typename P::Columns next = columnsOf(0);
#pragma unroll
  for (int part = 0; part < kSteps / kRows; ++part) {
    const int col = colOf(part * kRows);
    const typename P::Columns columns = next;
    if (part + 1 < kSteps / kRows)
      next = columnsOf(part + 1);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int step = part * kRows + i, row = rowOf(step);
      const typename P::Elements elements = ahead[step % kAhead];
      if (step + kAhead < kSteps)
        load(step + kAhead);
      decltype(sumAt(0, 0, 0)) mine[P::kVector];
#pragma unroll
      for (int v = 0; v < P::kVector; ++v) {
        const int at = part % kParts * P::kVector + v;
        mine[v] = sumAt(i / 2, part / kParts * Places::kGroup + at / 2,
                        i % 2 * 2 + at % 2);
      }
      if (col < P::k && row < rows && isOurs(step))
        end.store(mine, columns, elements, row, col);
    }
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_INTEGER_INTEGER_END_CUH
