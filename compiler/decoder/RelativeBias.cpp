//===- RelativeBias.cpp - Scores by distance ------------------------------===//
//
// T5 (Raffel et al., arXiv:1910.10683) adds a number to each score that depends
// on the head and on the distance from key to query. Short distances have a row
// of the table each, longer ones share rows by their logarithm.
//
//===----------------------------------------------------------------------===//

#include "compiler/decoder/Layers.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

/// Returns the row of the table for a distance that is not negative.
static int64_t bucketOf(int64_t distance, int64_t buckets, int64_t most) {
  int64_t exact = buckets / 2;
  if (distance < exact)
    return distance;
  // In f32, as transformers computes it.
  float share = std::log(float(distance) / float(exact)) /
                float(std::log(double(most) / double(exact)));
  return std::min(exact + int64_t(share * float(buckets - exact)), buckets - 1);
}

/// Builds what is added to the scores of all layers, batch or 1 × heads ×
/// queries × keys: minus infinity for keys outside of the ranges `seen`, which
/// are null if all keys are seen.
Value LayerBuilder::positionBias(Value seen, int64_t keys) {
  if (knownBias)
    return knownBias;
  bool isEncoder = tokens.isEncoder;
  int64_t buckets = config.relativeBuckets, most = config.relativeDistance;
  Type i32 = b.getI32Type();
  // Rows of the table by distance: an encoder's go from -(keys - 1) on.
  SmallVector<int32_t> rows;
  for (int64_t i = isEncoder ? 1 - keys : 0; i < keys; ++i) {
    int64_t half = buckets / 2;
    int64_t row = isEncoder
                      ? (i < 0 ? half : 0) + bucketOf(std::abs(i), half, most)
                      : bucketOf(i, buckets, most);
    rows.push_back(int32_t(row));
  }
  auto type = RankedTensorType::get({int64_t(rows.size())}, i32);
  Value index = nn::ConstantOp::create(
      b, DenseElementsAttr::get(type, ArrayRef<int32_t>(rows)), StringAttr());
  Value table =
      weight({Part::relativeBias, 0}, {buckets, config.heads}, tokens.element);
  Value byDistance = nn::GatherOp::create(b, table, index, 0);

  auto count = [&](ArrayRef<int64_t> shape, int64_t axis) -> Value {
    Value zero = b.scalarLike(index, 0);
    return nn::IotaOp::create(b, zero, b.scalarLike(index, 1), shape, axis);
  };
  Value places = count({1, 1, keys}, 2), own;
  int64_t batch = isEncoder ? 1 : tokens.batch;
  if (isEncoder)
    own =
        b.add(count({1, tokens.queries, 1}, 1), b.scalarLike(index, keys - 1));
  else
    own = b.reshape(tokens.positions, {batch, tokens.queries, 1});
  Value distance = b.sub(own, places);
  distance = nn::MinOp::create(
      b, nn::MaxOp::create(b, distance, b.scalarLike(distance, 0)),
      b.scalarLike(distance, double(rows.size() - 1)));
  Value bias = nn::GatherOp::create(b, byDistance, distance, 0);
  bias = nn::TransposeOp::create(b, bias, ArrayRef<int64_t>{0, 3, 1, 2});
  if (seen) {
    Value mask = nn::RangeMaskOp::create(b, seen, keys);
    bias = nn::WhereOp::create(
        b, mask, bias,
        b.scalarLike(bias, -std::numeric_limits<double>::infinity()));
  }
  return knownBias = bias;
}
