//===- SumProductColumns.h - Fuse column sums into products ---------------===//

#ifndef FRIT_COMPILER_TRANSFORM_FUSION_SUMPRODUCTCOLUMNS_H
#define FRIT_COMPILER_TRANSFORM_FUSION_SUMPRODUCTCOLUMNS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit {

/// Target rewrite of the pass `sum-product-columns`. A target may have several.
struct SumProductColumnsRewrite {
  /// Rows of a part, whose columns a product's kernel can sum.
  int64_t height;
  /// Returns whether one kernel computes the fusion of a product, or of the
  /// gradient of attention, and of such
  /// sums of its result (nn.column_sums).
  std::function<bool(nn::FusionOp)> takes;
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_FUSION_SUMPRODUCTCOLUMNS_H
