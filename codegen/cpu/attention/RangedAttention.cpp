//===- RangedAttention.cpp - Attention to ranges of cached keys -----------===//
//
//   nn.fusion(%q: 1x6x1x64xf32, %k, %v: 1x2x8192x64xf32, %ranges) {
//     %y = nn.attention %q, %k, %v, %ranges }
// ==>
//   func @k(%q, %k, %v, %ranges, %y, %begin, %end)
//     for each item: some queries of the heads that share keys
//       first, last = all keys that one of them sees
//       for each block of these keys, for each 4 queries:
//         scores = q · k                         vectors along the head
//       for each query:
//         scores = exp(scores - their maximum), 0 outside of its range
//       for each block of keys, for each 4 queries:
//         y += scores · v                        vectors along the head
//
// A state holds as many keys as its capacity; none but those in ranges is read.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/attention/RangedAttention.h"

#include "codegen/cpu/attention/AttentionBuilder.h"
#include "dialects/nn/training/Gradient.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::cpu;

/// Fewest lanes of a vector.
static constexpr int64_t kLeastLanes = 4;

/// Returns whether a value is a state, perhaps after rows were appended to it.
static bool isState(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!isa<nn::UpdateOp, nn::ReshapeOp, nn::TransposeOp, nn::SliceOp,
             nn::ExpandOp>(def))
      return false;
    value = def->getOperand(0);
  }
  auto argument = cast<BlockArgument>(value);
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return function && function.getArgAttr(argument.getArgNumber(), "nn.state");
}

static bool isElement(Type type) {
  return type.isF32() || type.isF16() || type.isBF16();
}

/// Returns whether keys or values are a state, or numbers of its codes.
static bool isCache(Value value) {
  if (std::optional<Codes> codes = matchCodes(value))
    return isState(codes->codes) && isState(codes->scales);
  return isState(value);
}

/// Returns whether a mask of f32 hides keys by -inf, as masks of those beyond
/// the length of a state do.
static bool hidesKeys(nn::AttentionOp op) {
  Value mask = op.getMask();
  if (!mask || op.getCausal() || op.getUnguarded() ||
      !nn::tensorType(mask).getElementType().isF32() ||
      nn::shapeOf(mask).back() != nn::shapeOf(op.getK())[2])
    return false;
  auto where = mask.getDefiningOp<nn::WhereOp>();
  DenseElementsAttr other;
  return where && matchPattern(where->getOperand(2), m_Constant(&other)) &&
         other.isSplat() && other.getSplatValue<APFloat>().isInfinity() &&
         other.getSplatValue<APFloat>().isNegative();
}

bool cpu::takesRangedAttention(nn::AttentionOp op) {
  return (nn::hasRanges(op.getMask()) || hidesKeys(op)) &&
         isElement(nn::tensorType(op.getQ()).getElementType()) &&
         nn::shapeOf(op.getQ()).back() % kLeastLanes == 0 &&
         nn::shapeOf(op.getV()).back() % kLeastLanes == 0 &&
         isCache(op.getK()) && isCache(op.getV());
}

bool cpu::takesCappedAttention(nn::FusionOp fusion) {
  auto found = describeCappedAttention(fusion);
  /// Returns whether an operand is a state, perhaps after a kernel appended to
  /// it.
  auto isKept = [&](const nn::AttentionOperand &operand) {
    Value value = fusion.getInputs()[operand.argument.getArgNumber()];
    if (auto result = dyn_cast<OpResult>(value))
      if (auto kernel = dyn_cast<nn::FusionOp>(result.getOwner()))
        return kernel.replacedOperand(result).has_value();
    return isState(value);
  };
  return found && found->info.size % kLeastLanes == 0 &&
         found->info.valueSize % kLeastLanes == 0 && isKept(found->info.k) &&
         isKept(found->info.v);
}

bool cpu::takesAttentionView(Type element, const nn::StridedPlaces &places) {
  return isElement(element) && places.strides.back() == 1;
}

AttentionBuilder::AttentionBuilder(const CodedAttention &attention,
                                   const AttentionSizes &sizes,
                                   nn::FusionOp fusion, func::FuncOp function)
    : KernelBuilder(fusion, function), info(attention.info),
      maskForm(attention.mask), cap(attention.cap), sizes(sizes),
      vector(b, sizes.lanes),
      element(nn::tensorType(fusion->getResult(0)).getElementType()),
      f32(b.getF32Type()), i32(b.getI32Type()),
      k(rowsOf(info.k, info.size, attention.keys)),
      v(rowsOf(info.v, info.valueSize, attention.values)) {
  q = vector.pointerTo(argumentOf(info.q.argument));
  mask = vector.pointerTo(argumentOf(info.mask->argument));
  y = vector.pointerTo(resultArgument(info.resultIndex));
  if (maskForm != MaskForm::ranges)
    seen = temporary(sizes.itemRows * 2, i32);
  scores = temporary(sizes.itemRows * sizes.keys, f32);
  sums = temporary(sizes.itemRows * info.valueSize, f32);
  factors = temporary(sizes.itemRows, f32);
}

