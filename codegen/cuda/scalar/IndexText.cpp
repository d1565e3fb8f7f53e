//===- IndexText.cpp - Indices as C++ -------------------------------------===//

#include "codegen/cuda/scalar/Index.h"
#include "codegen/cuda/scalar/Scalars.h"

#include <functional>

using namespace mlir;
using namespace frit::cuda;

bool IndexSpace::isWide(AffineExpr x) const {
  bool wide = false;
  x.walk([&](AffineExpr part) {
    wide |= !range(part).isWithin(INT32_MIN, INT32_MAX);
  });
  return wide;
}

bool IndexSpace::isSigned(AffineExpr x) const {
  // A negative constant or factor only matters where a partial sum may be
  // negative, and walk visits every partial sum, so constants are skipped.
  bool negative = false;
  x.walk([&](AffineExpr part) {
    negative |= !isa<AffineConstantExpr>(part) && range(part).low < 0;
  });
  return negative;
}

IndexText IndexSpace::print(
    AffineExpr x,
    llvm::function_ref<IndexText(AffineExpr, bool, bool)> leaf) const {
  auto atLeast = [](IndexText t, int precedence) {
    return t.precedence < precedence ? "(" + t.text + ")" : t.text;
  };
  struct Form {
    bool wide, isSigned;
  };
  std::function<IndexText(AffineExpr, Form)> walk =
      [&](AffineExpr e, Form form) -> IndexText {
    if (auto c = dyn_cast<AffineConstantExpr>(e)) {
      std::string text = std::to_string(c.getValue());
      if (!Bounds{c.getValue(), c.getValue()}.isWithin(INT32_MIN + 1,
                                                       INT32_MAX))
        text += "ll";
      return {text, c.getValue() < 0 ? kUnary : kPrimary};
    }
    auto binary = dyn_cast<AffineBinaryOpExpr>(e);
    if (!binary)
      return leaf(e, form.wide, form.isSigned);
    AffineExpr left = binary.getLHS(), right = binary.getRHS();
    if (e.getKind() == AffineExprKind::Add) {
      std::string text = atLeast(walk(left, form), kSum);
      // The subtrahend, if the right side is negative.
      AffineExpr less;
      if (auto c = dyn_cast<AffineConstantExpr>(right)) {
        if (c.getValue() < 0)
          less = getAffineConstantExpr(-c.getValue(), context);
      } else if (right.getKind() == AffineExprKind::Mul) {
        auto factor = dyn_cast<AffineConstantExpr>(
            cast<AffineBinaryOpExpr>(right).getRHS());
        if (factor && factor.getValue() < 0)
          less = cast<AffineBinaryOpExpr>(right).getLHS() * -factor.getValue();
      }
      if (less)
        return {text + " - " + atLeast(walk(less, form), kProduct), kSum};
      return {text + " + " + atLeast(walk(right, form), kSum), kSum};
    }
    if (e.getKind() == AffineExprKind::Mul)
      return {atLeast(walk(left, form), kProduct) + " * " +
                  atLeast(walk(right, form), kUnary),
              kProduct};
    // Unsigned 32-bit division is the cheapest; its result is widened.
    if ((form.wide || form.isSigned) && !isWide(e) && !isSigned(e)) {
      std::string type = form.wide ? "int64_t(" : "int(";
      return {type + walk(e, {false, false}).text + ")", kPrimary};
    }
    bool isDiv = e.getKind() == AffineExprKind::FloorDiv;
    IndexText a = walk(left, form), b = walk(right, form);
    if (range(left).low < 0) {
      // Both arguments must have the same type.
      std::string type = form.wide ? "<int64_t>(" : "<int>(";
      return {(isDiv ? "frit::floorDiv" : "frit::floorMod") + type + a.text +
                  ", " + b.text + ")",
              kPrimary};
    }
    return {atLeast(a, kProduct) + (isDiv ? " / " : " % ") + atLeast(b, kUnary),
            kProduct};
  };
  return walk(x, {isWide(x), isSigned(x)});
}
