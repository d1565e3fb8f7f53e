//===- PaddedContent.h - Abstract values of padding -----------------------===//

#ifndef FRIT_COMPILER_PADDING_VALUES_PADDEDCONTENT_H
#define FRIT_COMPILER_PADDING_VALUES_PADDEDCONTENT_H

#include "compiler/padding/values/AbstractValue.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace frit {

/// The abstract values of a tensor's elements in the large model.
struct PaddedContent {
  /// A dimension in which all elements beyond the small model's size are one
  /// constant, either only where no other dimension is beyond, or `everywhere`.
  struct Fill {
    unsigned dim;
    AbstractValue number;
    bool everywhere;
  };

  AbstractValue inside;  ///< elements of the small model
  AbstractValue outside; ///< all other elements, except those of `fills`
  llvm::SmallVector<Fill, 2> fills;
  /// Dimensions along which every line has an element inside the small model
  /// with a tighter value. For example, no row of a causal mask is all -inf.
  llvm::SmallVector<std::pair<unsigned, AbstractValue>, 1> some;

  /// Returns a content whose elements all equal `number`.
  static PaddedContent uniform(AbstractValue number) {
    return {number, {}, {}, {}};
  }
  /// Returns a content with finite small-model elements and nothing else known.
  static PaddedContent unknown(mlir::Type type) {
    return {AbstractValue::real, unknownNumber(type), {}, {}};
  }

  const Fill *fillOf(unsigned dim) const;
  const AbstractValue *someOf(unsigned dim) const;
  /// Sets all elements beyond in dimension `dim` to a constant.
  void setFill(unsigned dim, AbstractValue number);
  /// Returns the join of all elements.
  AbstractValue all() const;
  std::string text() const;
};

/// Returns the content after reshaping a tensor of the shapes `small` and
/// `large`. Dimensions that stay keep their fills.
PaddedContent reshapeContent(PaddedContent content,
                             llvm::ArrayRef<int64_t> small,
                             llvm::ArrayRef<int64_t> large,
                             llvm::ArrayRef<int64_t> newSmall,
                             llvm::ArrayRef<int64_t> newLarge);

/// Propagates contents through the loops of an operator of the large model. The
/// small model's loops run only up to `from`.
class LoopContent {
public:
  using ContentOf =
      llvm::function_ref<const PaddedContent &(mlir::Value ofLarge)>;

  LoopContent(mlir::linalg::LinalgOp large, llvm::ArrayRef<int64_t> from,
              ContentOf contentOf);

  /// Returns whether the additional reduction steps leave the small model's
  /// results unchanged, because they combine neutral elements.
  bool hasNeutralSteps() const;

  PaddedContent result() const;

private:
  /// A set of iterations, by which loops are beyond `from`.
  struct Place {
    bool inside; ///< no loop is beyond `from`, except `beyond`
    int beyond;  ///< the loop that is beyond, or -1
    llvm::ArrayRef<bool> notBeyond; ///< not beyond, if not `inside`
  };

  bool isNeutral(const Place &place) const;
  bool isNeutral(unsigned loop) const; ///< in all iterations beyond it
  AbstractValue read(unsigned operand, const Place &place) const;
  AbstractValue readBeyond(unsigned operand, unsigned loop) const;
  /// A tighter abstract value for one operand.
  struct Some {
    unsigned operand;
    AbstractValue number;
  };
  AbstractValue evaluate(const Place &place, const AbstractValue *given,
                         const Some *some = nullptr) const;
  AbstractValue combine(const Place &place, const Some *some = nullptr) const;
  AbstractValue repeat(const Place &place, AbstractValue sum) const;
  llvm::SmallVector<Some> someAlong(unsigned loop) const;
  /// Returns the loop that indexes a dimension of an operand, or -1.
  int loopOf(unsigned operand, unsigned dim) const;

  mlir::linalg::LinalgOp op;
  llvm::ArrayRef<int64_t> from;
  llvm::SmallVector<int64_t> to;
  llvm::SmallVector<bool> isReduction; ///< by loop
  llvm::SmallVector<mlir::AffineMap> maps;
  ContentOf contentOf;
};

} // namespace frit

#endif // FRIT_COMPILER_PADDING_VALUES_PADDEDCONTENT_H
