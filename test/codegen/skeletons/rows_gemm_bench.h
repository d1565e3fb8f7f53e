//===- rows_gemm_bench.h - Times products of a few rows -------------------===//
//
// rows_gemm.cu includes it after its problems and kernels.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_ROWS_GEMM_BENCH_H
#define FRIT_TEST_CODEGEN_SKELETONS_ROWS_GEMM_BENCH_H

#ifndef FRIT_EMULATE
/// Times several matrices one after another, more than L2 holds.
template <class P> static void benchOne(const char *name) {
  constexpr int64_t bytes =
      P::n * P::k * frit::kCodeBits<P::code> / 8 * frit::kMatrices<P>;
  constexpr int64_t factors = P::n * P::k / P::block * frit::kMatrices<P>;
  constexpr int copies = int(std::max<int64_t>(1, (256 << 20) / bytes));
  Buffer<typename P::A> a(P::m * P::k);
  Buffer<uint8_t> b(bytes * copies);
  Buffer<typename P::Scale> scales(factors * copies);
  Buffer<typename P::D> d(P::m * P::n);
  a.randomize(1);
  scales.randomize(2);
  for (int64_t i = 0; i < bytes * copies; ++i)
    b[i] = uint8_t(i * 2654435761u >> 24);
  b.upload();
  double all = 1e-9 * double(bytes + factors * 2) * copies;
  bench(name, all, "GB/s", [&] {
    for (int i = 0; i < copies; ++i)
      launchShared(product<P>, gridOf<P>(), P::threads,
                   frit::codeRowsShared<P>(), a.get(), a.get(),
                   b.get() + bytes * i, scales.get() + factors * i,
                   P::hasOffsets ? scales.get() + factors * i : nullptr,
                   nullptr, nullptr, d.get());
  });
}
template <Code code, int M, int N, int K, int Stages, int Split, int Threads,
          int Rounds, int Together, int Block>
using Row = InRounds<
    Problem<bf16, code, M, N, K, Block, false, 1, Stages, Split, Threads>,
    Rounds, Together>;
template <int M, int N, int K, int Tiles, int Stages, int Split,
          int Threads = 256>
using Plain = PlainProblem<bf16, M, N, K, Tiles, Stages, Split, Threads>;
template <class P> static void benchPlain(const char *name) {
  typename P::A *none = nullptr;
  benchNumbers<P>(name, frit::kMatrices<P>, [&](auto *a, auto *b, auto *d) {
    launchShared(plain<P>, gridOf<P>(), P::threads, frit::rowsGemmShared<P>(),
                 a, a, b, none, none, d);
  });
}
#endif

