//===- attention_test.cpp - Checks of attention when a plan is read -------===//

#include "Check.h"
#include "PlanWriter.h"
#include "frit/runtime.hpp"
#include "runtime/plan/PlanView.h"

#include <functional>

using namespace frit::test;

/// Returns an attention of 2 heads of size 8 on 5 rows of packed Q, K and V,
/// with an f32 mask that is broadcast over heads.
static Attention packed() {
  Attention a;
  a.batch = 3;
  a.heads = a.groups = 2;
  a.queries = a.keys = 5;
  a.size = a.valueSize = 8;
  a.hasMask = 1;
  a.typeMask = DType::f32;
  a.inputs = 2;
  a.workspaceBytes = 256;
  int64_t offset = 0;
  for (StridedOperand *operand : {&a.q, &a.k, &a.v}) {
    *operand = {0, 0, offset, {240, 8, 48, 1}};
    offset += 16;
  }
  a.mask = {1, 0, 0, {25, 0, 5, 1}};
  a.y = {2, 0, 0, {80, 8, 16, 1}};
  return a;
}

/// Reads a plan with only this attention; returns the error, or "" if accepted.
static std::string read(const Attention &attention, Model &model,
                        bool ownKernel = false) {
  PlanWriter plan;
  Buffer x = plan.input("x", DType::f16, {3, 5, 48});
  Buffer mask = plan.input("mask", DType::f32, {3, 5, 5});
  Buffer y = plan.output("y", DType::f16, {3, 5, 16});
  uint32_t kernel = ownKernel ? plan.kernel("k") : kNone;
  plan.attention(attention, "n", {x, mask, y, PlanWriter::arena(0, 256, true)})
      .kernel = kernel;
  plan.target("sm_90a");
  plan.module("code");
  plan.program().arenaBytes = 256;
  model.plan = plan.finish("attention").plan;
  frit::PlanView view;
  frit::Status status = frit::PlanView::open(*model.get(), view);
  return status.failed() ? status.message() : "";
}

static void refuse(const char *why,
                   const std::function<void(Attention &)> &change) {
  Attention attention = packed();
  change(attention);
  Model model;
  std::string message = read(attention, model);
  if (message.find(why) == message.npos)
    printf("expected '%s', got '%s'\n", why, message.c_str());
  CHECK(message.find(why) != message.npos);
}

static void testRefused() {
  const char *small = "too small for it";
  refuse(small, [](Attention &a) { a.v.offset = 33; });
  refuse(small, [](Attention &a) { a.k.strides[2] = 53; });
  refuse(small, [](Attention &a) { a.batch = 4; });
  refuse(small, [](Attention &a) { a.keys = 6; });
  refuse(small, [](Attention &a) { a.y.strides[1] = 9; });
  refuse(small, [](Attention &a) { a.mask.strides[1] = 1; });
  refuse(small, [](Attention &a) { a.type = DType::f32; });
  refuse(small, [](Attention &a) { a.q.strides[0] = int64_t(1) << 40; });
  const char *size = "a size is out of range";
  refuse(size, [](Attention &a) { a.queries = 0; });
  refuse(size, [](Attention &a) { a.keys = (int64_t(1) << 40) + 1; });
  const char *stride = "a stride is out of range";
  refuse(stride, [](Attention &a) { a.k.strides[2] = -48; });
  refuse(stride, [](Attention &a) { a.mask.offset = -1; });
  const char *argument = "none of its arguments";
  refuse(argument, [](Attention &a) { a.q.argument = 2; });
  refuse(argument, [](Attention &a) { a.mask.argument = ~0u; });
  refuse(argument, [](Attention &a) { a.y.argument = 1; });
  refuse("do not divide its heads", [](Attention &a) { a.groups = 3; });
  refuse("a type is unknown", [](Attention &a) { a.type = DType(99); });
  refuse("number of inputs", [](Attention &a) { a.inputs = 0; });
  refuse("number of inputs", [](Attention &a) { a.inputs = 5; });
  refuse("number of arguments", [](Attention &a) { a.inputs = 1; });
  refuse("workspace is too small",
         [](Attention &a) { a.workspaceBytes = 257; });
}

