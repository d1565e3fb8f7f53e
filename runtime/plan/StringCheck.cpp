//===- StringCheck.cpp - Check what a plan does with strings --------------===//

#include "runtime/plan/StringCheck.h"
#include "runtime/exec/Types.h"
#include "runtime/plan/ShapeCheck.h"

#include <algorithm>
#include <cstring>

using namespace frit;
using namespace frit::artifact;

/// Returns whether [offset, offset + size) lies in [0, limit).
static bool liesIn(uint64_t offset, uint64_t size, uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

namespace {
class StringCheck {
public:
  explicit StringCheck(const PlanView &plan)
      : plan(plan), first(plan.namedInputs(0).size()), end(first) {}

  Status run();

private:
  Status checkStep(const StringStep &step);
  bool isOperand(const StringOperand &operand) const;
  bool areResults(const StringStep &step) const;
  bool areNumbers(Range range) const;
  bool isAutomaton(Blob blob) const;
  bool has(Range range, const Table &table) const {
    return liesIn(range.first, range.count, table.count);
  }

  const PlanView &plan;
  /// Inputs from `first` to `end` have been computed by earlier steps.
  size_t first, end;
};
} // namespace

/// Returns whether the numbers are those of the vocabulary.
bool StringCheck::areNumbers(Range range) const {
  if (!has(range, plan.header().dims))
    return false;
  auto known = int64_t(plan.vocabulary().size());
  return std::ranges::all_of(plan.dims(range), [&](int64_t number) {
    return number >= 0 && number < known;
  });
}

bool StringCheck::isAutomaton(Blob blob) const {
  Automaton head;
  if (!liesIn(blob.offset, blob.size, plan.header().bytes) ||
      blob.size < sizeof head)
    return false;
  std::span<const uint8_t> bytes = plan.bytes(blob);
  memcpy(&head, bytes.data(), sizeof head);
  if (!head.states || head.states >= kNoState || !head.classes ||
      head.classes > 257 || head.bytes() != blob.size)
    return false;
  for (uint8_t kind : head.classOf)
    if (kind + 1u >= head.classes)
      return false;
  for (size_t at = sizeof head; at < blob.size; at += 2) {
    uint16_t next;
    memcpy(&next, &bytes[at], sizeof next);
    if (next != kNoState && next >= head.states)
      return false;
  }
  return true;
}

bool StringCheck::isOperand(const StringOperand &operand) const {
  if (operand.input != kNone) {
    if (operand.input >= end)
      return false;
    // A computed tensor of bools or numbers is not read again.
    const Tensor &tensor = plan.inputs(0)[operand.input];
    return operand.input < first ? tensor.type == DType::string
                                 : tensor.type == DType::i64;
  }
  uint64_t count;
  return areNumbers(operand.ids) && has(operand.dims, plan.header().dims) &&
         countElements(plan.dims(operand.dims), count) &&
         count == operand.ids.count;
}

/// Returns whether the step's results are the next inputs, of the right types.
bool StringCheck::areResults(const StringStep &step) const {
  uint32_t count = resultsOf(step.op);
  if (step.result != end || count > plan.modelInputs(0).size() - end)
    return false;
  for (uint32_t i = 0; i < count; ++i) {
    DType wanted = step.op == StringOp::match ? DType::boolean : DType::i64;
    if (plan.inputs(0)[end + i].type != wanted)
      return false;
  }
  bool splits = step.op == StringOp::split;
  return (!splits && step.op != StringOp::normalize) ||
         plan.inputs(0)[end].dims.count > 0;
}

Status StringCheck::checkStep(const StringStep &step) {
  const Header &head = plan.header();
  if (!liesIn(step.node.offset, step.node.size, head.strings.size) ||
      step.op > StringOp::normalize)
    return damagedPlan("a string step is of no known kind");
  std::string node(plan.text(step.node));
  uint32_t wanted = step.op == StringOp::concat ? 2 : 1;
  bool good = has(step.operands, head.stringOperands) &&
              step.operands.count == wanted && areNumbers(step.texts);
  if (good)
    for (const StringOperand &operand : plan.stringOperands(step))
      good &= isOperand(operand);
  // The rank of a constant that is normalized must not be 0 either.
  if (good && step.op == StringOp::normalize) {
    const StringOperand &operand = plan.stringOperands(step)[0];
    good = operand.input == kNone ? operand.dims.count > 0
                                  : plan.inputs(0)[operand.input].dims.count;
  }
  if (!good)
    return damagedPlan(
        format("the strings of %s are out of range", node.c_str()));
  if (!areResults(step))
    return damagedPlan(format("%s computes no inputs", node.c_str()));
  if (step.op == StringOp::match && !isAutomaton(step.automaton))
    return damagedPlan(format("the pattern of %s is wrong", node.c_str()));
  end += resultsOf(step.op);
  return Status();
}

Status StringCheck::run() {
  for (const Tensor &tensor : plan.inputs(0).subspan(first))
    if (tensor.type == DType::string)
      return damagedPlan("an input that no caller gives is of strings");
  for (const Tensor &tensor :
       plan.outputs(0).subspan(plan.modelOutputs(0).size()))
    if (tensor.type == DType::string)
      return damagedPlan("a count is of strings");
  for (const StringStep &step : plan.stringSteps())
    FRIT_TRY(checkStep(step));
  if (end != plan.modelInputs(0).size())
    return damagedPlan("no string step computes an input");
  return Status();
}

Status frit::checkVocabulary(const PlanView &plan) {
  const Header &head = plan.header();
  for (Text text : plan.vocabulary())
    if (!liesIn(text.offset, text.size, head.strings.size))
      return damagedPlan("a string is out of range");
  if (head.stringPrograms.count &&
      head.stringPrograms.count != head.functions.count)
    return damagedPlan("a function's string program is missing");
  return Status();
}

Status frit::checkStrings(const PlanView &plan) {
  const StringProgram &program = plan.stringProgram();
  if (!liesIn(program.steps.first, program.steps.count,
              plan.header().stringSteps.count))
    return damagedPlan("a function's string steps are out of range");
  for (const Variant &variant : plan.variants())
    if (program.computed > variant.inputs.count - plan.function().sizes)
      return damagedPlan("string steps compute more inputs than there are");
  return StringCheck(plan).run();
}
