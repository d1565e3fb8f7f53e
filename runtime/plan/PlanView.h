//===- PlanView.h - A checked view of an artifact's plan ------------------===//
//
// The plan in an image may be damaged or hostile. PlanView::open checks all of
// it once: magic, version, every table, range, text and index; that every
// argument lies inside the memory it names; and that the operands of every
// contraction lie inside its arguments. Later code uses the plan without
// further checks.
//
// A view shows one function at a time: its symbols and variants.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_PLAN_PLANVIEW_H
#define FRIT_RUNTIME_PLAN_PLANVIEW_H

#include "frit/artifact.h"
#include "frit/image.h"
#include "runtime/exec/Status.h"

#include <span>
#include <string_view>
#include <vector>

namespace frit {

/// Computes the length that an extent gives a dimension where its symbol, or
/// its count, is `size`. Returns false if it is out of 64 bits. Inline, since
/// calls compute it.
inline bool computeLength(const artifact::Extent &extent, int64_t size,
                          int64_t &length) {
  if (__builtin_add_overflow(size, extent.shift, &length))
    return false;
  // Towards minus infinity; sizes of symbols are positive.
  length = length / extent.divisor - (length % extent.divisor < 0);
  return !__builtin_mul_overflow(length, extent.factor, &length) &&
         !__builtin_add_overflow(length, extent.offset, &length);
}

class PlanView {
public:
  PlanView() = default;

  /// Checks `image` and makes `plan` a view of its first function. The image
  /// must outlive the view.
  static Status open(const frit_image &image, PlanView &plan);

  std::span<const artifact::Function> functions() const {
    return table(head->functions);
  }
  /// Returns a view of function `index` of the same plan.
  PlanView of(size_t index) const {
    PlanView view = *this;
    view.chosen = index;
    return view;
  }
  /// Returns the function that this view shows.
  const artifact::Function &function() const { return functions()[chosen]; }

  const artifact::Header &header() const { return *head; }
  std::string_view text(artifact::Text text) const {
    return {reinterpret_cast<const char *>(base) + head->strings.offset +
                text.offset,
            text.size};
  }
  std::span<const uint8_t> bytes(artifact::Blob blob) const {
    return {base + blob.offset, blob.size};
  }
  std::span<const int64_t> dims(artifact::Range range) const {
    return table(head->dims).subspan(range.first, range.count);
  }

