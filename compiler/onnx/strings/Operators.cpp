//===- Operators.cpp - Operators that make or read strings ----------------===//

#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/strings/Regex.h"
#include "compiler/onnx/strings/Steps.h"

#include "frit/artifact_strings.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Parts of a string that the model holds unless -fbound says more.
static constexpr int64_t kParts = 64;

/// Returns input `i`, a tensor of strings; null, after an error, if it is none.
static Value stringsIn(Node &node, size_t i) {
  Value value = node.input(i);
  if (!value || isStrings(value))
    return value;
  node.error() << "input " << i << " is not a tensor of strings";
  return {};
}

static Type numberType(Node &node) { return node.builder().getI64Type(); }

/// Returns an empty tensor of strings.
static Value noStrings(Node &node, ArrayRef<int64_t> shape) {
  return node.stringTensor(shape, {});
}

/// Returns the strings with the numbers `ids`; null if these are.
static Value named(Node &node, Value ids) {
  return ids ? stringsOf(node.builder(), node.loc, ids) : Value();
}

//===----------------------------------------------------------------------===//
// StringConcat
//===----------------------------------------------------------------------===//

/// Returns the operand whose dimensions the result of broadcasting `a` and `b`
/// to `shape` follows: one that has open or data-dependent ones, if any. Null
/// if there is none, and, after an error, if it has another shape.
static Value leading(Node &node, Value a, Value b, ArrayRef<int64_t> shape) {
  for (Value x : {a, b}) {
    if (!isMarked(idsOf(x)) && !StringStep::symbolsOf(node, x))
      continue;
    if (llvm::equal(sizes(idsOf(x)), shape))
      return x;
    node.error() << "does not broadcast strings of open or data-dependent size";
    return {};
  }
  return {};
}

static Results stringConcat(Node &node) {
  Value a = stringsIn(node, 0), b = stringsIn(node, 1);
  if (!a || !b)
    return {};
  auto broadcast = nn::broadcastShapes({sizes(idsOf(a)), sizes(idsOf(b))});
  if (!broadcast) {
    node.error() << "shapes " << nn::shapeText(sizes(idsOf(a))) << " and "
                 << nn::shapeText(sizes(idsOf(b))) << " do not broadcast";
    return {};
  }
  SmallVector<int64_t> shape(*broadcast);
  if (product(shape) == 0)
    return {noStrings(node, shape)};
  StringStep step(node, "concat");
  step.read(a);
  step.read(b);
  Value like = leading(node, a, b, shape);
  Value result = step.result(numberType(node), shape, like);
  step.add();
  if (result && like)
    result = node.marked(result, node.dataShape(idsOf(like)));
  return {named(node, result)};
}

//===----------------------------------------------------------------------===//
// RegexFullMatch
//===----------------------------------------------------------------------===//

static Results regexFullMatch(Node &node) {
  Value x = stringsIn(node, 0);
  StringRef pattern = node.string("pattern", "");
  if (!x)
    return {};
  auto nfa = parseRegex(pattern);
  auto automaton =
      nfa ? determinize(*nfa) : llvm::Expected<std::string>(nfa.takeError());
  if (!automaton) {
    node.error() << "pattern '" << pattern
                 << "': " << toString(automaton.takeError());
    return {};
  }
  auto shape = sizes(idsOf(x));
  Type flag = node.builder().getI1Type();
  if (product(shape) == 0)
    return {node.constant(DenseElementsAttr::get(
        RankedTensorType::get(shape, flag), ArrayRef<bool>()))};
  StringStep step(node, "match");
  step.read(x);
  step.set("automaton", node.builder().getStringAttr(*automaton));
  Value result = step.result(flag, shape, x);
  step.add();
  return {result ? node.marked(result, node.dataShape(idsOf(x))) : Value()};
}

//===----------------------------------------------------------------------===//
// StringSplit
//===----------------------------------------------------------------------===//

