//===- PlanCheck.h - The checks of an artifact's plan ---------------------===//

#ifndef FRIT_RUNTIME_PLAN_PLANCHECK_H
#define FRIT_RUNTIME_PLAN_PLANCHECK_H

#include "runtime/plan/PlanView.h"
#include "runtime/plan/ShapeCheck.h"
#include "runtime/plan/StringCheck.h"

namespace frit {

/// Returns whether [offset, offset + size) lies in [0, limit).
inline bool fits(uint64_t offset, uint64_t size, uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

/// The checks of a plan. Each may rely on the previous ones.
class PlanCheck {
public:
  PlanCheck(const frit_image &image, PlanView &plan)
      : image(image), plan(plan) {}

  Status run() {
    FRIT_TRY(checkHeader());
    FRIT_TRY(checkTables());
    FRIT_TRY(checkFunctions());
    FRIT_TRY(checkConstants());
    FRIT_TRY(checkStates());
    for (plan.chosen = 0; plan.chosen < plan.functions().size();
         ++plan.chosen) {
      FRIT_TRY(checkVariants(plan));
      FRIT_TRY(checkStrings(plan));
    }
    plan.chosen = 0;
    return checkTargets();
  }

private:
  /// Limits of the memory that a step list may address.
  struct Memory {
    bool preparing;
    uint64_t arena, prepared;
    uint64_t state = 0;
    std::span<const artifact::Tensor> inputs = {}, outputs = {};
  };

  Status checkHeader();
  Status checkTables();
  Status checkFunctions();
  Status checkConstants();
  Status checkStates();
  Status checkShards();
  Status checkTargets();
  Status checkPrograms(const artifact::Target &target);
  Status checkTarget(const artifact::Target &target);
  Status checkDerive(const artifact::Target &target);
  Status checkModules(const artifact::Target &target);
  Status checkKernel(const artifact::Target &target,
                     const artifact::Kernel &kernel, bool cuda);
  Status checkSteps(const artifact::Target &target, const Memory &memory,
                    artifact::Range steps);
  Status checkStep(const artifact::Target &target, const Memory &memory,
                   const artifact::Step &step);
  /// Checks what only steps of this kind have, after their arguments and
  /// kernel.
  template <artifact::StepKind kind>
  Status checkKind(const Memory &memory, const artifact::Step &step) {
    static_assert(kind != kind, "StepCheck.cpp does not check this kind");
    return Status();
  }
  Status checkArgument(const Memory &memory, const artifact::Buffer &buffer);
  const char *checkShardUse(bool cuda, const artifact::Step &step);
  static const char *
  checkCollective(artifact::Collective collective,
                  std::span<const artifact::Buffer> arguments);

  bool valid(artifact::Text text) const {
    return fits(text.offset, text.size, plan.head->strings.size);
  }
  static bool valid(artifact::Range range, const artifact::Table &table) {
    return fits(range.first, range.count, table.count);
  }
  bool valid(artifact::Blob blob) const {
    return fits(blob.offset, blob.size, plan.head->bytes);
  }
  template <typename Entry>
  bool haveNames(std::span<const Entry> entries) const;

  const frit_image &image;
  PlanView &plan;
};

} // namespace frit

#endif // FRIT_RUNTIME_PLAN_PLANCHECK_H
