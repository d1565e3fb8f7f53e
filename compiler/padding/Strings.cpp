//===- Strings.cpp - What the variants do with strings --------------------===//

#include "compiler/padding/Strings.h"
#include "compiler/padding/Padding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace frit;

static std::vector<int64_t> numbersIn(DictionaryAttr entry, StringRef name) {
  auto list = entry.getAs<DenseI64ArrayAttr>(name);
  return list ? std::vector<int64_t>(list.asArrayRef())
              : std::vector<int64_t>();
}

static int64_t numberIn(DictionaryAttr entry, StringRef name,
                        int64_t otherwise) {
  auto number = entry.getAs<IntegerAttr>(name);
  return number ? number.getInt() : otherwise;
}

static std::string textIn(DictionaryAttr entry, StringRef name) {
  auto text = entry.getAs<StringAttr>(name);
  return text ? text.str() : std::string();
}

static plan::StringStep stepOf(DictionaryAttr entry) {
  plan::StringStep step;
  step.op = textIn(entry, "op");
  step.node = textIn(entry, "node");
  step.flags = numberIn(entry, "flags", 0);
  step.result = numberIn(entry, "result", 0);
  step.texts = numbersIn(entry, "texts");
  step.most = numberIn(entry, "most", -1);
  step.automaton = textIn(entry, "automaton");
  for (auto operand :
       entry.getAs<ArrayAttr>("operands").getAsRange<DictionaryAttr>()) {
    plan::StringOperand read;
    if (auto input = operand.getAs<IntegerAttr>("input"))
      read.input = input.getInt();
    read.ids = numbersIn(operand, "ids");
    read.dims = numbersIn(operand, "dims");
    step.operands.push_back(std::move(read));
  }
  return step;
}

/// Reads and removes the attributes of one variant.
static plan::Strings takeStrings(func::FuncOp main) {
  plan::Strings strings;
  MLIRContext *context = main.getContext();
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    strings.computed += bool(main.removeArgAttr(i, "nn.computed"));
    if (main.removeArgAttr(i, "nn.strings"))
      strings.inputs.push_back(i);
  }
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    if (main.removeResultAttr(i, StringAttr::get(context, "nn.strings")))
      strings.outputs.push_back(i);
  if (auto steps =
          dyn_cast_or_null<ArrayAttr>(main->removeAttr("nn.string_steps")))
    for (auto entry : steps.getAsRange<DictionaryAttr>())
      strings.steps.push_back(stepOf(entry));
  if (auto texts =
          dyn_cast_or_null<ArrayAttr>(main->removeAttr("nn.vocabulary")))
    for (auto text : texts.getAsRange<StringAttr>())
      strings.vocabulary.push_back(text.str());
  return strings;
}

LogicalResult frit::describeStrings(ArrayRef<OwningOpRef<ModuleOp>> modules,
                                    plan::OpenShapes &shapes) {
  for (const OwningOpRef<ModuleOp> &module : modules) {
    func::FuncOp main = mainOf(*module);
    plan::Strings strings = takeStrings(main);
    if (&module == &modules.front()) {
      shapes.strings = std::move(strings);
      continue;
    }
    // The imports share their numbers, and the last has all of them.
    if (strings.steps != shapes.strings.steps)
      return emitError(main.getLoc())
             << "string operators differ between the sizes of the model; "
                "compile it for one size";
    if (strings.vocabulary.size() > shapes.strings.vocabulary.size())
      shapes.strings.vocabulary = std::move(strings.vocabulary);
  }
  return success();
}
