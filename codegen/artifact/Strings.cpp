//===- Strings.cpp - Serialize what a model does with strings -------------===//

#include "codegen/artifact/Strings.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace frit;
using namespace frit::artifact;

static StringOp stringOpCalled(StringRef name) {
  return llvm::StringSwitch<StringOp>(name)
      .Case("concat", StringOp::concat)
      .Case("match", StringOp::match)
      .Case("split", StringOp::split)
      .Case("normalize", StringOp::normalize);
}

static artifact::Range addOperands(Tables &tables,
                                   const plan::StringStep &step) {
  artifact::Range range{uint32_t(tables.stringOperands.size()),
                        uint32_t(step.operands.size())};
  for (const plan::StringOperand &operand : step.operands) {
    StringOperand entry;
    entry.input = operand.input.value_or(kNone);
    entry.ids = tables.shape(operand.ids);
    entry.dims = tables.shape(operand.dims);
    tables.stringOperands.push_back(entry);
  }
  return range;
}

/// Gives the tensors that are strings their type.
static void markStrings(std::vector<Tensor> &table, artifact::Range tensors,
                        ArrayRef<unsigned> areStrings) {
  for (unsigned index : areStrings)
    table[tensors.first + index].type = DType::string;
}

void frit::artifact::addStrings(Tables &tables, const plan::Strings &strings) {
  const Function &function = tables.functions.back();
  for (uint32_t i = 0; i < function.variants.count; ++i) {
    const Variant &variant = tables.variants[function.variants.first + i];
    markStrings(tables.inputs, variant.inputs, strings.inputs);
    markStrings(tables.outputs, variant.outputs, strings.outputs);
  }
  StringProgram program;
  program.computed = strings.computed;
  program.steps = {uint32_t(tables.stringSteps.size()),
                   uint32_t(strings.steps.size())};
  for (const plan::StringStep &step : strings.steps) {
    StringStep entry;
    entry.op = stringOpCalled(step.op);
    entry.flags = step.flags;
    entry.node = tables.text(step.node);
    entry.operands = addOperands(tables, step);
    entry.result = step.result;
    entry.texts = tables.shape(step.texts);
    entry.most = step.most;
    if (!step.automaton.empty())
      entry.automaton = tables.blob(step.automaton);
    tables.stringSteps.push_back(entry);
  }
  tables.stringPrograms.push_back(program);
  for (const std::string &text : strings.vocabulary)
    tables.vocabulary.push_back(tables.text(text));
}
