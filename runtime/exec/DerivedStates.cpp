//===- DerivedStates.cpp - Which derived states are up to date ------------===//

#include "runtime/exec/DerivedStates.h"

#include <algorithm>

using namespace frit;
using artifact::Buffer;
using artifact::DerivedState;
using artifact::Step;

static bool overlap(uint64_t a, uint64_t aBytes, uint64_t b, uint64_t bBytes) {
  return a < b + bBytes && b < a + aBytes;
}

/// Returns whether the steps have an argument in these bytes of the state: one
/// that they write, or one that they only read.
static bool uses(const PlanView &plan, std::span<const Step> steps,
                 uint64_t offset, uint64_t bytes, bool written) {
  return std::ranges::any_of(steps, [&](const Step &step) {
    return std::ranges::any_of(plan.arguments(step), [&](const Buffer &buffer) {
      return buffer.space == artifact::Space::state &&
             bool(buffer.written) == written &&
             overlap(buffer.offset, buffer.bytes, offset, bytes);
    });
  });
}

DerivedUse frit::useOf(const PlanView &plan, std::span<const Step> steps) {
  DerivedUse use;
  for (uint32_t index = 0; index < plan.derived().size(); ++index) {
    const DerivedState &state = plan.derived()[index];
    if (uses(plan, steps, state.offset, state.bytes, /*written=*/false))
      use.read.push_back(index);
    if (uses(plan, steps, state.source, state.sourceBytes, /*written=*/true) &&
        !uses(plan, steps, state.offset, state.bytes, /*written=*/true))
      use.left.push_back(index);
  }
  return use;
}

bool DerivedStates::hasStale(const DerivedUse &call) const {
  return std::ranges::any_of(call.read,
                             [&](uint32_t index) { return stale[index]; });
}

void DerivedStates::noteWrite(const artifact::State &tensor) {
  for (uint32_t index = 0; index < stale.size(); ++index) {
    const DerivedState &state = plan.derived()[index];
    if (overlap(tensor.offset, tensor.bytes, state.source, state.sourceBytes))
      stale[index] = true;
  }
}

void DerivedStates::noteDerived(std::span<const Step> list) {
  for (uint32_t index = 0; index < stale.size(); ++index) {
    const DerivedState &state = plan.derived()[index];
    if (uses(plan, list, state.offset, state.bytes, /*written=*/true))
      stale[index] = false;
  }
}

void DerivedStates::noteCall(const DerivedUse &call) {
  for (uint32_t index : call.left)
    stale[index] = true;
}
