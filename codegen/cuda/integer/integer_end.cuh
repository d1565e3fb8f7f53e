//===- integer_end.cuh - What follows the sums of bytes -------------------===//
//
// Threads store their sums from registers. The columns of a tile are dealt out
// to filters so that a thread's sums are of neighbours: of each 8G columns,
// lane l has filters l % 4 * 2G to l % 4 * 2G + 2G - 1.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_INTEGER_INTEGER_END_CUH
#define FRIT_CODEGEN_CUDA_INTEGER_INTEGER_END_CUH

#include "frit/byte_numbers.cuh"

namespace frit {

/// The sums of a thread: of two rows, 8 apart, of each of CountM groups, which
/// are StepM rows apart; and of CountN matrices of 8 columns, Group of which
/// are dealt out together. What the end reads is loaded up to BytesAhead bytes
/// ahead.
template <int CountM, int StepM, int CountN, int Group, int BytesAhead = 64>
struct SumPlaces {
  static constexpr int kCountM = CountM, kStepM = StepM, kCountN = CountN;
  static constexpr int kGroup = Group, kNeighbours = 2 * Group;
  static constexpr int kBytesAhead = BytesAhead;
};

/// One of two types.
template <bool First, class A, class B> struct Either {
  using Type = A;
};
template <class A, class B> struct Either<false, A, B> {
  using Type = B;
};

/// What the end reads for columns, from memory.
template <class P> struct ColumnsFromMemory {
  __device__ typename P::Columns of(const P &problem, int col, int) const {
    return problem.columns(col);
  }
};

/// The same in registers, of the Parts that a thread has in every tile.
template <class P, int Parts> struct ColumnsInRegisters {
  typename P::Columns parts[Parts];
  __device__ typename P::Columns of(const P &, int, int part) const {
    return parts[part];
  }
};

/// The same in shared memory, of Count columns from a multiple of Count on. The
/// pieces of 16 bytes of a vector of columns lie apart, so that those of
/// neighbours are in other banks.
template <class P, int Count> struct ColumnsInShared {
  using Columns = typename P::Columns;
  using Piece = Pack<uint32_t, 4>;
  static constexpr int kPieces = sizeof(Columns) / sizeof(Piece);
  static constexpr int kVectors = Count / P::kVector;
  static constexpr int kBytes = kVectors * int(sizeof(Columns));
  /// Whether columns are whole pieces that `bytes` of shared memory hold.
  static constexpr bool fitInto(long bytes) {
    return sizeof(Columns) % sizeof(Piece) == 0 && Count % P::kVector == 0 &&
           kBytes <= bytes;
  }
  union Both {
    Columns columns;
    Piece pieces[kPieces];
    __device__ Both() {}
  };
  Piece *shared;

  /// Fills shared memory with the columns from `first` on by `threads` threads,
  /// which synchronize later.
  __device__ void fill(const P &problem, int first, int thread,
                       int threads) const {
#pragma unroll 1
    for (int i = thread; i < kVectors; i += threads) {
      Both both;
      both.columns = problem.columns(first + i * P::kVector);
#pragma unroll
      for (int j = 0; j < kPieces; ++j)
        storePack(&shared[j * kVectors + i].at[0], both.pieces[j]);
    }
  }
  __device__ Columns of(const P &, int col, int) const {
    const int at = unsigned(Count < P::k ? col % Count : col) / P::kVector;
    Both both;
#pragma unroll
    for (int j = 0; j < kPieces; ++j)
      both.pieces[j] = shared[j * kVectors + at];
    return both.columns;
  }
};

/// Columns of P, Count of them from `Bytes` bytes of shared memory if they fit,
/// or else from memory; `sourceAt` makes it.
template <class P, int Count, long Bytes>
using ColumnsNear =
    typename Either<(ColumnsInShared<P, Count>::fitInto(Bytes)),
                    ColumnsInShared<P, Count>, ColumnsFromMemory<P>>::Type;
template <class Source> __device__ inline Source sourceAt(void *shared) {
  if constexpr (requires { Source::kPieces; })
    return {static_cast<typename Source::Piece *>(shared)};
  else
    return {};
}
template <class Source> inline constexpr int kSourceBytes = 0;
template <class Source>
  requires requires { Source::kPieces; }
inline constexpr int kSourceBytes<Source> = Source::kBytes;
/// Fills a source in shared memory by the block's first threads.
template <class P, class Source>
__device__ inline void fillSource(const P &problem, const Source &source,
                                  int firstCol, int threads) {
  if constexpr (kSourceBytes<Source> > 0)
    source.fill(problem, firstCol, threadIdx.x, threads);
}

/// What a thread's sums are passed to the end by, its neighbours at a time.
/// `begin` loads what the end reads of the first steps, also before there are
/// sums; `end` loads the rest some steps ahead, since no load moves above a
/// store. Columns come from `source`.
template <class Places, class P, class Source = ColumnsFromMemory<P>>
struct SumEnd {
  static constexpr int kParts = Places::kNeighbours / P::kVector;
  static constexpr int kRows = Places::kCountM * 2;
  static constexpr int kSteps =
      Places::kCountN / Places::kGroup * kParts * kRows;
  static constexpr int kBytes = sizeof(typename P::Elements);
  static constexpr int kMost =
      kBytes < Places::kBytesAhead / 2 ? Places::kBytesAhead / kBytes : 2;
  static constexpr int kAhead = kMost < kSteps ? kMost : kSteps;

