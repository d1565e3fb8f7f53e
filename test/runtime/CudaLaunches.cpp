//===- CudaLaunches.cpp - Launches, tensor maps and graph edges on a GPU --===//

#include "CudaLaunches.h"
#include "Opened.h"

#include <algorithm>
#include <chrono>

using namespace frit::test;

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

static constexpr int kRows = 10, kColumns = 20; // of x
static constexpr int kTileRows = 8, kTileColumns = 16;

/// Returns the four tiles of x + increment, with zeros outside of x.
static std::vector<float> expectedTiles(const std::vector<float> &x,
                                        float increment) {
  std::vector<float> tiles;
  for (int tile = 0; tile < 4; ++tile)
    for (int i = 0; i < kTileRows * kTileColumns; ++i) {
      int row = tile / 2 * kTileRows + i / kTileColumns;
      int column = tile % 2 * kTileColumns + i % kTileColumns;
      bool inside = row < kRows && column < kColumns;
      tiles.push_back(inside ? x[size_t(row * kColumns + column)] + increment
                             : 0);
    }
  return tiles;
}

static TensorMap tileMap() {
  TensorMap map;
  map.rank = 2;
  map.dims[0] = kColumns;
  map.dims[1] = kRows;
  map.strides[0] = kColumns * 4;
  map.box[0] = kTileColumns;
  map.box[1] = kTileRows;
  map.elementStrides[0] = map.elementStrides[1] = 1;
  return map;
}

/// Tests that y gets the tiles of x, and z those of x + 1, which is in the
/// arena.
static void testTiles(const std::string &cubin, unsigned flags) {
  PlanWriter plan;
  Buffer x = plan.input("x", DType::f32, {kRows, kColumns});
  Buffer y = plan.output("y", DType::f32, {4, kTileRows, kTileColumns});
  Buffer z = plan.output("z", DType::f32, {4, kTileRows, kTileColumns});
  uint64_t bytes = x.bytes;
  uint32_t tiles = plan.kernel("tiles");
  plan.tensorMap(tileMap());
  uint32_t increment = plan.kernel("increment_all");
  auto launch = [&](uint32_t kernel, uint32_t blocks, uint32_t threads,
                    std::initializer_list<Buffer> arguments) {
    Step &step = plan.step(StepKind::launch, "n", arguments);
    step.kernel = kernel;
    step.grid[0] = blocks;
    step.block[0] = threads;
  };
  launch(tiles, 4, 128, {x, y});
  launch(increment, 1, kRows * kColumns,
         {x, PlanWriter::arena(256, bytes, true)});
  launch(tiles, 4, 128, {PlanWriter::arena(256, bytes, false), z});
  OpenedPlan opened(plan, cubin, 256 + 1024, flags);

  std::vector<float> values(kRows * kColumns), tilesY(512), tilesZ(512);
  auto isRight = [&] {
    return tilesY == expectedTiles(values, 0) &&
           tilesZ == expectedTiles(values, 1);
  };
  frit_tensor out[2] = {opened.module.bindOutput(0, tilesY.data()),
                        opened.module.bindOutput(1, tilesZ.data())};
  for (int call = 0; call < 3; ++call) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = float(i + 1000 * size_t(call));
    CHECK(!opened.context.run({opened.module.bindInput(0, values.data())},
                              {out[0], out[1]}));
    CHECK(isRight());
  }
  // Use another address, and then the first again.
  frit::Context other;
  CHECK(!frit::Context::create(opened.module, other));
  std::reverse(values.begin(), values.end());
  CHECK(!other.run({opened.module.bindInput(0, values.data())},
                   {out[0], out[1]}));
  CHECK(isRight());
  frit_tensor elsewhere = opened.module.bindInput(0, values.data());
  elsewhere.data = frit_context_input_buffer(other.get(), 0);
  elsewhere.location = FRIT_DEVICE;
  for (int call = 0; call < 2; ++call) {
    std::fill(tilesY.begin(), tilesY.end(), -1.0f);
    CHECK(!opened.context.run({elsewhere}, {out[0], out[1]}));
    CHECK(isRight());
    std::rotate(values.begin(), values.begin() + 1, values.end());
    CHECK(!opened.context.run({opened.module.bindInput(0, values.data())},
                              {out[0], out[1]}));
    CHECK(isRight());
    std::rotate(values.begin(), values.end() - 1, values.end());
  }
}

