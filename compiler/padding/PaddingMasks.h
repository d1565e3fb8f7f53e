//===- PaddingMasks.h - Masks of padded dimensions ------------------------===//

#ifndef FRIT_COMPILER_PADDING_PADDINGMASKS_H
#define FRIT_COMPILER_PADDING_PADDINGMASKS_H

#include "compiler/padding/PaddedJoin.h"
#include "compiler/padding/PaddedPick.h"
#include "compiler/padding/PaddedSlice.h"
#include "compiler/padding/SizeSamples.h"
#include "compiler/padding/values/PaddedOperator.h"
#include "dialects/nn/NN.h"

#include <map>

namespace frit {

/// The changes that make a large model's results for padded inputs right, found
/// by comparison with small models: masks before operators that combine
/// elements along a padded dimension, and constants that are sizes.
class PaddingMasks {
public:
  using Operands = llvm::SmallVector<PaddedValue, 3>;
  using Pad =
      llvm::function_ref<std::optional<PaddedValue>(const Operands &operands)>;

  /// Calls have multiples of `multiples`, one per symbol.
  PaddingMasks(llvm::ArrayRef<int64_t> largeSizes,
               llvm::ArrayRef<int64_t> multiples)
      : largeSizes(largeSizes), multiples(multiples) {}

  /// Starts the comparison with a small model of these sizes.
  void begin(llvm::ArrayRef<int64_t> sizes) {
    smallSizes.assign(sizes);
    listed.clear();
  }

  /// Calls `pad` on an operator's operands with its present masks and, if that
  /// fails, with additional ones. Returns the first success.
  std::optional<PaddedValue> pad(mlir::Operation *large, Operands operands,
                                 Pad pad);
  /// Returns the padded value of a constant that may be a size.
  std::optional<PaddedValue> padSize(nn::ConstantOp small,
                                     nn::ConstantOp large);

  /// Returns whether a constant of the large model was a size so far. It is
  /// compared as one then, also with sizes for which it is the same.
  bool isSize(nn::ConstantOp large) const { return constants.count(large); }

  /// Says that a call of the present small model reads elements of a gather's
  /// dimension up to `last`. If `isLimited`, its indices must not pass that.
  void limit(nn::GatherOp large, int64_t last, bool isLimited);

  /// Returns the padded value of a concat along dimensions that are padded, as
  /// if the elements of the small model were moved to the front. Nothing if
  /// `isNew` is false and others do not need that, or if an operand has no
  /// padding.
  std::optional<PaddedValue> join(nn::ConcatOp small, nn::ConcatOp large,
                                  const Operands &operands, bool isNew);
  /// Returns the lists that are joined from padded ones.
  auto joined() const { return llvm::make_second_range(joins); }

  /// Returns the padded value of a slice that begins where the sizes say, as if
  /// the large model's began where the small one's does. Nothing if `isNew` is
  /// false and others do not need that.
  std::optional<PaddedValue> shift(nn::SliceOp small, nn::SliceOp large,
                                   const PaddedValue &x, bool isNew);

  /// Returns the padded value of an operator that picks elements by indices of
  /// the data, as if these counted the small model's elements. Nothing if
  /// `isNew` is false and others do not need that.
  std::optional<PaddedValue> pick(mlir::Operation *small,
                                  mlir::Operation *large,
                                  const Operands &operands, bool isNew);

  /// Drops the masks of an operator of the large model that is being
  /// decomposed.
  void forget(mlir::Operation *large) { masks.erase(large); }

  /// Returns whether an operator of the large model will be changed.
  bool changes(mlir::Operation *large) const {
    return masks.contains(large) || constants.contains(large) ||
           limits.contains(large) || joins.contains(large) ||
           slices.contains(large) || picks.contains(large);
  }

  /// Whether join() takes operands without padding: others pad them.
  bool joinsFixed = false;

  bool empty() const { return uses().empty(); }
  /// Returns the number of operators that have masks, limits or sizes.
  size_t size() const;
  /// Returns the location of the first node that needs one.
  mlir::Location firstLoc() const { return uses().front().first->getLoc(); }
  /// Returns an operator that depends on the sizes in a way that SizeExpr
  /// cannot express, or null.
  mlir::Operation *findMisfit() const;
  /// Returns whether comparisons with models of more sizes may show that a mask
  /// is wrong.
  bool areAmbiguous() const;
  /// Returns sizes from `least` on for which a comparison tells whether a mask
  /// is wrong, or nothing; see SizeSamples::findProbe.
  std::optional<llvm::SmallVector<int64_t, 2>>
  findProbe(llvm::ArrayRef<int64_t> least) const;
  /// Returns the symbols whose sizes apply() needs.
  std::vector<bool> symbols() const;

  /// Inserts the masks into the large model. `sizeOf` returns the actual size
  /// of a symbol, a scalar of type i64.
  ///
  ///   %y = nn.softmax %x {axis = 1} : tensor<2x8xf32>
  /// ==>
  ///   %i = nn.iota 0, 1 {shape = [1, 8], axis = 1}
  ///   %m = nn.where (nn.less %i, %size), %x, -inf
  ///   %y = nn.softmax %m {axis = 1}
  void apply(llvm::function_ref<mlir::Value(unsigned symbol)> sizeOf);

private:
  /// One of the dimensions folded into a masked one.
  struct Part {
    int64_t length; ///< in the large model
    SizeSamples sizes;
  };
  struct Mask {
    unsigned operand, dim;
    mlir::TypedAttr value;
    llvm::SmallVector<Part, 1> parts;
  };
  struct Site {
    unsigned operand, dim;
    DimPlaces places;
  };

  /// The last element that calls read by a gather's indices.
  struct Limit {
    SizeSamples last;
    bool isNeeded = false;
  };
  /// A number that depends on the sizes of a call, and the operator that needs
  /// it.
  using Use = std::pair<mlir::Operation *, const SizeSamples *>;

  llvm::SmallVector<Use> uses() const;
  void applyLimits();
  std::optional<PaddedValue> search(mlir::Operation *large,
                                    const Operands &operands, Pad pad);
  std::optional<PaddedValue> tryMasks(mlir::Operation *large, Operands operands,
                                      llvm::ArrayRef<Site> sites,
                                      mlir::TypedAttr value, Pad pad);
  std::optional<DimPlaces> placesOfEqual(int64_t small, int64_t large) const;
  bool addSample(Mask &mask, const DimPlaces &places) const;
  mlir::Value buildSize(const SizeExpr &expr);
  mlir::Value buildIsInside(const Mask &mask, mlir::Value like);

  llvm::SmallVector<int64_t> largeSizes, multiples, smallSizes;
  /// By operator of the large model, in the order in which they were found.
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<Mask, 1>> masks;
  llvm::MapVector<mlir::Operation *, SizeSamples> constants;
  llvm::MapVector<mlir::Operation *, Limit> limits;
  llvm::MapVector<mlir::Operation *, PaddedJoin> joins;
  /// Places of parts of the lists that were joined in this comparison.
  llvm::SmallVector<DimPlaces> listed;
  llvm::MapVector<mlir::Operation *, PaddedSlice> slices;
  llvm::MapVector<mlir::Operation *, PaddedPick> picks;

  // State of apply().
  llvm::function_ref<mlir::Value(unsigned)> sizeOf;
  std::map<SizeExpr, mlir::Value> built;
  std::map<std::string, mlir::Value> inside;
};

} // namespace frit

#endif // FRIT_COMPILER_PADDING_PADDINGMASKS_H
