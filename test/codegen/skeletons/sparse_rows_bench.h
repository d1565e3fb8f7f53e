//===- sparse_rows_bench.h - Times sparse beside dense products -----------===//
//
// sparse_rows.cu includes it after its problems and kernels. Each line has what
// the sparse matrix has in bytes, and the time by the dense one.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_SPARSE_ROWS_BENCH_H
#define FRIT_TEST_CODEGEN_SKELETONS_SPARSE_ROWS_BENCH_H

#ifndef FRIT_EMULATE
/// Times several matrices one after another, more than L2 holds.
template <class P> static void benchSparse(const char *name) {
  using Tiles = frit::SparseTiles<P>;
  constexpr int64_t tiles =
      P::n / 16 * (P::k / Tiles::depth) * frit::kMatrices<P>;
  constexpr int64_t bytes = tiles * Tiles::bytes;
  constexpr int copies = int(std::max<int64_t>(1, (256 << 20) / bytes));
  Buffer<typename P::A> a(P::m * P::k);
  Buffer<uint8_t> values(tiles * Tiles::valueBytes * copies);
  Buffer<uint8_t> places(tiles * Tiles::placeBytes * copies);
  Buffer<typename frit::SparseScale<P>::Type> scales(P::n * frit::kMatrices<P>);
  Buffer<typename P::D> d(P::m * P::n);
  a.randomize(1);
  scales.randomize(2);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = uint8_t(i * 2654435761u >> 24) & 0x3f;
  for (size_t i = 0; i < places.size(); ++i)
    places[i] = i % 3 ? 0x84 : 0xe9;
  values.upload();
  places.upload();
  typename P::A *none = nullptr;
  bench(name, 1e-9 * double(bytes) * copies, "GB/s", [&] {
    for (int i = 0; i < copies; ++i)
      launchShared(sparse<P>, SparseBuffers<P>::grid(), P::threads,
                   frit::sparseRowsShared<P>(), a.get(), a.get(),
                   values.get() + tiles * Tiles::valueBytes * i,
                   places.get() + tiles * Tiles::placeBytes * i, scales.get(),
                   none, none, d.get());
  });
}
template <class P> static void benchDense(const char *name) {
  typename P::A *none = nullptr;
  benchNumbers<P>(name, frit::kMatrices<P>, [&](auto *a, auto *b, auto *d) {
    launchShared(dense<P>, SparseBuffers<P>::grid(), P::threads,
                 frit::rowsGemmShared<P>(), a, a, b, none, none, d);
  });
}
template <class P> static void benchVectors(const char *name) {
  benchNumbers<P>(name, 1, [&](auto *a, auto *b, auto *d) {
    launch(vectors<P>, dim3((P::n + P::columns - 1) / P::columns), P::threads,
           a, b, d);
  });
}
template <int M, int N, int K, int Tiles, int Stages, int Split,
          int Threads = 256>
using Row = Problem<bf16, M, N, K, Tiles, Stages, Split, Threads>;
#endif

