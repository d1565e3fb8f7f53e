//===- StringModel.cpp - A model with every kind of string step -----------===//

#include "StringModel.h"

using namespace frit::test;

/// Returns an automaton that accepts any number of the letter a.
static std::string manyOfA() {
  Automaton head;
  head.states = 1;
  head.classes = 3;
  head.classOf['a'] = 1;
  const uint16_t next[] = {kNoState, 0, 0};
  std::string bytes(reinterpret_cast<const char *>(&head), sizeof head);
  return bytes.append(reinterpret_cast<const char *>(next), sizeof next);
}

frit::test::Model frit::test::makeStringModel() {
  PlanWriter plan;
  for (const char *text : {"!", "-", "stop", ""})
    plan.vocabulary.push_back(plan.text(text));
  (void)plan.input("x", DType::string, {2});
  Buffer joined = plan.input("joined", DType::i64, {2});
  Buffer matched = plan.input("matched", DType::boolean, {2});
  Buffer parts = plan.input("parts", DType::i64, {2, 3});
  Buffer counts = plan.input("counts", DType::i64, {2});
  Buffer width = plan.input("width", DType::i64, {});
  Buffer kept = plan.input("kept", DType::i64, {2});
  Buffer keptCount = plan.input("kept_count", DType::i64, {});

  auto copy = [&](Buffer from, std::string_view name, DType type,
                  std::initializer_list<int64_t> dims, int countedDim = -1,
                  uint32_t count = 0) {
    Buffer to = plan.output(name, type, dims);
    if (countedDim >= 0) {
      Tensor &tensor = plan.outputs.back();
      tensor.extents = {uint32_t(plan.extents.size()), uint32_t(dims.size())};
      plan.extents.resize(plan.extents.size() + dims.size());
      Extent &extent = plan.extents[tensor.extents.first + countedDim];
      extent.count = count;
      extent.factor = 1;
    }
    plan.step(StepKind::copy, name, {from, to});
  };
  copy(joined, "y", DType::string, {2});
  copy(matched, "a", DType::boolean, {2});
  copy(parts, "p", DType::string, {2, 3}, 1, 0);
  copy(counts, "c", DType::i64, {2});
  copy(kept, "n", DType::string, {2}, 0, 1);
  copy(width, "count.0", DType::i64, {});
  copy(keptCount, "count.1", DType::i64, {});
  plan.counts = 2;

  auto step = [&](StringOp op, uint32_t result,
                  std::initializer_list<int64_t> texts) {
    StringStep entry;
    entry.op = op;
    entry.node = plan.text("a string step");
    entry.operands = {uint32_t(plan.stringOperands.size()), 1};
    entry.result = result;
    entry.texts = plan.shape(texts);
    plan.stringOperands.push_back({/*input=*/0, 0, {}, {}});
    plan.stringSteps.push_back(entry);
    return &plan.stringSteps.back();
  };
  step(StringOp::concat, 1, {})->operands.count = 2;
  plan.stringOperands.push_back({kNone, 0, plan.shape({0}), plan.shape({1})});
  step(StringOp::match, 2, {})->automaton = plan.blob(manyOfA());
  step(StringOp::split, 3, {1});
  step(StringOp::normalize, 6, {2})->flags = kToUpper;
  StringProgram program;
  program.steps = {0, uint32_t(plan.stringSteps.size())};
  program.computed = 7;
  plan.stringPrograms.push_back(program);
  plan.target("x86-64");
  return plan.finish("strings");
}
