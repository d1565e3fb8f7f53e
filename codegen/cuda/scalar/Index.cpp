//===- Index.cpp - Index arithmetic of emitted kernels --------------------===//

#include "codegen/cuda/scalar/Index.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstdlib>
#include <numeric>

using namespace mlir;
using namespace frit::cuda;

static int64_t floorQuotient(int64_t x, int64_t y) {
  return llvm::divideFloorSigned(x, y);
}

/// Adds and saturates, since the bounds of unknown indices are those of the
/// type.
static int64_t saturatingAdd(int64_t x, int64_t y) {
  int64_t sum;
  return llvm::AddOverflow(x, y, sum) ? (x < 0 ? INT64_MIN : INT64_MAX) : sum;
}
static int64_t saturatingMultiply(int64_t x, int64_t y) {
  int64_t product;
  return llvm::MulOverflow(x, y, product)
             ? ((x < 0) != (y < 0) ? INT64_MIN : INT64_MAX)
             : product;
}

AffineExpr IndexSpace::addDim(int64_t size) {
  dims.push_back({0, std::max<int64_t>(size, 1) - 1});
  return getAffineDimExpr(dims.size() - 1, context);
}

AffineExpr IndexSpace::addSymbol(Bounds range) {
  symbols.push_back(range);
  return getAffineSymbolExpr(symbols.size() - 1, context);
}

