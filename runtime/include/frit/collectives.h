//===- collectives.h - What the ranks of a group compute together ---------===//
//
// The only list of them. A new one has its traits here and a line of
// Plan_Collective in dialects/plan/Plan.td, an operator of nn that becomes it
// (dialects/nn/operators/Structure.td, compiler/planning/ListBuilder.cpp), and
// what moves its bytes: runtime/cuda/library/Nccl.cpp and
// runtime/cpu/CpuSteps.cpp. All else asks its traits.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COLLECTIVES_H
#define FRIT_COLLECTIVES_H

#include <cstdint>

namespace frit::artifact {

/// Collective operation of all ranks on a tensor of f32 or bf16. The order is
/// part of the artifact's format.
enum class Collective : uint32_t { mean, sum, reduceScatter, allGather };

struct CollectiveTraits {
  const char *name;   ///< in profiles and reports
  const char *phrase; ///< in errors
  const char *result; ///< what the tensor becomes
  /// Whether each rank has a shard of it: whole rows of kShardRow elements.
  bool divides;
  /// Whether ranks only copy their shards: of f32, also in states.
  bool gathers;
};

inline constexpr uint32_t kCollectives = 4;

constexpr bool isKnown(Collective collective) {
  return uint32_t(collective) < kCollectives;
}

/// Returns the traits of a known collective. It is no table, of which each file
/// that asks for one trait would have a copy.
constexpr CollectiveTraits traitsOf(Collective collective) {
  switch (collective) {
  case Collective::mean:
    return {"all_reduce", "all-reduce", "its mean over the ranks", false,
            false};
  case Collective::sum:
    return {"all_reduce", "all-reduce", "its sum over the ranks", false, false};
  case Collective::reduceScatter:
    return {"reduce_scatter", "reduce-scatter",
            "its mean over the ranks in this rank's shard, 0 elsewhere", true,
            false};
  case Collective::allGather:
    break;
  }
  return {"all_gather", "all-gather", "the shards of all ranks", true, true};
}

} // namespace frit::artifact

#endif // FRIT_COLLECTIVES_H
