//===- PaddedContent.h - What is at the places of padding -----------------===//

#ifndef FRIT_COMPILER_PADDING_PADDEDCONTENT_H
#define FRIT_COMPILER_PADDING_PADDEDCONTENT_H

#include "compiler/padding/AbstractValue.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace frit {

/// What a value of the large model holds.
struct PaddedContent {
  /// A dimension whose indices beyond those of the small model have one
  /// constant: where the others are not beyond, or `everywhere`.
  struct Fill {
    unsigned dim;
    AbstractValue number;
    bool everywhere;
  };

  AbstractValue inside;  ///< where the small model's elements are
  AbstractValue outside; ///< at the other places, but for those of `fills`
  llvm::SmallVector<Fill, 2> fills;
  /// Dimensions along which every line has an element, where the small model's
  /// are, of which more is known: none of a causal mask's rows is all -inf.
  llvm::SmallVector<std::pair<unsigned, AbstractValue>, 1> some;

  /// The same is known of all elements.
  static PaddedContent uniform(AbstractValue number) {
    return {number, {}, {}, {}};
  }
  /// Nothing is known, but that the small model computes with real numbers.
  static PaddedContent unknown(mlir::Type type) {
    return {AbstractValue::real, unknownNumber(type), {}, {}};
  }

  const Fill *fillOf(unsigned dim) const;
  const AbstractValue *someOf(unsigned dim) const;
  /// All elements beyond in a dimension become a constant.
  void setFill(unsigned dim, AbstractValue number);
  /// What is known of every element.
  AbstractValue all() const;
  std::string text() const;
};

/// What becomes of it when a tensor of the shapes `small` and `large` is
/// reshaped: dimensions that stay keep what fills them.
PaddedContent reshapeContent(PaddedContent content,
                             llvm::ArrayRef<int64_t> small,
                             llvm::ArrayRef<int64_t> large,
                             llvm::ArrayRef<int64_t> newSmall,
                             llvm::ArrayRef<int64_t> newLarge);

/// Follows contents through the loops of an operator of the large model, of
/// which those of the small one run to `from` only.
class LoopContent {
public:
  using ContentOf =
      llvm::function_ref<const PaddedContent &(mlir::Value ofLarge)>;

  LoopContent(mlir::linalg::LinalgOp large, llvm::ArrayRef<int64_t> from,
              ContentOf contentOf);

  /// Whether the steps of reductions beyond those of the small model change
  /// none of its results, as what they combine is neutral.
  bool hasNeutralSteps() const;

  PaddedContent result() const;

private:
  /// Of which elements something is to be known.
  struct Place {
    bool inside;                    ///< no loop is beyond `from` but for:
    int beyond;                     ///< one that is, or -1
    llvm::ArrayRef<bool> notBeyond; ///< those that are not, if not `inside`
  };

  bool isNeutral(const Place &place) const;
  bool isNeutral(unsigned loop) const; ///< for all results
  AbstractValue read(unsigned operand, const Place &place) const;
  AbstractValue readBeyond(unsigned operand, unsigned loop) const;
  /// With `some` instead of what is known of one operand.
  struct Some {
    unsigned operand;
    AbstractValue number;
  };
  AbstractValue evaluate(const Place &place, const AbstractValue *given,
                         const Some *some = nullptr) const;
  AbstractValue combine(const Place &place, const Some *some = nullptr) const;
  AbstractValue repeat(const Place &place, AbstractValue sum) const;
  llvm::SmallVector<Some> someAlong(unsigned loop) const;
  /// The loop that is the index of a dimension of an operand; or -1.
  int loopOf(unsigned operand, unsigned dim) const;

  mlir::linalg::LinalgOp op;
  llvm::ArrayRef<int64_t> from;
  llvm::SmallVector<int64_t> to;
  llvm::SmallVector<bool> isReduction; ///< of each loop
  llvm::SmallVector<mlir::AffineMap> maps;
  ContentOf contentOf;
};

} // namespace frit

#endif // FRIT_COMPILER_PADDING_PADDEDCONTENT_H
