//===- Linear.cpp - Linear models and preprocessing of tables -------------===//
//
// Operators of ONNX's domain for classical learning, as skl2onnx writes them.
// Rows are samples and columns are features; results are f32.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/reader/Hooks.h"
#include "compiler/onnx/tables/Tables.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

Expr frit::importer::rowsOf(Node &node) {
  Expr x = input(node, 0).to(node.builder().getF32Type());
  if (!x || (x.rank() == 1 || x.rank() == 2))
    return x.rank() == 1 ? x.reshape({1, x.size(0)}) : x;
  node.error() << "needs rows of features, but has "
               << nn::shapeText(x.shape());
  return {node, {}};
}

/// Returns a list attribute as a row of `count` numbers or of one; null, after
/// an error, if it has another length.
static Expr row(Expr x, StringRef name, int64_t count) {
  Node &node = *x.node;
  auto values = node.reals(name);
  auto given = static_cast<int64_t>(values.size());
  if (given == 1 || given == count)
    return table(node, x.element(), {given}, values);
  node.error() << "attribute '" << name << "' has " << given
               << " entries instead of 1 or " << count;
  return {node, {}};
}

static Results scaler(Node &node) {
  Expr x = rowsOf(node);
  if (!x)
    return {};
  if (node.attribute("offset"))
    x = x - row(x, "offset", x.size(1));
  if (node.attribute("scale"))
    x = x * row(x, "scale", x.size(1));
  return {x};
}

/// Divides rows by their norm. A row with norm 0 stays unchanged.
static Results normalizer(Node &node) {
  Expr x = rowsOf(node);
  StringRef kind = node.string("norm", "MAX");
  if (!x)
    return {};
  Expr norm = x;
  if (kind == "MAX")
    norm = x.reduce(nn::Combiner::max, {1});
  else if (kind == "L1")
    norm = x.apply<nn::AbsOp>().sum({1});
  else if (kind == "L2")
    norm = (x * x).sum({1}).apply<nn::SqrtOp>();
  else
    node.error() << "norm '" << kind << "' is not supported";
  return {x / norm.equals(norm.number(0)).select(norm.number(1), norm)};
}

static Results imputer(Node &node) {
  Expr x = rowsOf(node);
  if (!x)
    return {};
  if (!node.attribute("imputed_value_floats")) {
    node.error() << "without imputed_value_floats is not supported";
    return {};
  }
  double missing = node.real("replaced_value_float", 0);
  Expr isMissing = std::isnan(missing) ? x.apply<nn::IsNaNOp>()
                                       : x.equals(x.number(missing));
  Expr value = row(x, "imputed_value_floats", x.size(1));
  return {isMissing.select(value, x)};
}

/// Makes calls fail whose input has a value that is no category. `isOne` has a
/// row for each value.
static void checkCategories(Expr isOne) {
  Node &node = *isOne.node;
  Type i64 = node.builder().getI64Type();
  int64_t elements = product(isOne.shape());
  if (elements == 0 || !isOne)
    return;
  int64_t count = isOne.shape().back();
  Expr known = isOne.to(i64)
                   .reshape({elements / count, count})
                   .reduce(nn::Combiner::max, {1})
                   .reshape({elements / count})
                   .reduce(nn::Combiner::min, {0})
                   .reshape({});
  if (known)
    node.import().addCheck(known - 1.0,
                           "node '" + node.fullName() +
                               "' takes a value that is none of its "
                               "categories; handle_unknown='ignore' makes it "
                               "zeros");
}

/// Compares each number or string with all categories.
static Results oneHotEncoder(Node &node) {
  Value given = node.input(0);
  auto categories = node.integers("cats_int64s");
  auto texts = node.strings("cats_strings");
  bool zeros = node.integer("zeros", 1);
  if (!given)
    return {};
  bool areStrings = !texts.empty();
  if (areStrings != isStrings(given))
    node.error() << "its categories are " << (areStrings ? "" : "not ")
                 << "strings, but its input is" << (areStrings ? " not" : "");
  else if (!areStrings && !categories)
    node.error() << "has no categories";
  if (node.failed)
    return {};
  if (areStrings) {
    categories.emplace();
    for (StringRef text : texts)
      categories->push_back(node.import().numberOf(text));
    given = idsOf(given);
  }
  Expr x = {node, given};
  auto count = static_cast<int64_t>(categories->size());
  auto shape = x.shape();
  shape.push_back(1);
  Expr known = table(node, {count}, *categories);
  Type i64 = node.builder().getI64Type();
  Expr isOne = x.to(i64).reshape(shape).equals(known);
  if (!zeros)
    checkCategories(isOne);
  return {isOne.to(node.builder().getF32Type())};
}