/// Copies one tap of a 3x3 convolution with pads of 1 over all pixels of a
/// small batch, like an implicit GEMM.
static void testIm2col(const std::string &cubin) {
  constexpr int n = 2, h = 4, w = 5, c = 16, pixels = n * h * w;
  PlanWriter plan;
  Buffer x = plan.input("x", DType::f32, {n, h, w, c});
  Buffer y = plan.output("y", DType::f32, {9, pixels, c});
  Step &step = plan.step(StepKind::launch, "taps", {x, y});
  step.kernel = plan.kernel("taps");
  step.grid[0] = 9;
  step.block[0] = 128;
  TensorMap map;
  map.kind = MapKind::im2col;
  map.rank = 4;
  const uint64_t dims[] = {c, w, h, n};
  uint64_t stride = 4;
  for (int i = 0; i < 4; ++i) {
    map.dims[i] = dims[i];
    map.elementStrides[i] = 1;
    if (i)
      map.strides[i - 1] = stride;
    stride *= dims[i];
  }
  map.lower[0] = map.lower[1] = -1;
  map.upper[0] = map.upper[1] = -1;
  map.channels = c;
  map.pixels = pixels;
  plan.tensorMap(map);
  OpenedPlan opened(plan, cubin, 0, 0);

  std::vector<float> in(n * h * w * c), out(9 * pixels * c), expected;
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = float(i + 1);
  for (int tap = 0; tap < 9; ++tap)
    for (int pixel = 0; pixel < pixels; ++pixel)
      for (int channel = 0; channel < c; ++channel) {
        int row = pixel / w % h + tap / 3 - 1, column = pixel % w + tap % 3 - 1;
        bool inside = row >= 0 && row < h && column >= 0 && column < w;
        int index = ((pixel / w / h * h + row) * w + column) * c + channel;
        expected.push_back(inside ? in[size_t(index)] : 0);
      }
  CHECK(!opened.context.run({opened.module.bindInput(0, in.data())},
                            {opened.module.bindOutput(0, out.data())}));
  CHECK(out == expected);
}

void frit::test::testTensorMaps(const std::string &cubin) {
  testTiles(cubin, 0);
  testTiles(cubin, FRIT_NO_CUDA_GRAPH);
  testIm2col(cubin);
}

//===----------------------------------------------------------------------===//
// Programmatic dependent launch
//===----------------------------------------------------------------------===//

/// Checks that each call on `count` ones gives `expected` everywhere.
static void checkCalls(OpenedPlan &opened, int64_t count, float expected) {
  std::vector<float> values(size_t(count), 1), result(values.size());
  frit_tensor in = opened.module.bindInput(0, values.data());
  for (int call = 0; call < 20; ++call) {
    std::fill(result.begin(), result.end(), 0.0f);
    CHECK(!opened.context.run({in},
                              {opened.module.bindOutput(0, result.data())}));
    CHECK(std::ranges::all_of(result,
                              [=](float value) { return value == expected; }));
  }
}

/// Returns the first input and output in the context's own memory.
static std::pair<frit_tensor, frit_tensor> ownTensors(OpenedPlan &opened) {
  frit_context *context = opened.context.get();
  frit_tensor in =
      opened.module.bindInput(0, frit_context_input_buffer(context, 0));
  frit_tensor out =
      opened.module.bindOutput(0, frit_context_output_buffer(context, 0));
  in.location = out.location = FRIT_DEVICE;
  return {in, out};
}

