//===- DerivedStates.h - Which derived states are up to date --------------===//
//
// A derived state, such as weights in 16 bits, follows from another state. A
// step that writes the other state usually writes it, too. Otherwise it is
// stale, and the derive list computes it before the next call that reads it.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_EXEC_DERIVEDSTATES_H
#define FRIT_RUNTIME_EXEC_DERIVEDSTATES_H

#include "runtime/plan/PlanView.h"

#include <vector>

namespace frit {

/// Numbers in Header::derived of the states that a list of steps reads, and of
/// those that it leaves stale: it writes their source but not them.
struct DerivedUse {
  std::vector<uint32_t> read, left;
};

DerivedUse useOf(const PlanView &plan, std::span<const artifact::Step> steps);

/// Which derived states of a context and its peers are stale; all at first.
class DerivedStates {
public:
  explicit DerivedStates(const PlanView &plan)
      : plan(plan), stale(plan.derived().size(), true) {}

  /// Returns whether a call reads a stale one.
  bool hasStale(const DerivedUse &call) const;

  /// Note a write from outside, the end of a derive list, and a call.
  void noteWrite(const artifact::State &tensor);
  void noteDerived(std::span<const artifact::Step> list);
  void noteCall(const DerivedUse &call);

private:
  PlanView plan;
  std::vector<bool> stale; ///< by number in Header::derived
};

} // namespace frit

#endif // FRIT_RUNTIME_EXEC_DERIVEDSTATES_H