  /// Returns the tensors of the state memory, which all functions share.
  std::span<const artifact::State> states() const {
    return table(head->states);
  }
  /// Returns the parts of the state memory that ranks divide.
  std::span<const artifact::ShardedState> shards() const {
    return table(head->shards);
  }
  /// Returns the parts of the state memory that others determine.
  std::span<const artifact::DerivedState> derived() const {
    return table(head->derived);
  }
  /// Returns the part that contains byte `offset` of the state memory; null if
  /// none.
  const artifact::ShardedState *shardAt(uint64_t offset) const;
  /// Returns the bytes of the state memory that are not divided.
  uint64_t wholeBytes() const {
    return shards().empty() ? head->stateBytes : shards().front().offset;
  }
  /// Returns the bytes of a rank's shards of the parts before byte `offset`, in
  /// the rank's contiguous shard memory.
  uint64_t shardBytes(uint64_t offset, uint32_t rank, uint32_t ranks) const;
  /// Returns whether a step uses a part that ranks divide.
  bool usesShards(std::span<const artifact::Step> steps) const;
  /// Returns whether a launch gets its shard of an argument, which then has as
  /// many rows as the launch.
  static bool isDivided(const artifact::Step &step,
                        const artifact::Buffer &argument) {
    return step.shardRows &&
           argument.bytes >= step.shardRows * artifact::kShardRow;
  }
  std::span<const artifact::Symbol> symbols() const {
    artifact::Range range = function().symbols;
    return table(head->symbols).subspan(range.first, range.count);
  }
  /// Returns the variants, at least one. The last has the largest sizes.
  std::span<const artifact::Variant> variants() const {
    artifact::Range range = function().variants;
    return table(head->variants).subspan(range.first, range.count);
  }
  std::span<const int64_t> sizes(size_t variant) const {
    return dims(variants()[variant].sizes);
  }
  std::span<const artifact::Tensor> inputs(size_t variant) const {
    artifact::Range range = variants()[variant].inputs;
    return table(head->inputs).subspan(range.first, range.count);
  }
  std::span<const artifact::Tensor> outputs(size_t variant) const {
    artifact::Range range = variants()[variant].outputs;
    return table(head->outputs).subspan(range.first, range.count);
  }
  /// Returns the model's own inputs, and those that string steps compute from
  /// them. The true sizes after them are not included.
  std::span<const artifact::Tensor> modelInputs(size_t variant) const {
    std::span<const artifact::Tensor> all = inputs(variant);
    return all.first(all.size() - function().sizes);
  }
  /// Returns the inputs that the caller gives.
  std::span<const artifact::Tensor> namedInputs(size_t variant) const {
    std::span<const artifact::Tensor> all = modelInputs(variant);
    return all.first(all.size() - stringProgram().computed);
  }
  /// Returns the model's own outputs. The counts after them are not included.
  std::span<const artifact::Tensor> modelOutputs(size_t variant) const {
    std::span<const artifact::Tensor> all = outputs(variant);
    return all.first(all.size() - function().counts);
  }
  /// Returns one extent per dimension; empty if every call uses the whole
  /// tensor.
  std::span<const artifact::Extent>
  extents(const artifact::Tensor &tensor) const {
    return table(head->extents)
        .subspan(tensor.extents.first, tensor.extents.count);
  }
  /// Returns what the model takes of a tensor as indices.
  std::span<const artifact::IndexRange>
  indices(const artifact::Tensor &tensor) const {
    return table(head->indices)
        .subspan(tensor.indices.first, tensor.indices.count);
  }
  /// Returns the strings that the compiler knew.
  std::span<const artifact::Text> vocabulary() const {
    return table(head->vocabulary);
  }
  /// Returns what the function does with strings.
  const artifact::StringProgram &stringProgram() const {
    static constexpr artifact::StringProgram none;
    return head->stringPrograms.count ? table(head->stringPrograms)[chosen]
                                      : none;
  }
  std::span<const artifact::StringStep> stringSteps() const {
    artifact::Range range = stringProgram().steps;
    return table(head->stringSteps).subspan(range.first, range.count);
  }
  std::span<const artifact::StringOperand>
  stringOperands(const artifact::StringStep &step) const {
    return table(head->stringOperands)
        .subspan(step.operands.first, step.operands.count);
  }
  /// Returns whether the function takes or gives strings.
  bool hasStrings() const;
  std::span<const artifact::Constant> constants() const {
    return table(head->constants);
  }
  std::span<const artifact::Target> targets() const {
    return table(head->targets);
  }
  /// Returns the work of a call on `target`, one program per variant.
  std::span<const artifact::Program>
  programs(const artifact::Target &target) const {
    artifact::Range range = function().variants;
    return allPrograms(target).subspan(range.first, range.count);
  }
  /// Returns the work of the calls of all functions.
  std::span<const artifact::Program>
  allPrograms(const artifact::Target &target) const {
    return table(head->programs)
        .subspan(target.programs.first, target.programs.count);
  }
  /// Returns all step lists of a target: those that prepare weights and derive
  /// states, then one per variant of each function.
  std::vector<std::span<const artifact::Step>>
  lists(const artifact::Target &target) const;
  /// Returns the bytes of arena that suffice for every variant.
  uint64_t arenaBytes(const artifact::Target &target) const;
  std::span<const artifact::DeviceModule>
  modules(const artifact::Target &target) const {
    return table(head->modules)
        .subspan(target.modules.first, target.modules.count);
  }
  std::span<const artifact::Kernel> kernels() const {
    return table(head->kernels);
  }
  std::span<const artifact::TensorMap>
  tensorMaps(const artifact::Kernel &kernel) const {
    return table(head->tensorMaps)
        .subspan(kernel.tensorMaps.first, kernel.tensorMaps.count);
  }
  std::span<const int64_t> scalars(const artifact::Kernel &kernel) const {
    return dims(kernel.scalars);
  }
  std::span<const artifact::Step> steps(artifact::Range range) const {
    return table(head->steps).subspan(range.first, range.count);
  }
  std::span<const artifact::Buffer>
  arguments(const artifact::Step &step) const {
    return table(head->buffers)
        .subspan(step.arguments.first, step.arguments.count);
  }
  /// Returns the steps of its list that a step follows, by number.
  std::span<const uint32_t> follows(const artifact::Step &step) const {
    return table(head->follows).subspan(step.follows.first, step.follows.count);
  }
  /// Returns the arguments of the step's own kernel: all except a workspace,
  /// which only the library uses and which is the last argument of a gemm, conv
  /// or attention.
  std::span<const artifact::Buffer>
  kernelArguments(const artifact::Step &step) const;
  const artifact::Gemm &gemm(const artifact::Step &step) const {
    return table(head->gemms)[step.problem];
  }
  const artifact::Conv &conv(const artifact::Step &step) const {
    return table(head->convs)[step.problem];
  }
  const artifact::Attention &attention(const artifact::Step &step) const {
    return table(head->attentions)[step.problem];
  }
  const artifact::Guard &guard(const artifact::Step &step) const {
    return table(head->guards)[step.problem];
  }

  /// Returns whether a step writes state memory.
  bool writesState(const artifact::Step &step) const;

  /// Return the bytes that a step reads and writes (without workspace and
  /// `skipped` bytes), and the multiplications and additions of its
  /// contraction. For reports.
  uint64_t bytesOf(const artifact::Step &step) const;
  uint64_t flopsOf(const artifact::Step &step) const;

  /// Returns the name of a step's kernel, "none" if it has none.
  std::string_view kernelName(const artifact::Step &step) const {
    return step.kernel == artifact::kNone ? "none"
                                          : text(kernels()[step.kernel].name);
  }

  /// Describes a guard for reports: "if true, by " and the step that computes
  /// its flag.
  std::string textOf(const artifact::Guard &guard, const char *by) const;

  /// Names the model's nodes that a step computes: "node 'x' (Conv, opset 13)".
  /// Describes a collective that belongs to no node: "the all-reduce of 4.0 MiB
  /// of gradients".
  std::string nodeOf(const artifact::Step &step) const;

private:
  friend class PlanCheck;

  template <typename T>
  std::span<const T> table(artifact::TableOf<T> table) const {
    return {reinterpret_cast<const T *>(base + table.offset), table.count};
  }

  const uint8_t *base = nullptr;
  const artifact::Header *head = nullptr;
  size_t chosen = 0; ///< the function that it shows
};

/// Rounds up to artifact::kAlignment, the alignment of memory in the arena, in
/// weights and in staging.
inline uint64_t alignedBytes(uint64_t bytes) {
  return (bytes + artifact::kAlignment - 1) / artifact::kAlignment *
         artifact::kAlignment;
}

/// Returns whether `arch` names a GPU architecture.
bool isCudaArch(std::string_view arch);

/// Returns the number of arguments of a problem, not counting the workspace.
unsigned operandCount(const artifact::Gemm &gemm);
unsigned operandCount(const artifact::Conv &conv);
unsigned operandCount(const artifact::Attention &attention);

} // namespace frit

#endif // FRIT_RUNTIME_PLAN_PLANVIEW_H