/// Each kernel of the chain copies a whole buffer and adds one, so a kernel
/// that reads too early gives wrong results. Returns microseconds per kernel.
static double runChain(const std::string &cubin, const char *kernel,
                       int64_t count, unsigned flags) {
  constexpr int kLength = 200;
  PlanWriter plan;
  Buffer x = plan.input("x", DType::f32, {count});
  Buffer y = plan.output("y", DType::f32, {count});
  uint64_t bytes = x.bytes;
  uint32_t index = plan.kernel(kernel);
  plan.kernels.back().waits = 1;
  for (int i = 0; i < kLength; ++i) {
    auto arena = [&](int slot, bool written) {
      return PlanWriter::arena(uint64_t(slot % 2) * bytes, bytes, written);
    };
    Step &step = plan.step(
        StepKind::launch, "n",
        {i ? arena(i, false) : x, i == kLength - 1 ? y : arena(i + 1, true)});
    step.kernel = index;
    step.grid[0] = uint32_t(count / 256);
    step.block[0] = 256;
  }
  OpenedPlan opened(plan, cubin, 2 * bytes, flags);
  checkCalls(opened, count, 1 + kLength);
  auto [in, out] = ownTensors(opened);
  double perKernel = opened.timeCalls({&in, 1}, out) / kLength;

  // Use another output address in every call.
  frit::Context other;
  CHECK(!frit::Context::create(opened.module, other));
  void *places[2] = {out.data, frit_context_output_buffer(other.get(), 0)};
  constexpr int kCalls = 200;
  auto start = std::chrono::steady_clock::now();
  for (int call = 0; call < kCalls; ++call) {
    out.data = places[call % 2];
    CHECK(!opened.context.runAsync({&in, 1}, {&out, 1}));
  }
  CHECK(!opened.context.synchronize());
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  double perMove = took.count() * 1e6 / kCalls - perKernel * kLength;
  if (!flags && count == 1024)
    printf("a call with another address takes %.1f us more\n", perMove);
  return perKernel;
}

void frit::test::testProgrammaticLaunch(const std::string &cubin) {
  for (int64_t count : {256 * 4, 256 * 132, 256 * 2048})
    for (const char *kernel : {"chained_early", "chained_late"}) {
      double with = runChain(cubin, kernel, count, 0);
      double without =
          runChain(cubin, kernel, count, FRIT_NO_PROGRAMMATIC_LAUNCH);
      printf("%6lld floats through %s: %.2f us per kernel, %.2f us where each "
             "waits for the end of the one before\n",
             static_cast<long long>(count), kernel, with, without);
    }
}

//===----------------------------------------------------------------------===//
// Concurrent kernels
//===----------------------------------------------------------------------===//

/// Diamonds of two branches, one twice as long, in memory that is reused as
/// soon as the edges allow it. Returns microseconds per diamond.
static double runDiamonds(const std::string &cubin, int64_t count, bool forked,
                          unsigned flags) {
  constexpr int kLength = 40;
  PlanWriter plan;
  Buffer x = plan.input("x", DType::f32, {count});
  Buffer y = plan.output("y", DType::f32, {count});
  uint64_t bytes = x.bytes;
  uint32_t add = plan.kernel("chained_early");
  plan.kernels.back().waits = 1;
  uint32_t mean = plan.kernel("mean_early");
  plan.kernels.back().waits = 1;
  auto arena = [&](int slot, bool written) {
    return PlanWriter::arena(uint64_t(slot) * bytes, bytes, written);
  };
  auto launch = [&](uint32_t kernel,
                    std::initializer_list<Buffer> arguments) -> Step & {
    Step &step = plan.step(StepKind::launch, "n", arguments);
    step.kernel = kernel;
    step.grid[0] = uint32_t(count / 256);
    step.block[0] = 256;
    return step;
  };
  // The longer branch uses slots 1 and 2, the shorter one slot 3.
  for (uint32_t i = 0; i < kLength; ++i) {
    bool first = i == 0, last = i == kLength - 1;
    Buffer top = first ? x : arena(0, false);
    launch(add, {top, arena(1, true)});
    launch(add, {arena(1, false), arena(2, true)});
    Step &step = launch(add, {top, arena(3, true)});
    if (forked && first)
      plan.follow(step, {});
    else if (forked)
      plan.follow(step, {4 * i - 1});
    Step &join = launch(
        mean, {arena(2, false), arena(3, false), last ? y : arena(0, true)});
    if (forked)
      plan.follow(join, {4 * i + 1, 4 * i + 2});
  }
  OpenedPlan opened(plan, cubin, 4 * bytes, flags);
  checkCalls(opened, count, 1 + 1.5f * kLength);
  auto [in, out] = ownTensors(opened);
  return opened.timeCalls({&in, 1}, out) / kLength;
}

void frit::test::testBranches(const std::string &cubin) {
  for (int64_t count : {256 * 4, 256 * 132, 256 * 2048}) {
    double forked = runDiamonds(cubin, count, true, 0);
    double chain = runDiamonds(cubin, count, false, 0);
    double full = runDiamonds(cubin, count, true, FRIT_NO_PROGRAMMATIC_LAUNCH);
    printf("%6lld floats through diamonds of 4 kernels: %.2f us each beside "
           "each other, %.2f us where each waits for ends, %.2f us one after "
           "another\n",
           static_cast<long long>(count), forked, full, chain);
  }
}
