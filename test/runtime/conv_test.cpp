//===- conv_test.cpp - Checks of convolutions' gradients in plans ---------===//

#include "Check.h"
#include "Opened.h"
#include "PlanWriter.h"
#include "frit/runtime.hpp"
#include "runtime/plan/PlanView.h"

#include <functional>

using namespace frit::test;

/// Returns a problem of 2 images of 5×6 with 4 channels, and 6 filters of 3×3
/// in 2 groups.
static Conv gradient(ConvPass pass) {
  Conv c;
  c.n = 2;
  c.c = 4;
  c.h = c.p = 5;
  c.w = c.q = 6;
  c.k = 6;
  c.r = c.s = 3;
  c.padTop = c.padLeft = c.padBottom = c.padRight = 1;
  c.groups = 2;
  c.pass = pass;
  return c;
}

static constexpr int64_t kX = 2 * 4 * 5 * 6, kW = 6 * 2 * 3 * 3;
static constexpr int64_t kY = 2 * 6 * 5 * 6;

static void write(PlanWriter &plan, const Conv &conv) {
  bool ofWeight = conv.pass == ConvPass::gradWeight;
  Buffer a = plan.input("a", DType::f32, {ofWeight ? kX : kY});
  Buffer b = plan.input("b", DType::f32, {ofWeight ? kY : kW});
  Buffer d = plan.output("d", DType::f32, {ofWeight ? kW : kX});
  plan.conv(conv, "stem/conv", {a, b, d});
  plan.target("x86-64");
}

/// Reads a plan with only this gradient; returns the error, or "" if accepted.
static std::string read(const Conv &conv, Model &model) {
  PlanWriter plan;
  write(plan, conv);
  model = plan.finish("conv");
  frit::PlanView view;
  frit::Status status = frit::PlanView::open(*model.get(), view);
  return status.failed() ? status.message() : "";
}

static void testChecks() {
  auto refuse = [](const char *why, const std::function<void(Conv &)> &change) {
    for (ConvPass pass : {ConvPass::gradInput, ConvPass::gradWeight}) {
      Conv conv = gradient(pass);
      change(conv);
      Model model;
      std::string message = read(conv, model);
      if (message.find(why) == message.npos)
        printf("expected '%s', got '%s'\n", why, message.c_str());
      CHECK(message.find(why) != message.npos);
    }
  };
  const char *small = "too small for it";
  refuse(small, [](Conv &c) { c.n = 3; });
  refuse(small, [](Conv &c) { c.k = 8; });
  refuse(small, [](Conv &c) { c.groups = 1; });
  refuse(small, [](Conv &c) { c.type = DType::f64; });
  refuse("does not match its window", [](Conv &c) { c.strideW = 2; });
  refuse("number of arguments", [](Conv &c) { c.hasBias = 1; });
  refuse("no epilogue", [](Conv &c) { c.activation = frit::Activation::relu; });
  refuse("a type is unknown", [](Conv &c) { c.pass = ConvPass(7); });
  for (ConvPass pass : {ConvPass::gradInput, ConvPass::gradWeight}) {
    Model model;
    CHECK(read(gradient(pass), model).empty());
    frit::PlanView view;
    CHECK(!frit::PlanView::open(*model.get(), view).failed());
    const Step &step = view.steps(view.programs(view.targets()[0])[0].steps)[0];
    CHECK(view.flopsOf(step) == uint64_t(2 * kY * 2 * 3 * 3));
  }
}

/// Checks the error for a gradient, which no host kernel computes: it names the
/// node and says what to do.
static void testMissing() {
  Model gradients;
  CHECK(read(gradient(ConvPass::gradWeight), gradients).empty());
  auto [model, module, context] =
      Opened(std::move(gradients), optionsFor("cpu"));
  std::vector<float> x(kX), dy(kY), dw(kW);
  frit::Error error = context.run(
      {module.bindInput(0, x.data()), module.bindInput(1, dy.data())},
      {module.bindOutput(0, dw.data())});
  CHECK(error.status() == FRIT_UNSUPPORTED);
  for (const char *part : {"node 'stem/conv'", "cuDNN", "-fno-cudnn"})
    CHECK(error.message().find(part) != std::string::npos);
}

int main() {
  testChecks();
  testMissing();
  return finish("conv_test");
}