/// Computes the scores of a tile from a key on.
void AttentionBuilder::buildTile(const Item &item, Value block, Value key,
                                 ArrayRef<Value> rows,
                                 ArrayRef<Value> queries) {
  SmallVector<Value> keys, places;
  for (int64_t i = 0; i < sizes.tileKeys; ++i) {
    keys.push_back(plus(key, i));
    // Vectors of scores may end behind the last key.
    Value read = least(keys.back(), index(info.keys - 1));
    places.push_back(placeOfKey(k, item, block, read));
  }
  SmallVector<Value> zeros(rows.size() * keys.size(), vector.zeros());
  SmallVector<Value> dots =
      loop(index(0), index(info.size), sizes.lanes, zeros,
           [&](Value column, ValueRange inner) {
             auto load = [&](Value from, Type type, Value at) {
               return vector.loadFloats(from, type,
                                        arith::AddIOp::create(b, at, column));
             };
             SmallVector<Value> next(inner), loaded;
             for (Value at : places)
               loaded.push_back(load(k.numbers, k.codes ? f32 : element, at));
             for (auto [i, at] : llvm::enumerate(queries)) {
               Value x = load(q, element, at);
               for (auto [j, y] : llvm::enumerate(loaded)) {
                 Value &sum = next[i * loaded.size() + j];
                 sum = vector.mulAdd(x, y, sum);
               }
             }
             return next;
           });
  for (auto [i, row] : llvm::enumerate(rows))
    for (auto [j, at] : llvm::enumerate(keys)) {
      Value score = vector.sumOf(dots[i * keys.size() + j]);
      auto multiply = [&](float by) {
        if (by != 1)
          score = arith::MulFOp::create(b, score, number(by));
      };
      multiply(info.scale);
      if (cap) {
        score = arith::DivFOp::create(b, score, number(*cap));
        score = math::TanhOp::create(b, score);
        multiply(*cap);
      }
      if (seen) {
        Value key = least(at, index(info.keys - 1));
        Value place = mulAdd(key, info.mask->strides[3],
                             placeOfRow(*info.mask, item, row));
        if (maskForm == MaskForm::shown)
          score = arith::SelectOp::create(
              b, maskAt(place, /*isVector=*/false), score,
              number(-std::numeric_limits<float>::infinity()));
        else
          score = arith::AddFOp::create(b, score,
                                        vector.loadFloat(mask, f32, place));
      }
      vector.store(score, scores, f32, scorePlace(item, row, at));
    }
}

void AttentionBuilder::buildScores(const Item &item, Keys keys) {
  forTiles(item, keys, k, [&](Value first, Value last, ArrayRef<Value> rows) {
    SmallVector<Value> queries;
    for (Value row : rows)
      queries.push_back(placeOfRow(info.q, item, row));
    loop(first, last, sizes.tileKeys,
         [&](Value key) { buildTile(item, first, key, rows, queries); });
  });
}

/// Replaces scores by their powers, and stores by what the sums of a row are
/// multiplied then.
void AttentionBuilder::buildSoftmax(const Item &item, Keys keys) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  auto equals = [&](Value x, float value) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x,
                                 number(value));
  };
  loop(item.firstRow, item.lastRow, 1, [&](Value row) {
    Keys own = keysOf(item, row);
    /// Loads scores from a key on, -inf for those outside of the range.
    auto load = [&](Value key) -> Value {
      Value loaded = vector.loadFloats(scores, f32, scorePlace(item, row, key));
      return arith::SelectOp::create(b,
                                     vector.isWithin(key, own.first, own.last),
                                     loaded, vector.splat(kNever));
    };
    Value greatest =
        loop(keys.first, keys.last, sizes.lanes, vector.splat(kNever),
             [&](Value key, ValueRange known) -> SmallVector<Value> {
               return {vector.most(known[0], load(key))};
             })[0];
    greatest = vector.mostOf(greatest);
    Value base = vector.broadcast(arith::SelectOp::create(
        b, equals(greatest, kNever), number(0), greatest));
    Value sum =
        loop(keys.first, keys.last, sizes.lanes, vector.zeros(),
             [&](Value key, ValueRange known) -> SmallVector<Value> {
               Value power = math::ExpOp::create(
                   b, arith::SubFOp::create(b, load(key), base));
               vector.store(power, scores, f32, scorePlace(item, row, key));
               return {arith::AddFOp::create(b, known[0], power)};
             })[0];
    sum = vector.sumOf(sum);
    Value factor = arith::DivFOp::create(b, number(1), sum);
    // All keys are hidden.
    factor = arith::SelectOp::create(b, equals(sum, 0), number(0), factor);
    vector.store(factor, factors, f32, minus(row, item.firstRow));
  });
}

