//===- weights_test.cpp - Weights that the program gives ------------------===//
//
// The GPU is the fake driver of ../fuzz/Driver.cpp, whose memory is the host's.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Opened.h"
#include "PlanWriter.h"
#include "frit/runtime.hpp"

using namespace frit::test;

/// Returns a model with y = a, read by calls, and z = b, which only a prepare
/// step reads.
static Model makeModel() {
  PlanWriter plan;
  Buffer y = PlanWriter::written(plan.output("y", DType::f32, {2}));
  Buffer z = PlanWriter::written(plan.output("z", DType::f32, {2}));
  Buffer a = plan.constant("a", DType::f32, {2}, std::vector<float>{1, 2},
                           /*resident=*/true);
  Buffer b = plan.constant("b", DType::f32, {2}, std::vector<float>{3, 4},
                           /*resident=*/false);
  for (const char *arch : {"sm_90", "x86-64"}) {
    plan.step(StepKind::copy, "prepare",
              {b, PlanWriter::prepared(0, b.bytes, true)});
    plan.step(StepKind::copy, "y", {a, y});
    plan.step(StepKind::copy, "z",
              {PlanWriter::prepared(0, b.bytes, false), z});
    plan.target(arch, /*prepare=*/1).preparedBytes = b.bytes;
    if (arch == std::string_view("sm_90"))
      plan.module(emptyElf());
  }
  return plan.finish("weights");
}

static const int64_t two[] = {2};

static frit_tensor weight(const char *name, float *data,
                          frit_location location) {
  return {name, data, FRIT_F32, 1, two, location};
}

namespace {
struct OpenedCopies : Opened {
  // The fake driver runs no graphs.
  explicit OpenedCopies(const char *device)
      : Opened(makeModel(), optionsFor(device, FRIT_NO_CUDA_GRAPH)) {}
  bool gives(float y0, float y1, float z0, float z1) {
    float y[2], z[2];
    CHECK(!context.run({}, {module.bindOutput(0, y), module.bindOutput(1, z)}));
    return y[0] == y0 && y[1] == y1 && z[0] == z0 && z[1] == z1;
  }
  frit_status set(std::vector<frit_tensor> tensors) {
    return frit_module_set_weights(module.get(), tensors.data(),
                                   uint32_t(tensors.size()));
  }
};
} // namespace

static void testSet(const char *device, frit_location location) {
  OpenedCopies opened(device);
  CHECK(opened.gives(1, 2, 3, 4));
  alignas(256) float a[2] = {5, 6};
  alignas(256) float b[2] = {7, 8};
  CHECK(!opened.set({weight("b", b, location), weight("a", a, location)}));
  CHECK(opened.gives(5, 6, 7, 8));
  // Replace one of them; then the contents of the same memory.
  alignas(256) float other[130] = {9, 10};
  CHECK(!opened.set({weight("b", other, location)}));
  CHECK(opened.gives(5, 6, 9, 10));
  other[0] = 11;
  a[0] = 12;
  CHECK(!opened.set({weight("b", other, location), weight("a", a, location)}));
  CHECK(opened.gives(12, 6, 11, 10));
  // Unaligned memory is copied.
  other[33] = 13;
  other[34] = 14;
  CHECK(!opened.set({weight("a", other + 33, location)}));
  CHECK(opened.gives(13, 14, 11, 10));
  other[33] = 15;
  CHECK(!opened.set({weight("a", other + 33, location)}));
  CHECK(opened.gives(15, 14, 11, 10));
  // A context created later has them too.
  frit::Context late;
  CHECK(!frit::Context::create(opened.module, late));
  std::swap(late, opened.context);
  CHECK(opened.gives(15, 14, 11, 10));
}

static void testErrors() {
  OpenedCopies opened("cpu");
  float values[2] = {20, 21};
  auto fails = [&](frit_tensor wrong, const char *part) {
    // A valid tensor beside an invalid one is not used.
    CHECK(opened.set({weight("a", values, FRIT_HOST), wrong}) ==
          FRIT_INVALID_ARGUMENT);
    CHECK(lastErrorHas(part));
    CHECK(opened.gives(1, 2, 3, 4));
  };
  const int64_t three[] = {3};
  fails(weight("c", values, FRIT_HOST), "there is no weight 'c'");
  fails(weight(nullptr, values, FRIT_HOST), "without a name");
  fails(weight("a", values, FRIT_HOST), "'a' is given twice");
  fails(weight("b", nullptr, FRIT_HOST), "'b' has no data");
  fails({"b", values, FRIT_F32, 1, three, FRIT_HOST},
        "must be 2xf32 and is 3x");
  fails({"b", values, FRIT_F16, 1, two, FRIT_HOST},
        "must be 2xf32 and is 2xf16");
  fails({"b", values, FRIT_F32, 1, nullptr, FRIT_HOST}, "'b' has no dims");
  CHECK(frit_module_set_weights(nullptr, nullptr, 0) == FRIT_INVALID_ARGUMENT);
  CHECK(frit_module_set_weights(opened.module.get(), nullptr, 1) ==
        FRIT_INVALID_ARGUMENT);
  frit_tensor_info info;
  CHECK(frit_module_weight_count(opened.module.get()) == 2);
  CHECK(!frit_module_weight(opened.module.get(), 1, &info));
  CHECK(!strcmp(info.name, "b") && info.dims[0] == 2 && info.bytes == 8);
  CHECK(frit_module_weight(opened.module.get(), 2, &info) ==
        FRIT_INVALID_ARGUMENT);
}

int main() {
  testSet("cpu", FRIT_HOST);
  testSet("cuda", FRIT_HOST);
  testSet("cuda", FRIT_DEVICE);
  testErrors();
  return finish("weights_test");
}