static void benches() {
#ifndef FRIT_EMULATE
  // Of gemv, columns/split; else tiles/stages/split/threads.
  benchVectors<Vectors<Row<1, 2048, 2048, 1, 1, 1>, 4, 8>>(
      "dense 1x2048x2048 gemv 4/8");
  benchVectors<Vectors<Row<1, 2048, 8192, 1, 1, 1>, 4, 8>>(
      "dense 1x2048x8192 gemv 4/8");
  benchVectors<Vectors<Row<1, 3072, 2048, 1, 1, 1>, 8, 4>>(
      "dense 1x3072x2048 gemv 8/4");
  benchVectors<Vectors<Row<1, 14336, 4096, 1, 1, 1>, 32, 1>>(
      "dense 1x14336x4096 gemv 32/1");
  benchVectors<Vectors<Row<1, 4096, 14336, 1, 1, 1>, 8, 4>>(
      "dense 1x4096x14336 gemv 8/4");
  benchVectors<Vectors<Row<1, 512, 512, 1, 1, 1>, 16, 2>>(
      "dense 1x512x512 gemv 16/2");
  benchSparse<Row<1, 512, 512, 1, 1, 4>>("2:4 1x512x512 1/1/4/256");
  benchVectors<Vectors<Row<1, 1024, 1024, 1, 1, 1>, 8, 4>>(
      "dense 1x1024x1024 gemv 8/4");
  benchSparse<Row<1, 1024, 1024, 1, 1, 8>>("2:4 1x1024x1024 1/1/8/256");
  benchSparse<Normed<Row<1, 3072, 2048, 1, 1, 16, 512>>>(
      "2:4 1x3072x2048 1/1/16/512 normalized");
  benchDense<Normed<Row<1, 3072, 2048, 1, 2, 16, 512>>>(
      "dense 1x3072x2048 1/2/16/512 normalized");
  benchDense<Row<1, 2048, 2048, 1, 4, 8>>("dense 1x2048x2048 1/4/8/256");
  benchSparse<Row<1, 2048, 2048, 1, 2, 8>>("2:4 1x2048x2048 1/2/8/256");
  benchSparse<Row<1, 2048, 2048, 1, 1, 16, 512>>("2:4 1x2048x2048 1/1/16/512");
  benchDense<Row<1, 2048, 8192, 1, 4, 16, 512>>("dense 1x2048x8192 1/4/16/512");
  benchSparse<Row<1, 2048, 8192, 1, 4, 16, 512>>("2:4 1x2048x8192 1/4/16/512");
  benchSparse<Row<1, 2048, 8192, 1, 2, 16, 512>>("2:4 1x2048x8192 1/2/16/512");
  benchSparse<Row<1, 2048, 8192, 1, 4, 8>>("2:4 1x2048x8192 1/4/8/256");
  benchDense<Normed<Paired<Row<1, 8192, 2048, 1, 4, 4>>>>(
      "dense 1x2x8192x2048 1/4/4/256");
  benchSparse<Normed<Paired<Row<1, 8192, 2048, 1, 2, 8>>>>(
      "2:4 1x2x8192x2048 1/2/8/256");
  benchSparse<Normed<Paired<Row<1, 8192, 2048, 1, 4, 4>>>>(
      "2:4 1x2x8192x2048 1/4/4/256");
  benchSparse<Normed<Paired<Row<1, 8192, 2048, 1, 2, 4>>>>(
      "2:4 1x2x8192x2048 1/2/4/256");
  benchSparse<Normed<Paired<Row<1, 8192, 2048, 1, 1, 8>>>>(
      "2:4 1x2x8192x2048 1/1/8/256");
  benchDense<Row<1, 14336, 4096, 1, 4, 4>>("dense 1x14336x4096 1/4/4/256");
  benchSparse<Row<1, 14336, 4096, 1, 4, 4>>("2:4 1x14336x4096 1/4/4/256");
  benchSparse<Row<1, 14336, 4096, 1, 4, 8>>("2:4 1x14336x4096 1/4/8/256");
  benchSparse<Row<1, 14336, 4096, 2, 2, 4>>("2:4 1x14336x4096 2/2/4/256");
  benchDense<Row<1, 4096, 14336, 1, 4, 8>>("dense 1x4096x14336 1/4/8/256");
  benchSparse<Row<1, 4096, 14336, 1, 4, 8>>("2:4 1x4096x14336 1/4/8/256");
  benchSparse<Row<1, 4096, 14336, 1, 4, 16, 512>>(
      "2:4 1x4096x14336 1/4/16/512");
  benchDense<Row<8, 14336, 4096, 1, 4, 4>>("dense 8x14336x4096 1/4/4/256");
  benchSparse<Row<8, 14336, 4096, 1, 4, 4>>("2:4 8x14336x4096 1/4/4/256");
  benchSparse<Row<8, 14336, 4096, 1, 2, 8>>("2:4 8x14336x4096 1/2/8/256");
  benchDense<Row<16, 14336, 4096, 1, 2, 4>>("dense 16x14336x4096 1/2/4/256");
  benchSparse<Row<16, 14336, 4096, 1, 2, 4>>("2:4 16x14336x4096 1/2/4/256");
  benchSparse<Row<16, 14336, 4096, 1, 2, 8>>("2:4 16x14336x4096 1/2/8/256");
  benchSparse<Coded<Row<1, 2048, 8192, 1, 4, 16, 512>, Code::int8>>(
      "2:4 int8 1x2048x8192 1/4/16/512");
  benchSparse<Coded<Row<1, 14336, 4096, 1, 4, 4>, Code::int8>>(
      "2:4 int8 1x14336x4096 1/4/4/256");
  benchSparse<Coded<Row<1, 14336, 4096, 1, 4, 8>, Code::int8>>(
      "2:4 int8 1x14336x4096 1/4/8/256");
  benchSparse<Coded<Row<1, 14336, 4096, 1, 4, 4>, Code::e4m3>>(
      "2:4 e4m3 1x14336x4096 1/4/4/256");
  benchSparse<Coded<Row<8, 14336, 4096, 1, 4, 4>, Code::int8>>(
      "2:4 int8 8x14336x4096 1/4/4/256");
#endif
}

#endif // FRIT_TEST_CODEGEN_SKELETONS_SPARSE_ROWS_BENCH_H
