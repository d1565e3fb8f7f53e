//===- byte_pair.cuh - Two products of bytes, one added to the other ------===//
//
// The end of a product P of wgmma_bytes.cuh may read codes that are the results
// of another product Q, of the same pixels and filters: both are computed by
// one kernel, and these codes stay in registers. Such are the last convolution
// of a residual network's block and its shortcut. P's `Elements` have a field
//
//   Codes<8> first;
//
// and Q is a struct that derives from P and describes its own operands, with
// its own sizes, `Columns` and `Elements`, and instead of `store`
//
//   void keep(const int (&sum)[8], const Columns &columns,
//             const Elements &elements, unsigned row, unsigned col,
//             Codes<8> &to) const;
//
// Bytes of both have the same signs. Neither end reads anything else for each
// sum. kVector is 8, split 1, without ping-pong, and a step has 128 bytes of a
// tap of either. Maps are those of Q, those of P, and that of the result if it
// leaves through boxes.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_INTEGER_BYTE_PAIR_CUH
#define FRIT_CODEGEN_CUDA_INTEGER_BYTE_PAIR_CUH

#include "frit/wgmma_bytes.cuh"

namespace frit {

#ifdef FRIT_HAS_WGMMA

/// Q's steps are sums of their own.
template <class P, class Q>
struct ByteOperandsOfBoth : OperandsOfBoth<ByteOperands<Q>, ByteOperands<P>> {
  static constexpr int apart = ByteOperands<Q>::steps;
  static_assert(ByteOperands<P>::lineBytesA == kLineBytes);
  static_assert(int64_t(P::n) * P::p * P::q == int64_t(Q::n) * Q::p * Q::q &&
                P::k == Q::k);
  static_assert(P::signedX == Q::signedX && P::signedW == Q::signedW);
};

/// Computes the whole pair.
template <class P, class Q>
__device__ inline void
wgmmaBytePair(const P &end, const Q &first, const TensorMap *mapFirstX,
              const TensorMap *mapFirstW, const TensorMap *mapX,
              const TensorMap *mapW, const TensorMap *mapY = nullptr) {
  ByteOperandsOfBoth<P, Q> operands = {{{mapFirstX, mapFirstW}, {mapX, mapW}}};
  if (threadIdx.x == 0)
    prefetchMap(mapFirstW);
  if (threadIdx.x == 32)
    prefetchMap(mapFirstX);
  const TensorMap *none = nullptr;
  wgmmaTiles<ByteProduct<P>, ByteStore<P, Q>>(operands, end, first, none, mapY);
}

#else

/// A thread's codes of a tile of ByteFloor, eight columns of each of its rows.
struct FloorCodes {
  Codes<8> rows[4];
  __device__ Codes<8> &of(unsigned row) { return rows[row / 8 % 4]; }
};

template <class Q> struct FirstFloor : ByteFloor<Q> {
  static_assert(ByteFloor<Q>::warpM == 32 && ByteFloor<Q>::warpN == 32);
  FloorCodes *codes;
  __device__ void store(const int (&sum)[8], const typename Q::Columns &columns,
                        const typename Q::Elements &elements, unsigned row,
                        unsigned col, bool) const {
    Q::keep(sum, columns, elements, row, col, codes->of(row));
  }
};
template <class P> struct SecondFloor : ByteFloor<P> {
  FloorCodes *codes;
  __device__ void store(const int (&sum)[8], const typename P::Columns &columns,
                        typename P::Elements elements, unsigned row,
                        unsigned col, bool isInside) const {
    elements.first = codes->of(row);
    P::store(sum, columns, elements, row, col, isInside);
  }
};

/// An operand with its zero point.
struct FloorOperand {
  const void *of, *zero;
};

/// Computes the whole pair without WGMMA, like byteFloor.
template <class P, class Q>
__device__ inline void bytePairFloor(const P &end, const Q &first,
                                     FloorOperand firstX, FloorOperand firstW,
                                     FloorOperand x, FloorOperand w) {
  using Floor = ByteFloor<P>;
  using Plan = IntegerPlan<Floor>;
  using Operands = IntegerOperands<Floor>;
  __shared__ __align__(
      128) unsigned char stages[Floor::stages * Plan::kStageBytes];
  if (threadIdx.x >= Plan::kThreads)
    return;
  FloorCodes codes;
  for (int tile = blockIdx.x; tile < Operands::kTilesM * Operands::kTilesN;
       tile += gridDim.x) {
    integerTile(FirstFloor<Q>{{first}, &codes}, firstX.of, firstW.of,
                firstX.zero, firstW.zero, stages, tile);
    // Copies overwrite the stages.
    __syncthreads();
    integerTile(SecondFloor<P>{{end}, &codes}, x.of, w.of, x.zero, w.zero,
                stages, tile);
    __syncthreads();
  }
}

#endif

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_INTEGER_BYTE_PAIR_CUH
