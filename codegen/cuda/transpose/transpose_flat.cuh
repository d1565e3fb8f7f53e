//===- transpose_flat.cuh - Transposes with one short side ----------------===//
//
// For a matrix with a short, odd side that is contiguous in memory. A tile
// spans that side and is read, or written, as one contiguous piece: vectors
// cross the ends of rows, also in shared memory, which has the same order. On
// the other side a thread handles a vector along the long side, whose elements
// it gathers or scatters.
//
// Eight neighbouring threads take neighbouring vectors, and the four such
// groups of a warp take consecutive lines of the short side. Since its length
// is odd, their elements are in different banks.
//
// The Body is that of transpose.cuh.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_TRANSPOSE_TRANSPOSE_FLAT_CUH
#define FRIT_CODEGEN_CUDA_TRANSPOSE_TRANSPOSE_FLAT_CUH

#include "frit/transpose.cuh"

namespace frit {

/// A tile of `Long` positions with `Short` elements each, for blocks of 256
/// threads, which access `Flat` elements at a time on the contiguous side and
/// `Across` along the long side.
template <class Held, int Long, int Short, int Flat, int Across>
struct FlatTile {
  static constexpr int kThreads = 256, kVectors = 8;
  static_assert(Short % 8 && Long % (kVectors * Across) == 0 &&
                    Long * Short % Flat == 0,
                "vectors do not cross the edge of a tile");

  template <int V>
  static constexpr int kSteps = (Long * Short / V + kThreads - 1) / kThreads;
  using FlatVectors = Held[kSteps<Flat>][Flat];
  using AcrossVectors = Held[kSteps<Across>][Across];
  Held *tile;

  /// Calls visit(step, index) for the thread's vectors of V elements.
  template <int V, class Visit>
  __device__ static void forEach(const Visit &visit) {
    constexpr int kCount = Long * Short / V;
#pragma unroll
    for (int step = 0; step < kSteps<V>; ++step) {
      const unsigned index = step * kThreads + threadIdx.x;
      if (kCount % kThreads == 0 || index < kCount)
        visit(step, index);
    }
  }

  /// Calls visit(step, place) for the thread's flat vectors within the first
  /// `count` elements.
  template <class Visit>
  __device__ static void forFlat(unsigned count, const Visit &visit) {
    forEach<Flat>([&](int step, unsigned index) {
      if (index * Flat < count)
        visit(step, index * Flat);
    });
  }

  /// Calls visit(step, line, along) for the thread's vectors along the long
  /// side within its first `count` positions.
  template <class Visit>
  __device__ static void forAcross(unsigned count, const Visit &visit) {
    forEach<Across>([&](int step, unsigned index) {
      const unsigned line = index / kVectors % Short;
      const unsigned along =
          (index / (kVectors * Short) * kVectors + index % kVectors) * Across;
      if (along < count)
        visit(step, line, along);
    });
  }

  using Vector = Pack<Held, packOf<Held, Flat>()>;
  static constexpr int kPack = packOf<Held, Flat>();

  __device__ void keepFlat(const Held (&vector)[Flat], unsigned place) {
#pragma unroll
    for (int i = 0; i < Flat; i += kPack) {
      Vector pack;
#pragma unroll
      for (int j = 0; j < kPack; ++j)
        pack.at[j] = vector[i + j];
      *reinterpret_cast<Vector *>(tile + place + i) = pack;
    }
  }
  __device__ void takeFlat(Held (&vector)[Flat], unsigned place) const {
    copyVector(vector, static_cast<const Held *>(tile + place));
  }
  __device__ Held &at(unsigned line, unsigned along) const {
    return tile[along * Short + line];
  }
};

/// Transposes one tile per block of 256 threads: `Long` positions along the
/// side of `size` elements. It loads L and stores S elements at a time. If
/// `Loads`, the input's rows are the short ones, otherwise the output's. The
/// rows of the other tensor are `stride` apart.
template <class Body, int Long, int Short, int L, int S, bool Loads>
__device__ inline void transposeFlat(const Body &body, unsigned size,
                                     size_t stride) {
  using Held = typename Body::Held;
  using Tile = FlatTile<Held, Long, Short, Loads ? L : S, Loads ? S : L>;
  __shared__ __align__(16) Held held[Long * Short];
  Tile tile = {held};
  const unsigned perMatrix = (size + Long - 1) / Long;
  const unsigned matrix = blockIdx.x / perMatrix;
  const unsigned first = blockIdx.x % perMatrix * Long;
  const unsigned here = minimum(size - first, unsigned(Long));
  const size_t from = Body::from(matrix) + size_t(first) * (Loads ? Short : 1);
  const size_t to = Body::to(matrix) + size_t(first) * (Loads ? 1 : Short);
  // Issue all loads before using the first.
  if constexpr (Loads) {
    typename Tile::FlatVectors loaded;
    tile.forFlat(here * Short, [&](int step, unsigned place) {
      body.load(loaded[step], from + place);
    });
    tile.forFlat(here * Short, [&](int step, unsigned place) {
      tile.keepFlat(loaded[step], place);
    });
    __syncthreads();
    tile.forAcross(here, [&](int, unsigned line, unsigned along) {
      Held vector[S];
#pragma unroll
      for (int v = 0; v < S; ++v)
        vector[v] = tile.at(line, along + v);
      body.store(vector, to + line * stride + along);
    });
  } else {
    typename Tile::AcrossVectors loaded;
    tile.forAcross(here, [&](int step, unsigned line, unsigned along) {
      body.load(loaded[step], from + line * stride + along);
    });
    tile.forAcross(here, [&](int step, unsigned line, unsigned along) {
#pragma unroll
      for (int v = 0; v < L; ++v)
        tile.at(line, along + v) = loaded[step][v];
    });
    __syncthreads();
    tile.forFlat(here * Short, [&](int, unsigned place) {
      Held vector[S];
      tile.takeFlat(vector, place);
      body.store(vector, to + place);
    });
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_TRANSPOSE_TRANSPOSE_FLAT_CUH
