//===- prepare_test.cpp - Windows of the prepare list ---------------------===//
//
// Runs on the fake driver of ../fuzz/Driver.cpp, which allows 64 MiB per
// allocation and really copies.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Opened.h"
#include "PlanWriter.h"
#include "frit/runtime.hpp"
#include "runtime/cuda/Preparation.h"

using namespace frit;
using namespace frit::test;
using frit::cuda::Window;

namespace {

using Sizes = std::vector<int64_t>;

/// Returns a model with constants of `sizes` floats, each its own number
/// followed by zeros. If `kept`, constants with odd numbers stay on the device.
/// Step i of the prepare list copies the first float of constant reads[i]; the
/// output is all these floats.
Model makeModel(const Sizes &sizes, const std::vector<unsigned> &reads,
                bool kept = false) {
  PlanWriter plan;
  Buffer y = PlanWriter::written(
      plan.output("y", DType::f32, {int64_t(reads.size())}));
  std::vector<Buffer> constants;
  for (unsigned i = 0; i < sizes.size(); ++i) {
    std::vector<float> values(sizes[i]);
    values[0] = float(i);
    constants.push_back(plan.constant("c" + std::to_string(i), DType::f32,
                                      {sizes[i]}, values, kept && i % 2));
    constants.back().bytes = sizeof(float);
  }
  for (unsigned i = 0; i < reads.size(); ++i)
    plan.step(StepKind::copy, "prepare",
              {constants[reads[i]],
               PlanWriter::prepared(i * sizeof(float), sizeof(float), true)});
  plan.step(StepKind::copy, "copy",
            {PlanWriter::prepared(0, y.bytes, false), y});
  Target &target = plan.target("sm_90", unsigned(reads.size()));
  plan.module(emptyElf());
  target.preparedBytes = y.bytes;
  return plan.finish("prepare");
}

/// Returns the constants of each window of the prepare list.
std::vector<std::vector<uint32_t>> cut(Model &&model, uint64_t most) {
  PlanView plan;
  CHECK(!PlanView::open(*model.get(), plan).failed());
  std::span<const Step> list = plan.steps(plan.targets()[0].prepare);
  std::vector<std::vector<uint32_t>> constants;
  size_t next = 0;
  for (const Window &window : cuda::windowsOf(plan, list, most)) {
    CHECK(window.first == next && window.count > 0);
    next += window.count;
    uint64_t bytes = 0;
    for (uint32_t index : window.constants)
      bytes += alignedBytes(plan.constants()[index].bytes);
    CHECK(window.bytes == bytes);
    constants.push_back(window.constants);
  }
  CHECK(next == list.size());
  return constants;
}

using Cut = std::vector<std::vector<uint32_t>>;

} // namespace

static void testWindows() {
  constexpr uint64_t one = kAlignment;
  const Sizes small = {1, 1, 1};
  CHECK(cut(makeModel(small, {}), one).empty());
  CHECK((cut(makeModel(small, {0, 1, 2}), 3 * one) == Cut{{0, 1, 2}}));
  CHECK((cut(makeModel(small, {0, 1, 2}), 2 * one) == Cut{{0, 1}, {2}}));
  // Counted once per window, and again in a later window.
  CHECK((cut(makeModel(small, {0, 0, 1, 0, 2, 0}), 2 * one) ==
         Cut{{0, 1}, {2, 0}}));
  // A window of its own, since it exceeds the limit.
  CHECK((cut(makeModel({1, int64_t(one), 1}, {0, 1, 2}), one) ==
         Cut{{0}, {1}, {2}}));
  // Resident constants are not counted.
  CHECK(
      (cut(makeModel(small, {0, 1, 2}, /*kept=*/true), one) == Cut{{0}, {2}}));
}

/// Tests more constants than fit on the device at once.
static void testLoad() {
  constexpr int64_t large = 10 << 20;
  auto [model, module, context] =
      Opened(makeModel({large, 1, large, 3, large, large},
                       {5, 0, 1, 1, 2, 3, 4, 5, 0}, /*kept=*/true),
             optionsFor("cuda"));
  std::vector<float> y(9);
  CHECK(!context.run({}, {module.bindOutput(0, y.data())}));
  CHECK((y == std::vector<float>{5, 0, 1, 1, 2, 3, 4, 5, 0}));
}

int main() {
  testWindows();
  testLoad();
  return finish("prepare_test");
}
