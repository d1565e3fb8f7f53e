//===- EndStage.h - What a kernel does to a product's sums ----------------===//
//
// The operators after a contraction, as a list of stages that one kernel can
// compute. Each transforms the sums, or reads or writes a tensor:
//
//   nn.matmul, nn.add %bias, nn.gelu; yields what nn.add and nn.gelu return
//     ==>  Load bias · Store sum · Map gelu · Store result
//
// Epilogue.cpp matches operators to stages, once. Legality, cost and text of
// every kernel follow from the list.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_CONTRACTION_ENDSTAGE_H
#define FRIT_DIALECTS_NN_CONTRACTION_ENDSTAGE_H

#include "dialects/nn/Match.h"
#include "dialects/nn/NN.h"

#include "frit/activation.h"

#include <variant>

namespace frit::nn {

namespace stage {

/// Reads a tensor.
struct Load {
  enum class Role {
    bias,     ///< one element per column, added to the sums
    residual, ///< one element for each of the result's, added to the sums
    factor    ///< as many, read by a Reduce that follows; of the result's type
  };
  Role role;
  mlir::Value value;
};

/// Applies an elementwise function to the sums.
struct Map {
  Activation activation = Activation::other;
  /// Whether it is a function of product, bias and residual, which are then not
  /// added. It may change the type. Only our own kernels compute it.
  bool isMixed = false;
  /// The sums with all that was added to them, and the function's result.
  mlir::Value operand, result;
};

/// Multiplies every other column by a function of the column that follows, as
/// nn.gate_columns does: the result has half as many.
struct Gate {
  Activation activation;
  mlir::Value result;
};

/// Normalizes an operand by moments: the product, or the residual. The product
/// is normalized before a bias is added.
struct Norm {
  enum class Of { product, residual };
  Of of;
  /// The moments, each of `width` elements of a row, and a vector with one
  /// element per column, which multiplies normalized elements.
  mlir::Value moments, column;
  int64_t width;
  double epsilon;

  /// Returns the number of moments per row.
  int64_t parts() const { return shapeOf(moments).end()[-2]; }
};

/// Reduces parts of `extent` elements of the result's rows or columns.
struct Reduce {
  enum class Kind {
    moments, ///< mean and sum of squared deviations
    sums,
    dots ///< dot products with the factor
  };
  enum class Along { rows, columns };
  Kind kind;
  Along along;
  int64_t extent;
  /// The reduced tensor.
  mlir::Value value;
};

/// Writes a tensor with an element for each of the result's.
struct Store {
  enum class What {
    result,
    sum,  ///< the operand of the Map that follows
    slope ///< the slope of the Map's function there
  };
  What what;
  mlir::Value value;
};

} // namespace stage

/// A stage. Where no order of execution matters (parameters of kernels, words
/// of tuning files), stages are visited in this order.
using EndStage = std::variant<stage::Load, stage::Map, stage::Gate, stage::Norm,
                              stage::Reduce, stage::Store>;

/// Returns the tensors that a stage reads, besides the sums.
llvm::SmallVector<mlir::Value, 2> operandsOf(const EndStage &stage);

/// The stages that end a contraction, in order of execution. Values belong to
/// the fusion's body.
struct Epilogue {
  /// The contraction's result; for a convolution, with its bias.
  mlir::Value product;
  /// A second convolution of other operands, whose sums are added; one of the
  /// two may have a bias.
  ConvOp addend;
  llvm::SmallVector<EndStage, 4> stages;

  /// Returns the only stage of this kind, or null.
  template <class Stage> const Stage *find() const {
    for (const EndStage &one : stages)
      if (auto *found = std::get_if<Stage>(&one))
        return found;
    return nullptr;
  }
  /// Returns the tensor that is read in a role, or null.
  mlir::Value loaded(stage::Load::Role role) const;
  mlir::Value bias() const { return loaded(stage::Load::Role::bias); }
  mlir::Value residual() const { return loaded(stage::Load::Role::residual); }
  mlir::Value factor() const { return loaded(stage::Load::Role::factor); }
  /// Returns the operand with an element for each of the result's, or null.
  mlir::Value wideOperand() const { return factor() ? factor() : residual(); }
  /// Returns the tensor that is written in a role, or null.
  mlir::Value stored(stage::Store::What what) const;
  mlir::Value result() const { return stored(stage::Store::What::result); }
  /// Returns the store of what is not the result, or null.
  const stage::Store *secondStore() const;

  /// Returns the function that is applied to the sums; `none` without a Map.
  Activation activation() const;
  /// Returns whether a Map combines the product with other operands.
  bool isMixed() const;
  /// Returns whether there is more than operands, an activation and a result:
  /// what no library computes, even of a named activation.
  bool isExtended() const;

  /// Returns the sums that an element of the result is computed from.
  int64_t sumsPerResult() const { return find<stage::Gate>() ? 2 : 1; }

  /// Returns the stages by kind, in the order of EndStage.
  llvm::SmallVector<EndStage, 4> byKind() const;
};

/// Matches `operators` after `contraction`. Each reads its predecessor; the
/// first may be a convolution that the next one adds. The last one's result is
/// stored, or what it reduces.
Match<Epilogue> describeEpilogue(mlir::Operation *contraction,
                                 llvm::ArrayRef<mlir::Operation *> operators);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_CONTRACTION_ENDSTAGE_H
