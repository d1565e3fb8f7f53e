//===- tensor_map_test.cpp - Checks of tensor maps when a plan is read ----===//

#include "Check.h"
#include "PlanWriter.h"
#include "runtime/plan/PlanView.h"

#include <functional>

using namespace frit::test;

/// Returns a map of a 100x64 matrix of f16, from its second row on.
static TensorMap tiled() {
  TensorMap map;
  map.type = DType::f16;
  map.rank = 2;
  map.offset = 128;
  map.dims[0] = 64;
  map.dims[1] = 99;
  map.strides[0] = 128;
  map.box[0] = 64;
  map.box[1] = 128;
  map.elementStrides[0] = map.elementStrides[1] = 1;
  map.swizzle = 128;
  return map;
}

/// Returns a map of the tensor above as 4x5x5x64, for a 3x3 window.
static TensorMap im2col() {
  TensorMap map;
  map.kind = MapKind::im2col;
  map.type = DType::f16;
  map.rank = 4;
  const uint64_t dims[] = {64, 5, 5, 4}, strides[] = {128, 640, 3200};
  for (int i = 0; i < 4; ++i) {
    map.dims[i] = dims[i];
    map.elementStrides[i] = 1;
    if (i < 3)
      map.strides[i] = strides[i];
  }
  map.lower[0] = map.lower[1] = map.upper[0] = map.upper[1] = -1;
  map.channels = 64;
  map.pixels = 128;
  map.swizzle = 128;
  return map;
}

/// Reads a plan with the map, used by a launch or by a gemm's kernel; returns
/// the error, or "" if accepted.
static std::string read(const TensorMap &map, bool ofGemm = false) {
  PlanWriter plan;
  Buffer x = plan.input("x", DType::f16, {100, 64});
  Buffer w = plan.input("w", DType::f16, {64, 8});
  Buffer y = plan.output("y", DType::f16, {100, 8});
  uint32_t kernel = plan.kernel("k");
  plan.tensorMap(map);
  if (ofGemm) {
    Gemm gemm;
    gemm.m = 100;
    gemm.k = gemm.lda = 64;
    gemm.n = gemm.ldb = gemm.ldd = 8;
    gemm.typeA = gemm.typeB = gemm.typeD = DType::f16;
    gemm.compute = Compute::f16;
    gemm.workspaceBytes = 1 << 20;
    plan.gemm(gemm, "n", {x, w, y, PlanWriter::arena(0, 1 << 20, true)})
        .kernel = kernel;
  } else {
    plan.step(StepKind::launch, "n", {x, w, y}).kernel = kernel;
  }
  plan.target("sm_90a");
  plan.module("code");
  plan.program().arenaBytes = 1 << 20;
  Model model = plan.finish("maps");
  frit::PlanView view;
  frit::Status status = frit::PlanView::open(*model.get(), view);
  return status.failed() ? status.message() : "";
}

static void refuse(TensorMap map, const char *why,
                   const std::function<void(TensorMap &)> &change) {
  change(map);
  std::string message = read(map);
  if (message.find(why) == message.npos)
    printf("expected '%s', got '%s'\n", why, message.c_str());
  CHECK(message.find(why) != message.npos);
}

static void testTiled() {
  CHECK(read(tiled()).empty());
  CHECK(read(tiled(), /*ofGemm=*/true).empty());
  TensorMap map = tiled();
  map.offset = 0;
  map.dims[1] = 100;
  CHECK(read(map).empty());

  const char *past = "reaches past its argument's end";
  refuse(map, past, [](TensorMap &m) { m.dims[1] = 101; });
  refuse(map, past, [](TensorMap &m) { m.dims[0] = 65; });
  refuse(map, past, [](TensorMap &m) { m.strides[0] = 144; });
  refuse(map, past, [](TensorMap &m) { m.offset = 16; });
  refuse(map, past, [](TensorMap &m) { m.type = DType::f32, m.box[0] = 32; });
  refuse(map, past, [](TensorMap &m) {
    m.dims[1] = uint64_t(1) << 32;
    m.strides[0] = (uint64_t(1) << 40) - 16;
  });
  const char *place = "starts at a wrong place";
  refuse(map, place, [](TensorMap &m) { m.offset = 8; });
  refuse(map, place, [](TensorMap &m) { m.offset = ~uint64_t(15); });
  refuse(map, "is not there", [](TensorMap &m) { m.argument = 3; });
  const char *sizes = "sizes are out of range";
  refuse(map, sizes, [](TensorMap &m) { m.dims[0] = 0; });
  refuse(map, sizes, [](TensorMap &m) { m.dims[1] = ~uint64_t(0); });
  refuse(map, sizes, [](TensorMap &m) { m.elementStrides[1] = 0; });
  refuse(map, sizes, [](TensorMap &m) { m.elementStrides[1] = 9; });
  refuse(map, "strides are out", [](TensorMap &m) { m.strides[0] = 136; });
  refuse(map, "strides are out",
         [](TensorMap &m) { m.strides[0] = 1ull << 40; });
  refuse(map, "impossible rank", [](TensorMap &m) { m.rank = 0; });
  refuse(map, "impossible rank", [](TensorMap &m) { m.rank = 6; });
  refuse(map, "no known kind", [](TensorMap &m) { m.kind = MapKind(2); });
  refuse(map, "type of a tensor map", [](TensorMap &m) { m.type = DType(99); });
  refuse(map, "swizzle is unknown", [](TensorMap &m) { m.swizzle = 16; });
  refuse(map, "longer than its swizzle", [](TensorMap &m) { m.swizzle = 64; });
  refuse(map, "wrong size", [](TensorMap &m) { m.box[0] = 4; });
  refuse(map, "wrong size", [](TensorMap &m) { m.box[0] = 264; });
  refuse(map, "too large or empty", [](TensorMap &m) { m.box[1] = 0; });
  refuse(map, "too large or empty", [](TensorMap &m) { m.box[1] = 257; });
}

static void testIm2col() {
  CHECK(read(im2col()).empty());
  refuse(im2col(), "reaches past", [](TensorMap &m) { m.dims[3] = 5; });
  refuse(im2col(), "fewer than three", [](TensorMap &m) { m.rank = 2; });
  refuse(im2col(), "pixels", [](TensorMap &m) { m.pixels = 1025; });
  refuse(im2col(), "pixels", [](TensorMap &m) { m.pixels = 0; });
  refuse(im2col(), "wrong size", [](TensorMap &m) { m.channels = 0; });
  refuse(im2col(), "longer than", [](TensorMap &m) { m.channels = 128; });
  refuse(im2col(), "corners", [](TensorMap &m) { m.lower[1] = -129; });
  refuse(im2col(), "corners", [](TensorMap &m) { m.upper[0] = 128; });
}

/// Tests that a gemm's kernel gets no workspace.
static void testArguments() {
  TensorMap map = tiled();
  map.argument = 3;
  std::string message = read(map, /*ofGemm=*/true);
  CHECK(message.find("is not there") != message.npos);
}

int main() {
  testTiled();
  testIm2col();
  testArguments();
  return finish("tensor_map_test");
}