/// Adds up values by their powers.
void AttentionBuilder::buildSums(const Item &item, Keys keys) {
  int64_t width = sizes.tileVectors * sizes.lanes;
  loop(item.firstRow, item.lastRow, 1, [&](Value row) {
    loop(index(0), index(info.valueSize), sizes.lanes, [&](Value column) {
      vector.store(vector.zeros(), sums, f32, sumPlace(item, row, column));
    });
  });
  forTiles(item, keys, v, [&](Value first, Value last, ArrayRef<Value> rows) {
    loop(index(0), index(info.valueSize), width, [&](Value column) {
      SmallVector<Value> start, places;
      for (Value row : rows)
        for (int64_t i = 0; i < sizes.tileVectors; ++i) {
          places.push_back(sumPlace(item, row, plus(column, i * sizes.lanes)));
          start.push_back(vector.loadFloats(sums, f32, places.back()));
        }
      SmallVector<Value> ends =
          loop(first, last, 1, start, [&](Value key, ValueRange known) {
            SmallVector<Value> next, values;
            Value at = arith::AddIOp::create(b, placeOfKey(v, item, first, key),
                                             column);
            for (int64_t i = 0; i < sizes.tileVectors; ++i)
              values.push_back(vector.loadFloats(v.numbers,
                                                 v.codes ? f32 : element,
                                                 plus(at, i * sizes.lanes)));
            for (auto [i, row] : llvm::enumerate(rows)) {
              Value power = vector.broadcast(
                  vector.loadFloat(scores, f32, scorePlace(item, row, key)));
              for (auto [j, value] : llvm::enumerate(values))
                next.push_back(
                    vector.mulAdd(power, value, known[i * values.size() + j]));
            }
            return next;
          });
      for (auto [value, at] : llvm::zip_equal(ends, places))
        vector.store(value, sums, f32, at);
    });
  });
}

void AttentionBuilder::buildResult(const Item &item) {
  loop(item.firstRow, item.lastRow, 1, [&](Value row) {
    Value factor = vector.broadcast(
        vector.loadFloat(factors, f32, minus(row, item.firstRow)));
    Value at = placeOfRow(info.result, item, row);
    loop(index(0), index(info.valueSize), sizes.lanes, [&](Value column) {
      Value sum = vector.loadFloats(sums, f32, sumPlace(item, row, column));
      vector.store(arith::MulFOp::create(b, sum, factor), y, element,
                   arith::AddIOp::create(b, at, column));
    });
  });
}

void AttentionBuilder::build() {
  loop(begin, end, 1, [&](Value number) {
    Item item;
    Value group = divided(number, sizes.itemsPerGroup);
    item.batch = divided(group, info.groups);
    item.group = rest(group, info.groups);
    item.firstRow = times(rest(number, sizes.itemsPerGroup), sizes.itemRows);
    item.lastRow =
        least(plus(item.firstRow, sizes.itemRows), index(sizes.rows));
    storeSeen(item);
    Keys read = keysOf(item);
    // Sums of powers are in the order of the keys' places in vectors.
    Value last = divided(plus(read.last, sizes.lanes - 1), sizes.lanes);
    Keys whole{times(divided(read.first, sizes.lanes), sizes.lanes),
               times(last, sizes.lanes)};
    buildScores(item, whole);
    buildSoftmax(item, whole);
    buildSums(item, read);
    buildResult(item);
  });
  func::ReturnOp::create(b);
}

func::FuncOp cpu::createRangedAttention(nn::FusionOp fusion, StringRef name,
                                        StringRef arch, OpBuilder &builder) {
  std::optional<CodedAttention> capped = describeCappedAttention(fusion);
  CodedAttention attention = capped ? *capped : *describeCodedAttention(fusion);
  AttentionSizes sizes(attention.info, vectorsOf(arch));
  int64_t items =
      attention.info.batch * attention.info.groups * sizes.itemsPerGroup;
  func::FuncOp function = createKernelFunction(fusion, name, items, builder);
  AttentionBuilder(attention, sizes, fusion, function).build();
  return function;
}
