//===- DataShape.cpp - Data-dependent shapes ------------------------------===//

#include "compiler/onnx/reader/DataShape.h"

#include "dialects/nn/Fold.h"
#include "dialects/nn/constants/ConstantValues.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

DenseElementsAttr frit::importer::knownElements(Value value) {
  if (DenseElementsAttr known = nn::constantValue(value))
    return known;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getNumElements() > nn::foldLimit)
    return nullptr;
  std::optional<nn::ConstantValue> computed = nn::evaluateConstant(value);
  if (!computed || computed->readsWeights)
    return nullptr;
  Builder b(value.getContext());
  Type element = type.getElementType();
  SmallVector<Attribute> elements;
  for (float number :
       nn::readElements(computed->elements, computed->elements.shape()))
    if (isa<FloatType>(element))
      elements.push_back(b.getFloatAttr(element, number));
    else
      elements.push_back(b.getIntegerAttr(element, int64_t(number)));
  return DenseElementsAttr::get(type, elements);
}

DataShape frit::importer::staticShape(Type type) {
  DataShape shape;
  for (int64_t size : cast<RankedTensorType>(type).getShape())
    shape.push_back(size);
  return shape;
}

bool frit::importer::isStatic(ArrayRef<Size> shape) {
  return llvm::all_of(shape, [](const Size &size) { return size.isKnown(); });
}

Value frit::importer::unmarked(Value value) {
  while (auto counted = value.getDefiningOp<nn::CountedOp>())
    value = counted.getX();
  return value;
}

bool frit::importer::isMarked(Value value) {
  return value && value.getDefiningOp<nn::CountedOp>();
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static int64_t bounded(int64_t x) { return std::clamp(x, -kEndless, kEndless); }

int64_t frit::importer::boundedProduct(int64_t a, int64_t b) {
  int64_t result;
  if (!__builtin_mul_overflow(a, b, &result))
    return bounded(result);
  return (a < 0) == (b < 0) ? kEndless : -kEndless;
}

Size DataSizes::plus(const Size &a, const Size &b) {
  Size sum = bounded(a.constant + b.constant);
  const Size::Term *x = a.terms.begin(), *y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    bool takesX =
        y == b.terms.end() || (x != a.terms.end() && x->number <= y->number);
    bool takesY =
        x == a.terms.end() || (y != b.terms.end() && y->number <= x->number);
    Size::Term term = {takesX ? x->number : y->number, 0};
    term.factor += takesX ? x++->factor : 0;
    term.factor += takesY ? y++->factor : 0;
    if (term.factor)
      sum.terms.push_back(term);
  }
  return sum;
}

Size DataSizes::times(const Size &a, int64_t factor) {
  Size product = boundedProduct(a.constant, factor);
  if (factor)
    for (Size::Term term : a.terms)
      product.terms.push_back(
          {term.number, boundedProduct(term.factor, factor)});
  return product;
}

SizeRange DataSizes::rangeOf(const Size &size) const {
  SizeRange range = {size.constant, size.constant};
  for (Size::Term term : size.terms) {
    const SizeRange &number = numbers[term.number].range;
    int64_t a = boundedProduct(number.least, term.factor),
            b = boundedProduct(number.most, term.factor);
    range.least = bounded(range.least + std::min(a, b));
    range.most = bounded(range.most + std::max(a, b));
  }
  return range;
}

std::string DataSizes::text(const Size &size) const {
  std::string text = std::to_string(size.constant);
  for (Size::Term term : size.terms)
    text +=
        "+" + std::to_string(term.factor) + "n" + std::to_string(term.number);
  return text;
}

Size DataSizes::add(Value value, SizeRange range) {
  if (auto known = elementsOf(value))
    return known->front();
  Size size;
  size.terms.push_back({unsigned(numbers.size()), 1});
  numbers.push_back({value, range});
  elements[value] = {size};
  return size;
}

std::optional<DataShape> DataSizes::elementsOf(Value value) const {
  if (auto found = elements.find(value); found != elements.end())
    return found->second;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getNumElements() > kMostElements)
    return std::nullopt;
  DenseElementsAttr known = knownElements(value);
  if (!known || !isa<IntegerType>(known.getElementType()))
    return std::nullopt;
  bool isUnsigned = known.getElementType().isUnsignedInteger() ||
                    known.getElementType().isInteger(1);
  DataShape result;
  for (const APInt &x : known.getValues<APInt>())
    result.push_back(bounded(isUnsigned ? x.getZExtValue() : x.getSExtValue()));
  return result;
}