/// Returns x · coefficientsᵀ + intercepts, with `count` columns.
static Expr score(Expr x, int64_t count) {
  Node &node = *x.node;
  auto coefficients = node.reals("coefficients");
  auto given = static_cast<int64_t>(coefficients.size());
  if (count < 1 || given != count * x.size(1)) {
    node.error() << "has " << given << " coefficients for " << count
                 << " results of " << x.size(1) << " features";
    return {node, {}};
  }
  Expr weights = table(node, x.element(), {count, x.size(1)}, coefficients);
  Expr y = x.apply<nn::MatmulOp>(
      {weights}, node.named("transpose_b", node.builder().getUnitAttr()));
  if (node.attribute("intercepts"))
    y = y + row(y, "intercepts", count);
  return y;
}

Expr frit::importer::transformed(Expr y) {
  Node &node = *y.node;
  StringRef kind = node.string("post_transform", "NONE");
  if (kind == "SOFTMAX")
    return y.apply<nn::SoftmaxOp>({}, {node.namedSigned("axis", -1)});
  if (kind == "LOGISTIC")
    return y.apply<nn::SigmoidOp>();
  if (kind != "NONE")
    node.error() << "post_transform '" << kind << "' is not supported";
  return y;
}

static Results linearRegressor(Node &node) {
  Expr x = rowsOf(node);
  int64_t targets = node.integer("targets", 1);
  if (!x)
    return {};
  return {transformed(score(x, targets))};
}

/// Returns a list of labels for a warning: 0 is 'no', 1 is 'yes'.
static std::string numbered(ArrayRef<StringRef> labels) {
  constexpr size_t most = 20;
  std::string text;
  for (auto [number, label] : llvm::enumerate(labels.take_front(most)))
    text += (number ? ", " : "") + std::to_string(number) + " is '" +
            label.str() + "'";
  return labels.size() > most ? text + ", ..." : text;
}

std::optional<Labels> frit::importer::labelsOf(Node &node, StringRef integers) {
  Labels labels;
  if (auto numbers = node.integers(integers))
    labels.numbers = *numbers;
  for (int64_t number : labels.numbers)
    labels.names.push_back(std::to_string(number));
  if (auto texts = node.strings("classlabels_strings"); !texts.empty()) {
    labels.areStrings = true;
    labels.names.assign(texts.begin(), texts.end());
    labels.numbers.clear();
    for (StringRef text : texts)
      labels.numbers.push_back(node.import().numberOf(text));
  }
  if (labels.size() >= 2)
    return labels;
  node.error() << "needs two or more labels";
  return std::nullopt;
}

Value Labels::at(Expr best) const {
  Node &node = *best.node;
  auto count = static_cast<int64_t>(size());
  Value result = table(node, {count}, numbers).gather(best, 0);
  return result && areStrings ? stringsOf(node.builder(), node.loc, result)
                              : result;
}

/// Imports LinearClassifier. Results: the label of each row's largest score,
/// and the scores.
static Results linearClassifier(Node &node) {
  Expr x = rowsOf(node);
  node.ignore("multi_class");
  if (!x)
    return {};
  auto labels = labelsOf(node, "classlabels_ints");
  if (!labels)
    return {};
  auto count = static_cast<int64_t>(labels->size());
  Expr y = score(x, count);
  Expr best = y.apply<nn::ArgMaxOp>(
      {}, {node.namedSigned("axis", 1), node.namedSigned("keepdims", 0)});
  return {labels->at(best), transformed(y)};
}

/// Imports ZipMap, whose list of maps no tensor can store, as what it reads: a
/// column for each label.
static Results zipMap(Node &node) {
  Value x = node.input(0);
  auto texts = node.strings("classlabels_strings");
  auto labels = node.integers("classlabels_int64s");
  if (!x)
    return {};
  SmallVector<std::string> numbers;
  for (int64_t label : labels.value_or(SmallVector<int64_t>()))
    numbers.push_back(std::to_string(label));
  if (texts.empty())
    texts.assign(numbers.begin(), numbers.end());
  emitWarning(node.loc) << "gives a tensor instead of a list of maps, whose "
                           "column "
                        << numbered(texts)
                        << "; skl2onnx does so with the option zipmap=False "
                           "[-Wlabels]";
  return {x};
}

ArrayRef<Hook> frit::importer::linearHooks() {
  static constexpr Hook hooks[] = {
      {"ai.onnx.ml::Scaler", 1, 1, 1, scaler},
      {"ai.onnx.ml::Normalizer", 1, 1, 1, normalizer},
      {"ai.onnx.ml::Imputer", 1, 1, 1, imputer},
      {"ai.onnx.ml::OneHotEncoder", 1, 1, 1, oneHotEncoder, takesStrings},
      {"ai.onnx.ml::SVMClassifier", 1, 1, 1, svmClassifier},
      {"ai.onnx.ml::SVMRegressor", 1, 1, 1, svmRegressor},
      {"ai.onnx.ml::LinearRegressor", 1, 1, 1, linearRegressor},
      {"ai.onnx.ml::LinearClassifier", 1, 1, 1, linearClassifier},
      {"ai.onnx.ml::ZipMap", 1, 1, 1, zipMap},
  };
  return hooks;
}