  const P &problem;
  Source source = {};
  int firstRow = 0, firstCol = 0, rows = 0;
  typename P::Elements ahead[kAhead] = {};
  typename P::Columns next = {};

  __device__ int colOf(int step) const {
    const int part = step / kRows;
    return firstCol + part / kParts * Places::kGroup * 8 +
           threadIdx.x % 4 * Places::kNeighbours + part % kParts * P::kVector;
  }
  __device__ int rowOf(int step) const {
    return firstRow + step % kRows / 2 * Places::kStepM + step % 2 * 8 +
           threadIdx.x % 32 / 4;
  }
  template <class IsMine>
  __device__ static bool isOurs(int step, const IsMine &isMine) {
    return isMine(step % kRows / 2, step / kRows / kParts * Places::kGroup,
                  step % 2);
  }
  /// Places outside of the result become some inside: a branch would wait.
  template <class IsMine> __device__ void load(int step, const IsMine &isMine) {
    const int row = rowOf(step), col = colOf(step), last = rows - 1;
    if (isOurs(step, isMine))
      ahead[step % kAhead] =
          problem.elements(row < last ? row : last, col < P::k ? col : 0);
  }
  __device__ typename P::Columns columnsOf(int part) const {
    const int col = colOf(part * kRows);
    return source.of(problem, col < P::k ? col : 0, part);
  }

  /// Starts with the sums from a row and a column on, of `count` rows in all.
  /// `isMine(i, j, half)` says whether this block stores those of a row.
  template <class IsMine>
  __device__ void begin(int row, int col, int count, const IsMine &isMine) {
    begin(row, col, count);
#pragma unroll
    for (int step = 0; step < kAhead; ++step)
      load(step, isMine);
  }

  __device__ void begin(int row, int col, int count) {
    firstRow = row;
    firstCol = col;
    rows = count;
    next = columnsOf(0);
  }

  /// `sumAt(i, j, c)` is accumulator c of matrix j of group i of rows.
  template <class SumAt, class IsMine>
  __device__ void end(const SumAt &sumAt, const IsMine &isMine) {
    end<kSteps>(
        sumAt, isMine, [](int) {}, [&](int step) { load(step, isMine); },
        [&](int step, int row, int col, const auto &mine, const auto &columns,
            const auto &elements) {
          problem.store(mine, columns, elements, row, col,
                        col < P::k && row < rows);
        },
        [](int) {});
  }
  /// The same if each Count steps are stored, and, Apart, loaded by themselves:
  /// after enter(step), by read(step), which fills `ahead`, and store(step,
  /// row, col, mine, columns, elements), before leave(step).
  template <int Count, bool Apart = true, class SumAt, class IsMine,
            class Enter, class Read, class Store, class Leave>
  __device__ void end(const SumAt &sumAt, const IsMine &isMine,
                      const Enter &enter, const Read &read, const Store &store,
                      const Leave &leave) {
#pragma unroll
    for (int part = 0; part < kSteps / kRows; ++part) {
      const int col = colOf(part * kRows);
      const typename P::Columns columns = next;
      if (part + 1 < kSteps / kRows)
        next = columnsOf(part + 1);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const int step = part * kRows + i, row = rowOf(step);
        if (step % Count == 0)
          enter(step);
        const typename P::Elements elements = ahead[step % kAhead];
        if (Apart ? step % Count + kAhead < Count : step + kAhead < kSteps)
          read(step + kAhead);
        decltype(sumAt(0, 0, 0)) mine[P::kVector];
#pragma unroll
        for (int v = 0; v < P::kVector; ++v) {
          const int at = part % kParts * P::kVector + v;
          mine[v] = sumAt(i / 2, part / kParts * Places::kGroup + at / 2,
                          i % 2 * 2 + at % 2);
        }
        // A branch around the arithmetic would keep steps from overlapping.
        if (isOurs(step, isMine))
          store(step, row, col, mine, columns, elements);
        if (step % Count == Count - 1)
          leave(step);
      }
    }
  }
};

/// Passes a warp's sums to the end.
template <class Places, class P, class SumAt, class IsMine>
__device__ inline void storeSums(const P &end, int firstRow, int firstCol,
                                 int rows, const SumAt &sumAt,
                                 const IsMine &isMine) {
  SumEnd<Places, P> all = {end};
  all.begin(firstRow, firstCol, rows, isMine);
  all.end(sumAt, isMine);
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_INTEGER_INTEGER_END_CUH