/// Returns the gradient of 2 heads of 8 on 5 rows: q, k and v in one input, y
/// and dy.
static Attention gradient() {
  Attention a = packed();
  a.hasMask = 0;
  a.gradient = 1;
  a.inputs = 4;
  a.y = {1, 0, 0, {80, 8, 16, 1}};
  a.dy = {2, 0, 0, {80, 8, 16, 1}};
  a.stats = {3, 0, 0, {10, 5, 1, 1}};
  int64_t offset = 0;
  for (StridedOperand *operand : {&a.dq, &a.dk, &a.dv}) {
    *operand = {4, 0, offset, {240, 8, 48, 1}};
    offset += 16;
  }
  return a;
}

static void testGradient() {
  auto read = [](const Attention &a) -> std::string {
    PlanWriter plan;
    Buffer x = plan.input("x", DType::f16, {3, 5, 48});
    Buffer y = plan.input("y", DType::f16, {3, 5, 16});
    Buffer dy = plan.input("dy", DType::f16, {3, 5, 16});
    Buffer dx = plan.output("dx", DType::f16, {3, 5, 48});
    Buffer stats = plan.input("stats", DType::f32, {3, 2, 5});
    plan.attention(a, "n",
                   {x, y, dy, stats, dx, PlanWriter::arena(0, 256, true)});
    plan.target("sm_90a");
    plan.module("code");
    plan.program().arenaBytes = 256;
    Model model = plan.finish("attention");
    frit::PlanView view;
    frit::Status status = frit::PlanView::open(*model.get(), view);
    return status.failed() ? status.message() : "";
  };
  auto refuse = [&](const char *why,
                    const std::function<void(Attention &)> &change) {
    Attention a = gradient();
    change(a);
    std::string message = read(a);
    if (message.find(why) == message.npos)
      printf("expected '%s', got '%s'\n", why, message.c_str());
    CHECK(message.find(why) != message.npos);
  };
  CHECK(read(gradient()).empty());
  refuse("too small for it", [](Attention &a) { a.dv.offset = 33; });
  refuse("too small for it", [](Attention &a) { a.dy.strides[0] = 96; });
  refuse("a stride is out of range", [](Attention &a) { a.dk.offset = -1; });
  refuse("none of its arguments", [](Attention &a) { a.dq.argument = 2; });
  refuse("too small for it", [](Attention &a) { a.stats.offset = 1; });
  refuse("none of its arguments", [](Attention &a) { a.dy.argument = 4; });
  refuse("none of its arguments", [](Attention &a) { a.stats.argument = 4; });
  refuse("none of its arguments", [](Attention &a) { a.y.argument = 4; });
  refuse("number of inputs", [](Attention &a) { a.inputs = 8; });
}

static void testTaken() {
  Model model;
  CHECK(read(packed(), model, /*ownKernel=*/true).empty());
  frit::PlanView view;
  CHECK(!frit::PlanView::open(*model.get(), view).failed());
  const Step &step = view.steps(view.programs(view.targets()[0])[0].steps)[0];
  // Its kernel gets no workspace.
  CHECK(view.kernelArguments(step).size() == 3);
  CHECK(view.flopsOf(step) == 2 * 3 * 2 * 5 * 5 * 16);

  frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
  options.device = "none";
  frit::Module module;
  CHECK(!frit::Module::open(*model.get(), module, &options));
  CHECK(module.target(0).library_calls == 1 && module.target(0).launches == 0);

  // Without a mask, its description is ignored.
  Attention plain = packed();
  plain.hasMask = 0;
  plain.mask.argument = 7;
  CHECK(read(plain, model).empty());
}

int main() {
  testTaken();
  testRefused();
  testGradient();
  return finish("attention_test");
}
