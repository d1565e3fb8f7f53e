//===- feed_test.cpp - Inputs that are sent ahead of their call -----------===//
//
// The GPU is the fake driver of ../fuzz/Driver.cpp.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Opened.h"
#include "PlanWriter.h"
#include "TestModel.h"
#include "frit/runtime.hpp"

using namespace frit::test;

/// Returns a model that copies x to y and n to m.
static Model makeCopies() {
  PlanWriter plan;
  Buffer x = plan.input("x", DType::f32, {4});
  Buffer n = plan.input("n", DType::i64, {2, 2});
  Buffer y = plan.output("y", DType::f32, {4});
  Buffer m = plan.output("m", DType::i64, {2, 2});
  for (const char *arch : {"sm_90", "x86-64"}) {
    plan.step(StepKind::copy, "x", {x, y});
    plan.step(StepKind::copy, "n", {n, m});
    plan.target(arch);
    if (arch == std::string_view("sm_90"))
      plan.module(emptyElf());
  }
  return plan.finish("copies");
}

namespace {
/// A call's inputs in a feed's memory.
struct Inputs {
  Inputs(frit::Feed &feed, float start) {
    void *memory = nullptr;
    CHECK(!feed.allocate(16, memory));
    x = static_cast<float *>(memory);
    CHECK(!feed.allocate(32, memory));
    n = static_cast<int64_t *>(memory);
    for (int i = 0; i < 4; ++i) {
      x[i] = start + float(i);
      n[i] = int64_t(x[i]) * 10;
    }
  }
  /// Returns the inputs in another order than the model's.
  std::vector<frit_tensor> tensors() {
    static const int64_t four[] = {4}, square[] = {2, 2};
    return {{"n", n, FRIT_I64, 2, square, FRIT_HOST},
            {"x", x, FRIT_F32, 1, four, FRIT_HOST}};
  }
  float *x;
  int64_t *n;
};
} // namespace

static void testCalls(const char *device) {
  // The fake driver runs no graphs.
  auto [model, module, context] =
      Opened(makeCopies(), optionsFor(device, FRIT_NO_CUDA_GRAPH));
  frit::Feed feed;
  CHECK(!frit::Feed::create(context, feed));
  std::vector<Inputs> sets = {{feed, 1}, {feed, 50}};
  CHECK(!feed.send(sets[0].tensors()));
  for (int call = 0; call < 4; ++call) {
    frit_tensor inputs[2] = {};
    CHECK(!feed.take(inputs));
    // The next inputs are copied while this call runs.
    CHECK(!feed.send(sets[(call + 1) % 2].tensors()));
    float y[4];
    int64_t m[4];
    CHECK(!context.run(
        inputs, std::initializer_list<frit_tensor>{module.bindOutput(0, y),
                                                   module.bindOutput(1, m)}));
    CHECK(!memcmp(y, sets[call % 2].x, sizeof y));
    CHECK(!memcmp(m, sets[call % 2].n, sizeof m));
  }
}

static void testErrors() {
  Model model = makeTestModel();
  frit::Module module;
  frit::Context context;
  CHECK(!frit::Module::open(*model.get(), module));
  CHECK(!frit::Context::create(module, context));
  frit_feed *feed = nullptr;
  CHECK(frit_feed_create(nullptr, &feed) == FRIT_INVALID_ARGUMENT);
  CHECK(!frit_feed_create(context.get(), &feed));
  float x[32] = {};
  const int64_t dims[] = {4, 8}, more[] = {5, 8}, most[] = {INT64_MAX, 8};
  frit_tensor tensor = {"x", x, FRIT_F32, 2, dims, FRIT_HOST}, taken;
  CHECK(frit_feed_take(feed, &taken) == FRIT_INVALID_ARGUMENT);
  CHECK(lastErrorHas("nothing was sent"));
  auto fails = [&](const frit_tensor &wrong, const char *part) {
    CHECK(frit_feed_send(feed, &wrong, 1) == FRIT_INVALID_ARGUMENT);
    CHECK(lastErrorHas(part));
  };
  fails({"z", x, FRIT_F32, 2, dims, FRIT_HOST}, "'z'");
  fails({"x", x, FRIT_F32, 2, more, FRIT_HOST}, "larger than any variant");
  fails({"x", x, FRIT_F32, 2, most, FRIT_HOST}, "larger than any variant");
  fails({"x", x, FRIT_F64, 2, dims, FRIT_HOST}, "larger than any variant");
  fails({"x", x, FRIT_F32, 2, nullptr, FRIT_HOST}, "larger than any variant");
  fails({"x", x, FRIT_F32, 2, dims, FRIT_DEVICE}, "not in host memory");
  fails({"x", nullptr, FRIT_F32, 2, dims, FRIT_HOST}, "not in host memory");
  CHECK(!frit_feed_send(feed, &tensor, 1));
  fails(tensor, "was not taken yet");
  CHECK(!frit_feed_take(feed, &taken) && taken.data == x);
  frit_feed_destroy(feed);
  frit_feed_destroy(nullptr);
}

int main() {
  testCalls("cuda");
  testCalls("cpu");
  testErrors();
  return finish("feed_test");
}