static Results stringSplit(Node &node) {
  Value x = stringsIn(node, 0);
  StringRef delimiter = node.string("delimiter", "");
  int64_t most = node.integer("maxsplit", -1);
  if (!x)
    return {};
  auto shape = sizes(idsOf(x)), all = shape;
  bool isLimited = most >= 0 && most < mostSteps;
  int64_t parts = isLimited ? most + 1 : node.bound().value_or(kParts);
  all.push_back(product(shape) == 0 ? 0 : parts);
  if (product(shape) == 0)
    return {noStrings(node, all),
            node.constant(DenseElementsAttr::get(
                RankedTensorType::get(shape, numberType(node)),
                ArrayRef<int64_t>()))};
  if (!node.mayHold(all))
    return {};
  StringStep step(node, "split");
  step.read(x);
  step.set("most", most);
  if (!delimiter.empty())
    step.set("texts", ArrayRef(delimiter));
  // What is missing of a row are empty strings.
  node.import().numberOf("");
  Value texts = step.result(numberType(node), all, x);
  Value counts = step.result(numberType(node), shape, x, ".counts");
  Value width = step.result(numberType(node), {}, {}, ".width");
  step.add();
  if (!width)
    return {};
  DataShape valid = node.dataShape(idsOf(x));
  counts = node.marked(counts, valid);
  valid.push_back(node.dataSizes().add(width, {0, parts}));
  return {named(node, node.marked(texts, valid)), counts};
}

//===----------------------------------------------------------------------===//
// StringNormalizer
//===----------------------------------------------------------------------===//

/// Returns whether a locale changes case as Unicode does without one.
static bool isPlainLocale(StringRef locale) {
  StringRef language = locale.take_until([](char c) { return c == '_'; });
  return language != "tr" && language != "az" && language != "lt";
}

static Results stringNormalizer(Node &node) {
  Value x = stringsIn(node, 0);
  StringRef change = node.string("case_change_action", "NONE");
  StringRef locale = node.string("locale", "en_US");
  bool isSensitive = node.integer("is_case_sensitive", 0);
  auto stops = node.strings("stopwords");
  if (!x)
    return {};
  auto shape = sizes(idsOf(x));
  if (shape.empty() || shape.size() > 2 || (shape.size() == 2 && shape[0] != 1))
    node.error() << "takes strings of shape [C] or [1, C], not "
                 << nn::shapeText(shape);
  else if (change != "NONE" && change != "LOWER" && change != "UPPER")
    node.error() << "case_change_action '" << change << "' is not supported";
  else if (!isPlainLocale(locale))
    node.error() << "locale '" << locale
                 << "' changes case in a way that is not supported";
  if (node.failed)
    return {};
  if (shape.back() == 0) {
    shape.back() = 1;
    return {node.stringTensor(shape, {""})};
  }
  StringStep step(node, "normalize");
  step.read(x);
  step.set("texts", stops);
  int64_t flags = isSensitive ? artifact::kCaseSensitive : 0u;
  if (change != "NONE")
    flags |= change == "LOWER" ? artifact::kToLower : artifact::kToUpper;
  step.set("flags", flags);
  Value texts = step.result(numberType(node), shape, x);
  Value count = step.result(numberType(node), {}, {}, ".count");
  step.add();
  if (!count)
    return {};
  DataShape valid = node.dataShape(idsOf(x));
  if (!stops.empty())
    valid.back() = node.dataSizes().add(count, {1, shape.back()});
  return {named(node, node.marked(texts, valid))};
}

ArrayRef<Hook> frit::importer::stringOperatorHooks() {
  static constexpr Hook hooks[] = {
      {"StringConcat", 20, 2, 2, stringConcat, takesStrings},
      {"RegexFullMatch", 20, 1, 1, regexFullMatch, takesStrings},
      {"StringSplit", 20, 1, 1, stringSplit, takesStrings},
      {"StringNormalizer", 10, 1, 1, stringNormalizer, takesStrings},
  };
  return hooks;
}