AffineExpr IndexSpace::constant(int64_t value) {
  return getAffineConstantExpr(value, context);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

void IndexSpace::accumulate(Sum &sum, AffineExpr x, int64_t factor) {
  if (auto c = dyn_cast<AffineConstantExpr>(x)) {
    sum.constant += factor * c.getValue();
    return;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(x);
  if (binary && binary.getKind() == AffineExprKind::Add) {
    accumulate(sum, binary.getLHS(), factor);
    accumulate(sum, binary.getRHS(), factor);
    return;
  }
  if (binary && binary.getKind() == AffineExprKind::Mul)
    if (auto c = dyn_cast<AffineConstantExpr>(binary.getRHS())) {
      accumulate(sum, binary.getLHS(), factor * c.getValue());
      return;
    }
  for (auto &[atom, coefficient] : sum.terms)
    if (atom == x) {
      coefficient += factor;
      return;
    }
  sum.terms.push_back({x, factor});
}

IndexSpace::Sum IndexSpace::decompose(AffineExpr x) {
  Sum sum;
  accumulate(sum, x, 1);
  return sum;
}

/// Recombines a quotient with its remainder:
///   x % a · c + x / a · (c · a)        ==>  x · c
///   x % a · c + x / a % b · (c · a)    ==>  x % (a · b) · c
bool IndexSpace::recombine(Sum &sum) {
  for (auto [i, entry] : llvm::enumerate(sum.terms)) {
    auto rest = dyn_cast<AffineBinaryOpExpr>(entry.first);
    if (!rest || rest.getKind() != AffineExprKind::Mod)
      continue;
    int64_t a = cast<AffineConstantExpr>(rest.getRHS()).getValue();
    int64_t c = entry.second;
    AffineExpr x = rest.getLHS(), quotient = floorDiv(x, a);
    for (auto [j, other] : llvm::enumerate(sum.terms)) {
      if (other.second != c * a || i == j)
        continue;
      AffineExpr joined;
      auto binary = dyn_cast<AffineBinaryOpExpr>(other.first);
      if (other.first == quotient)
        joined = x;
      else if (binary && binary.getKind() == AffineExprKind::Mod &&
               binary.getLHS() == quotient)
        joined =
            mod(x, a * cast<AffineConstantExpr>(binary.getRHS()).getValue());
      if (!joined)
        continue;
      sum.terms.erase(sum.terms.begin() + std::max(i, j));
      sum.terms.erase(sum.terms.begin() + std::min(i, j));
      accumulate(sum, joined, c);
      return true;
    }
  }
  return false;
}

AffineExpr IndexSpace::build(Sum sum) {
  llvm::erase_if(sum.terms, [](auto &term) { return term.second == 0; });
  while (recombine(sum))
    llvm::erase_if(sum.terms, [](auto &term) { return term.second == 0; });
  AffineExpr result;
  for (auto [atom, coefficient] : sum.terms) {
    AffineExpr term = coefficient == 1 ? atom : atom * coefficient;
    result = result ? result + term : term;
  }
  if (!result)
    return constant(sum.constant);
  return sum.constant ? result + sum.constant : result;
}

std::pair<IndexSpace::Sum, IndexSpace::Sum> IndexSpace::split(const Sum &sum,
                                                              int64_t divisor) {
  Sum multiples, rest;
  for (auto [atom, coefficient] : sum.terms) {
    if (coefficient % divisor == 0)
      multiples.terms.push_back({atom, coefficient / divisor});
    else
      rest.terms.push_back({atom, coefficient});
  }
  multiples.constant = floorQuotient(sum.constant, divisor);
  rest.constant = sum.constant - multiples.constant * divisor;
  return {multiples, rest};
}

int64_t IndexSpace::commonStep(const Sum &sum, int64_t divisor, Sum &quotient,
                               AffineExpr &rest) {
  llvm::SmallVector<int64_t> steps;
  for (auto [atom, coefficient] : sum.terms)
    steps.push_back(std::gcd(std::abs(coefficient), divisor));
  llvm::sort(steps, std::greater<>());
  for (int64_t step : steps) {
    if (step == 1)
      break;
    auto [multiples, others] = split(sum, step);
    AffineExpr candidate = build(others);
    if (!range(candidate).isWithin(0, step - 1))
      continue;
    quotient = multiples;
    rest = candidate;
    return step;
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

AffineExpr IndexSpace::add(AffineExpr x, AffineExpr y) {
  Sum sum = decompose(x);
  accumulate(sum, y, 1);
  return build(sum);
}

AffineExpr IndexSpace::mul(AffineExpr x, int64_t factor) {
  Sum sum;
  accumulate(sum, x, factor);
  return build(sum);
}

AffineExpr IndexSpace::floorDiv(AffineExpr x, int64_t divisor) {
  if (divisor == 1)
    return x;
  auto [multiples, rest] = split(decompose(x), divisor);
  AffineExpr remaining = build(rest);
  Bounds r = range(remaining);
  if (int64_t q = floorQuotient(r.low, divisor);
      q == floorQuotient(r.high, divisor)) {
    multiples.constant += q;
    return build(multiples);
  }
  Sum quotient;
  AffineExpr below;
  if (int64_t g = commonStep(rest, divisor, quotient, below)) {
    accumulate(multiples, floorDiv(build(quotient), divisor / g), 1);
    return build(multiples);
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(remaining);
  auto by = binary ? dyn_cast<AffineConstantExpr>(binary.getRHS()) : nullptr;
  AffineExpr divided;
  if (by && binary.getKind() == AffineExprKind::FloorDiv)
    divided = floorDiv(binary.getLHS(), by.getValue() * divisor);
  else if (by && binary.getKind() == AffineExprKind::Mod &&
           by.getValue() % divisor == 0)
    divided = mod(floorDiv(binary.getLHS(), divisor), by.getValue() / divisor);
  else
    divided = getAffineBinaryOpExpr(AffineExprKind::FloorDiv, remaining,
                                    constant(divisor));
  accumulate(multiples, divided, 1);
  return build(multiples);
}

AffineExpr IndexSpace::mod(AffineExpr x, int64_t divisor) {
  if (divisor == 1)
    return constant(0);
  Sum rest = split(decompose(x), divisor).second;
  AffineExpr remaining = build(rest);
  Bounds r = range(remaining);
  if (int64_t q = floorQuotient(r.low, divisor);
      q == floorQuotient(r.high, divisor))
    return q == 0 ? remaining : add(remaining, constant(-q * divisor));
  Sum quotient;
  AffineExpr below;
  if (int64_t g = commonStep(rest, divisor, quotient, below))
    return add(mul(mod(build(quotient), divisor / g), g), below);
  auto binary = dyn_cast<AffineBinaryOpExpr>(remaining);
  auto by = binary ? dyn_cast<AffineConstantExpr>(binary.getRHS()) : nullptr;
  if (by && binary.getKind() == AffineExprKind::Mod &&
      by.getValue() % divisor == 0)
    return mod(binary.getLHS(), divisor);
  return getAffineBinaryOpExpr(AffineExprKind::Mod, remaining,
                               constant(divisor));
}

AffineExpr IndexSpace::simplify(AffineExpr x, ArrayRef<AffineExpr> indices) {
  if (auto dim = dyn_cast<AffineDimExpr>(x))
    return indices.empty() ? x : indices[dim.getPosition()];
  auto binary = dyn_cast<AffineBinaryOpExpr>(x);
  if (!binary)
    return x;
  AffineExpr left = simplify(binary.getLHS(), indices);
  AffineExpr right = simplify(binary.getRHS(), indices);
  if (x.getKind() == AffineExprKind::Add)
    return add(left, right);
  // In an indexing map, every other operator has a constant operand.
  if (x.getKind() == AffineExprKind::Mul && isa<AffineConstantExpr>(left))
    std::swap(left, right);
  int64_t by = cast<AffineConstantExpr>(right).getValue();
  switch (x.getKind()) {
  case AffineExprKind::Mul:
    return mul(left, by);
  case AffineExprKind::FloorDiv:
    return floorDiv(left, by);
  case AffineExprKind::Mod:
    return mod(left, by);
  default:
    return floorDiv(add(left, constant(by - 1)), by);
  }
}

Bounds IndexSpace::range(AffineExpr x) const {
  if (auto c = dyn_cast<AffineConstantExpr>(x))
    return {c.getValue(), c.getValue()};
  if (auto dim = dyn_cast<AffineDimExpr>(x))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(x))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(x);
  Bounds a = range(binary.getLHS()), b = range(binary.getRHS());
  switch (x.getKind()) {
  case AffineExprKind::Add:
    return {saturatingAdd(a.low, b.low), saturatingAdd(a.high, b.high)};
  case AffineExprKind::Mul: {
    int64_t low = saturatingMultiply(a.low, b.low);
    int64_t high = saturatingMultiply(a.high, b.low);
    return {std::min(low, high), std::max(low, high)};
  }
  case AffineExprKind::FloorDiv:
    return {floorQuotient(a.low, b.low), floorQuotient(a.high, b.low)};
  default:
    return a.isWithin(0, b.low - 1) ? a : Bounds{0, b.low - 1};
  }
}

AffineExpr IndexSpace::linearize(ArrayRef<AffineExpr> indices,
                                 ArrayRef<int64_t> shape) {
  Sum sum;
  int64_t stride = 1;
  for (int64_t i = shape.size() - 1; i >= 0; --i) {
    accumulate(sum, indices[i], stride);
    stride *= shape[i];
  }
  // Order the terms like the dimensions, for readable text.
  std::reverse(sum.terms.begin(), sum.terms.end());
  return build(sum);
}

llvm::SmallVector<AffineExpr> IndexSpace::delinearize(AffineExpr flat,
                                                      ArrayRef<int64_t> shape) {
  llvm::SmallVector<AffineExpr> indices(shape.size());
  int64_t stride = 1;
  for (int64_t i = shape.size() - 1; i >= 0; --i) {
    indices[i] = mod(floorDiv(flat, stride), std::max<int64_t>(shape[i], 1));
    stride *= std::max<int64_t>(shape[i], 1);
  }
  return indices;
}

Lanes IndexSpace::addLanes(AffineExpr lane, int64_t width) {
  AffineExpr group = addDim((range(lane).high + width) / width);
  return {lane, group, addDim(width), width, /*skewed=*/false};
}

LanePattern
IndexSpace::lanePattern(AffineExpr x, const Lanes &lanes,
                        llvm::function_ref<bool(unsigned)> isUniformSymbol) {
  LanePattern pattern;
  bool scatteredSymbol = false;
  x.walk([&](AffineExpr part) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
      scatteredSymbol |= !isUniformSymbol(symbol.getPosition());
  });
  unsigned position = cast<AffineDimExpr>(lanes.lane).getPosition();
  if (!scatteredSymbol && !x.isFunctionOfDim(position))
    return pattern;
  if (!lanes.group)
    return {LaneUse::scattered, x};

  llvm::SmallVector<AffineExpr> indices;
  for (size_t i = 0; i < dims.size(); ++i)
    indices.push_back(getAffineDimExpr(i, context));
  indices[position] = add(mul(lanes.group, lanes.width), lanes.place);
  pattern.index = simplify(x, indices);
  pattern.use = LaneUse::scattered;
  if (scatteredSymbol)
    return pattern;

  Sum sum = decompose(pattern.index);
  unsigned place = cast<AffineDimExpr>(lanes.place).getPosition();
  bool contiguous = false, aligned = sum.constant % lanes.width == 0;
  for (auto [atom, coefficient] : sum.terms) {
    if (atom == lanes.place && coefficient == 1)
      contiguous = true;
    else if (atom.isFunctionOfDim(place))
      return pattern;
    else
      aligned &= lanes.skewed || coefficient % lanes.width == 0;
  }
  if (!contiguous)
    pattern.use = LaneUse::uniform;
  else if (aligned)
    pattern.use = LaneUse::contiguous;
  return pattern;
}