static void benches() {
#ifndef FRIT_EMULATE
  // stages/split/threads/rounds/together
  benchOne<Row<Code::int4, 1, 2048, 2048, 4, 8, 256, 1, 1, 64>>(
      "int4 1x2048x2048 4/8/256/1/1");
  benchOne<Row<Code::int4, 1, 2048, 8192, 4, 16, 512, 1, 2, 64>>(
      "int4 1x2048x8192 4/16/512/1/2");
  benchOne<Row<Code::int4, 1, 2048, 8192, 4, 8, 256, 1, 4, 64>>(
      "int4 1x2048x8192 4/8/256/1/4");
  benchOne<Row<Code::int4, 1, 28672, 4096, 2, 8, 256, 7, 4, 64>>(
      "int4 1x28672x4096 2/8/256/7/4");
  benchOne<Row<Code::int4, 1, 28672, 4096, 1, 8, 512, 4, 4, 64>>(
      "int4 1x28672x4096 1/8/512/4/4");
  benchOne<Row<Code::int4, 1, 4096, 14336, 8, 8, 512, 1, 2, 64>>(
      "int4 1x4096x14336 8/8/512/1/2");
  benchOne<Row<Code::int4, 1, 4096, 14336, 8, 8, 256, 1, 2, 64>>(
      "int4 1x4096x14336 8/8/256/1/2");
  benchOne<Row<Code::int8, 1, 4096, 14336, 4, 8, 256, 1, 4, 14336>>(
      "int8 1x4096x14336 4/8/256/1/4");
  benchOne<Row<Code::int8, 1, 128256, 2048, 4, 1, 256, 8, 4, 2048>>(
      "int8 1x128256x2048 4/1/256/8/4");
  benchOne<Row<Code::int8, 1, 128256, 2048, 4, 8, 256, 61, 4, 2048>>(
      "int8 1x128256x2048 4/8/256/61/4");
  benchOne<Row<Code::int4, 8, 2048, 2048, 1, 8, 512, 1, 4, 64>>(
      "int4 8x2048x2048 1/8/512/1/4");
  benchOne<Row<Code::int4, 8, 2048, 8192, 1, 16, 512, 1, 4, 64>>(
      "int4 8x2048x8192 1/16/512/1/4");
  benchOne<Row<Code::int4, 8, 28672, 4096, 2, 8, 512, 4, 4, 64>>(
      "int4 8x28672x4096 2/8/512/4/4");
  benchOne<Row<Code::int4, 8, 4096, 14336, 2, 8, 512, 1, 2, 64>>(
      "int4 8x4096x14336 2/8/512/1/2");
  benchPlain<Plain<1, 2048, 2048, 1, 2, 16, 512>>(
      "bf16 1x2048x2048 1/2/16/512");
  benchPlain<Plain<1, 2048, 2048, 1, 4, 8, 256>>("bf16 1x2048x2048 1/4/8/256");
  benchPlain<Plain<1, 2048, 8192, 1, 4, 8, 256>>("bf16 1x2048x8192 1/4/8/256");
  benchPlain<Plain<1, 2048, 8192, 1, 4, 16, 512>>(
      "bf16 1x2048x8192 1/4/16/512");
  benchPlain<Plain<1, 2048, 8192, 1, 2, 16, 512>>(
      "bf16 1x2048x8192 1/2/16/512");
  benchPlain<Plain<1, 8192, 2048, 1, 4, 8, 256>>("bf16 1x8192x2048 1/4/8/256");
  benchPlain<Plain<1, 8192, 2048, 2, 2, 8, 256>>("bf16 1x8192x2048 2/2/8/256");
  benchPlain<Plain<1, 8192, 2048, 1, 2, 8, 256>>("bf16 1x8192x2048 1/2/8/256");
  benchPlain<Plain<1, 8192, 2048, 1, 2, 16, 512>>(
      "bf16 1x8192x2048 1/2/16/512");
  benchPlain<Plain<1, 14336, 4096, 1, 4, 8, 256>>(
      "bf16 1x14336x4096 1/4/8/256");
  benchPlain<Plain<1, 14336, 4096, 2, 2, 8, 256>>(
      "bf16 1x14336x4096 2/2/8/256");
  benchPlain<Plain<1, 14336, 4096, 1, 2, 8, 256>>(
      "bf16 1x14336x4096 1/2/8/256");
  benchPlain<Plain<1, 14336, 4096, 1, 4, 4, 256>>(
      "bf16 1x14336x4096 1/4/4/256");
  benchPlain<Plain<1, 128256, 2048, 2, 2, 8, 256>>(
      "bf16 1x128256x2048 2/2/8/256");
  benchPlain<Plain<1, 128256, 2048, 1, 4, 8, 256>>(
      "bf16 1x128256x2048 1/4/8/256");
  benchPlain<Plain<1, 128256, 2048, 1, 4, 4, 256>>(
      "bf16 1x128256x2048 1/4/4/256");
  benchPlain<Plain<1, 128256, 2048, 4, 2, 4, 256>>(
      "bf16 1x128256x2048 4/2/4/256");
  benchPlain<Plain<8, 2048, 2048, 1, 2, 16, 512>>(
      "bf16 8x2048x2048 1/2/16/512");
  benchPlain<Plain<8, 2048, 2048, 1, 4, 8, 256>>("bf16 8x2048x2048 1/4/8/256");
  benchPlain<Plain<8, 2048, 8192, 1, 4, 8, 256>>("bf16 8x2048x8192 1/4/8/256");
  benchPlain<Plain<8, 2048, 8192, 1, 4, 16, 512>>(
      "bf16 8x2048x8192 1/4/16/512");
  benchPlain<Plain<8, 2048, 8192, 1, 2, 16, 512>>(
      "bf16 8x2048x8192 1/2/16/512");
  benchPlain<Plain<8, 8192, 2048, 1, 4, 8, 256>>("bf16 8x8192x2048 1/4/8/256");
  benchPlain<Plain<8, 8192, 2048, 2, 2, 8, 256>>("bf16 8x8192x2048 2/2/8/256");
  benchPlain<Plain<8, 8192, 2048, 1, 2, 8, 256>>("bf16 8x8192x2048 1/2/8/256");
  benchPlain<Plain<8, 8192, 2048, 1, 2, 16, 512>>(
      "bf16 8x8192x2048 1/2/16/512");
  benchPlain<Plain<8, 14336, 4096, 1, 4, 8, 256>>(
      "bf16 8x14336x4096 1/4/8/256");
  benchPlain<Plain<8, 14336, 4096, 2, 2, 8, 256>>(
      "bf16 8x14336x4096 2/2/8/256");
  benchPlain<Plain<8, 14336, 4096, 1, 2, 8, 256>>(
      "bf16 8x14336x4096 1/2/8/256");
  benchPlain<Plain<8, 14336, 4096, 1, 4, 4, 256>>(
      "bf16 8x14336x4096 1/4/4/256");
  benchPlain<Plain<8, 128256, 2048, 2, 2, 8, 256>>(
      "bf16 8x128256x2048 2/2/8/256");
  benchPlain<Plain<8, 128256, 2048, 1, 4, 8, 256>>(
      "bf16 8x128256x2048 1/4/8/256");
  benchPlain<Plain<8, 128256, 2048, 1, 4, 4, 256>>(
      "bf16 8x128256x2048 1/4/4/256");
  benchPlain<Plain<8, 128256, 2048, 4, 2, 4, 256>>(
      "bf16 8x128256x2048 4/2/4/256");
  benchPlain<Normed<Plain<1, 3072, 2048, 1, 2, 16, 512>>>(
      "bf16 1x3072x2048 1/2/16/512 normalized");
  benchPlain<GateUp>("bf16 1x2x8192x2048 1/4/4/256 normalized");
  benchPlain<Normed<Paired<Plain<1, 8192, 2048, 1, 2, 8, 256>>>>(
      "bf16 1x2x8192x2048 1/2/8/256 normalized");
  benchPlain<Normed<Paired<Plain<1, 8192, 2048, 1, 2, 4, 256>>>>(
      "bf16 1x2x8192x2048 1/2/4/256 normalized");
  benchPlain<Paired<Plain<1, 8192, 2048, 1, 4, 4, 256>>>(
      "bf16 1x2x8192x2048 1/4/4/256");
  benchPlain<Normed<Paired<Plain<8, 8192, 2048, 1, 4, 4, 256>>>>(
      "bf16 8x2x8192x2048 1/4/4/256 normalized");
  benchPlain<Normed<Paired<Plain<8, 8192, 2048, 1, 2, 8, 256>>>>(
      "bf16 8x2x8192x2048 1/2/8/256 normalized");
  benchOne<GateUp4>("int4 1x2x8192x2048 1/2/8/256 normalized");
  benchOne<Normed<Paired<Row<Code::int4, 1, 8192, 2048, 2, 8, 512, 2, 2, 64>>>>(
      "int4 1x2x8192x2048 2/8/512/2/2 normalized");
  benchOne<Normed<Paired<Row<Code::int4, 1, 8192, 2048, 2, 8, 256, 4, 4, 64>>>>(
      "int4 1x2x8192x2048 2/8/256/4/4 normalized");
  benchOne<Paired<Row<Code::int4, 1, 8192, 2048, 2, 8, 256, 4, 4, 64>>>(
      "int4 1x2x8192x2048 2/8/256/4/4");
  benchOne<Large>("int4 1x28672x4096 with offsets");
  benchOne<LargeMx>("e2m1 1x14336x4096");
  benchOne<Large8>("e4m3 16x14336x4096");
#endif
}

#endif // FRIT_TEST_CODEGEN_SKELETONS_ROWS_GEMM_BENCH_H
