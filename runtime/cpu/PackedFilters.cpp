//===- PackedFilters.cpp - Filters that are packed when a model opens -----===//

#include "runtime/cpu/PackedFilters.h"

#include <array>

using namespace frit;
using namespace frit::cpu;
using artifact::Space;

namespace {
/// A step whose filters are weights.
struct PackableStep {
  const artifact::Step *step;
  const artifact::Conv *problem;
  const uint8_t *filters, *zero;
  uint64_t offset;
};
} // namespace

void PackedFilters::pack(const Model &model,
                         const std::vector<void *> &constants,
                         const uint8_t *prepared) {
  places.clear();
  memory.release();
  const Isa isa = bestIsa();
  auto find = [&](const artifact::Buffer &buffer) -> const uint8_t * {
    if (buffer.space == Space::constant)
      return static_cast<const uint8_t *>(constants[buffer.index]) +
             buffer.offset;
    return buffer.space == Space::prepared ? prepared + buffer.offset : nullptr;
  };
  std::vector<PackableStep> steps;
  // Places by filters, zero point and what the form depends on.
  std::map<std::array<int64_t, 10>, uint64_t> known;
  uint64_t total = 0;
  for (const artifact::Program &program : model.plan.allPrograms(*model.target))
    for (const artifact::Step &step : model.plan.steps(program.steps)) {
      if (step.kind != artifact::StepKind::conv)
        continue;
      const artifact::Conv &c = model.plan.conv(step);
      const uint8_t *filters = find(model.plan.arguments(step)[1]);
      const uint8_t *zero =
          c.quantized ? find(model.plan.arguments(step)[3]) : nullptr;
      if (!filters || bool(zero) != bool(c.quantized))
        continue;
      auto [bytes, layout] = packedForm(c, zero, isa);
      if (!bytes)
        continue;
      auto address = [](const void *at) {
        return int64_t(reinterpret_cast<intptr_t>(at));
      };
      auto [place, isNew] = known.try_emplace(
          {address(filters), address(zero), c.k, c.r, c.s, c.c, c.groups,
           c.dilationW, layout, int64_t(bytes)},
          total);
      steps.push_back(
          {&step, &c, isNew ? filters : nullptr, zero, place->second});
      if (isNew)
        total += bytes;
    }
  if (!total || memory.allocate(total, "the packed filters").failed())
    return;
  for (const PackableStep &each : steps) {
    if (each.filters && !packFilters(*each.problem, each.filters, each.zero,
                                     isa, memory.data() + each.offset)) {
      places.clear();
      return;
    }
    places[each.step] = each.offset;
  }
}
