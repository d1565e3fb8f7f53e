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

#include "codegen/cpu/RangedAttention.h"

#include "codegen/cpu/AttentionSizes.h"
#include "codegen/cpu/KernelBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::cpu;

/// Keys of a block: 16 KiB of usual heads.
static constexpr int64_t kBlockKeys = 64;
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

bool cpu::takesRangedAttention(nn::AttentionOp op) {
  return nn::hasRanges(op.getMask()) &&
         isElement(nn::tensorType(op.getQ()).getElementType()) &&
         nn::shapeOf(op.getQ()).back() % kLeastLanes == 0 &&
         nn::shapeOf(op.getV()).back() % kLeastLanes == 0 &&
         isState(op.getK()) && isState(op.getV());
}

bool cpu::takesAttentionView(Type element, const nn::StridedPlaces &places) {
  return isElement(element) && places.strides.back() == 1;
}

namespace {
/// Builds the body of a kernel. Rows are queries of the heads of a group, head
/// by head.
class RangedAttention : KernelBuilder {
public:
  RangedAttention(const nn::AttentionInfo &info, const AttentionSizes &sizes,
                  nn::FusionOp fusion, func::FuncOp function);
  void build();

private:
  using Operand = nn::AttentionOperand;
  /// The part of the result that an item computes: rows of one group.
  struct Item {
    Value batch, group, firstRow, lastRow;
  };
  /// Keys from one to before another.
  struct Keys {
    Value first, last;
  };

  Value divided(Value x, int64_t by) {
    return arith::DivUIOp::create(b, x, index(by));
  }
  Value rest(Value x, int64_t by) {
    return arith::RemUIOp::create(b, x, index(by));
  }
  Value least(Value x, Value y) { return arith::MinSIOp::create(b, x, y); }
  Value most(Value x, Value y) { return arith::MaxSIOp::create(b, x, y); }
  Value place(const Operand &operand, Value batch, Value head, Value position);
  Value placeOfRow(const Operand &operand, const Item &item, Value row);
  Value scorePlace(const Item &item, Value row, Value key);
  Value sumPlace(const Item &item, Value row, Value column) {
    return mulAdd(arith::SubIOp::create(b, row, item.firstRow), info.valueSize,
                  column);
  }

  Keys keysOf(const Item &item, Value row);
  Keys keysOf(const Item &item);
  void
  forTiles(const Item &item, Keys keys,
           llvm::function_ref<void(Value key, Value last, ArrayRef<Value> rows)>
               body);
  void buildScores(const Item &item, Keys keys);
  void buildTile(const Item &item, Value key, ArrayRef<Value> rows,
                 ArrayRef<Value> queries);
  void buildSoftmax(const Item &item, Keys keys);
  void buildSums(const Item &item, Keys keys);
  void buildResult(const Item &item);

  nn::AttentionInfo info;
  AttentionSizes sizes;
  VectorBuilder vector;
  Value q, k, v, y, ranges;    ///< pointers
  Value scores, sums, factors; ///< of an item: pointers to f32
  Type element, f32;
};
} // namespace

RangedAttention::RangedAttention(const nn::AttentionInfo &info,
                                 const AttentionSizes &sizes,
                                 nn::FusionOp fusion, func::FuncOp function)
    : KernelBuilder(fusion, function), info(info), sizes(sizes),
      vector(b, sizes.lanes), f32(b.getF32Type()) {
  auto pointer = [&](const Operand &operand) {
    return vector.pointerTo(argumentOf(operand.argument));
  };
  q = pointer(info.q);
  k = pointer(info.k);
  v = pointer(info.v);
  ranges = pointer(*info.mask);
  y = vector.pointerTo(resultArgument(info.resultIndex));
  element = nn::tensorType(fusion->getResult(0)).getElementType();
  auto temporary = [&](int64_t count) {
    return vector.pointerTo(memref::AllocOp::create(
        b, MemRefType::get({count}, f32), b.getI64IntegerAttr(64)));
  };
  scores = temporary(sizes.itemRows * sizes.keys);
  sums = temporary(sizes.itemRows * info.valueSize);
  factors = temporary(sizes.itemRows);
}

/// Returns the place of an operand's first element for a position of a head.
Value RangedAttention::place(const Operand &operand, Value batch, Value head,
                             Value position) {
  Value at = mulAdd(batch, operand.strides[0], index(operand.offset));
  at = mulAdd(head, operand.strides[1], at);
  return mulAdd(position, operand.strides[2], at);
}

Value RangedAttention::placeOfRow(const Operand &operand, const Item &item,
                                  Value row) {
  Value head = mulAdd(item.group, sizes.sharing, divided(row, info.queries));
  return place(operand, item.batch, head, rest(row, info.queries));
}

Value RangedAttention::scorePlace(const Item &item, Value row, Value key) {
  return mulAdd(arith::SubIOp::create(b, row, item.firstRow), sizes.keys, key);
}

/// Loads the range of a row.
RangedAttention::Keys RangedAttention::keysOf(const Item &item, Value row) {
  Value at = placeOfRow(*info.mask, item, row);
  auto load = [&](int64_t end) -> Value {
    Value place = plus(at, end * info.mask->strides[3]);
    Value one = vector.loadInteger(ranges, b.getI32Type(), place);
    one = arith::IndexCastOp::create(b, b.getIndexType(), one);
    return least(most(one, index(0)), index(info.keys));
  };
  return {load(0), load(1)};
}

/// Returns all keys that a row of the item sees.
RangedAttention::Keys RangedAttention::keysOf(const Item &item) {
  SmallVector<Value> ends =
      loop(item.firstRow, item.lastRow, 1, {index(info.keys), index(0)},
           [&](Value row, ValueRange known) -> SmallVector<Value> {
             Keys keys = keysOf(item, row);
             Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                                   keys.first, keys.last);
             Value first =
                 arith::SelectOp::create(b, isEmpty, known[0], keys.first);
             return {least(known[0], first), most(known[1], keys.last)};
           });
  return {ends[0], ends[1]};
}

/// Builds loops over blocks of keys and, in each, tiles of rows. The last rows
/// of the last tile may repeat the last row.
void RangedAttention::forTiles(
    const Item &item, Keys keys,
    llvm::function_ref<void(Value, Value, ArrayRef<Value>)> body) {
  loop(keys.first, keys.last, kBlockKeys, [&](Value key) {
    Value last = least(plus(key, kBlockKeys), keys.last);
    loop(item.firstRow, item.lastRow, sizes.tileRows, [&](Value row) {
      SmallVector<Value> rows;
      for (int64_t i = 0; i < sizes.tileRows; ++i)
        rows.push_back(least(plus(row, i), index(sizes.rows - 1)));
      body(key, last, rows);
    });
  });
}

/// Computes the scores of a tile from a key on.
void RangedAttention::buildTile(const Item &item, Value key,
                                ArrayRef<Value> rows, ArrayRef<Value> queries) {
  SmallVector<Value> keys, places;
  for (int64_t i = 0; i < sizes.tileKeys; ++i) {
    keys.push_back(plus(key, i));
    // Vectors of scores may end behind the last key.
    Value read = least(keys.back(), index(info.keys - 1));
    places.push_back(place(info.k, item.batch, item.group, read));
  }
  SmallVector<Value> zeros(rows.size() * keys.size(), vector.zeros());
  SmallVector<Value> dots =
      loop(index(0), index(info.size), sizes.lanes, zeros,
           [&](Value column, ValueRange inner) {
             auto load = [&](Value from, Value at) {
               return vector.loadFloats(from, element,
                                        arith::AddIOp::create(b, at, column));
             };
             SmallVector<Value> next(inner), loaded;
             for (Value at : places)
               loaded.push_back(load(k, at));
             for (auto [i, at] : llvm::enumerate(queries)) {
               Value x = load(q, at);
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
      if (info.scale != 1)
        score = arith::MulFOp::create(
            b, score,
            arith::ConstantOp::create(b, b.getF32FloatAttr(info.scale)));
      vector.store(score, scores, f32, scorePlace(item, row, at));
    }
}

void RangedAttention::buildScores(const Item &item, Keys keys) {
  forTiles(item, keys, [&](Value first, Value last, ArrayRef<Value> rows) {
    SmallVector<Value> queries;
    for (Value row : rows)
      queries.push_back(placeOfRow(info.q, item, row));
    loop(first, last, sizes.tileKeys,
         [&](Value key) { buildTile(item, key, rows, queries); });
  });
}

/// Replaces scores by their powers, and stores by what the sums of a row are
/// multiplied then.
void RangedAttention::buildSoftmax(const Item &item, Keys keys) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  auto number = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
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
    vector.store(factor, factors, f32,
                 arith::SubIOp::create(b, row, item.firstRow));
  });
}

/// Adds up values by their powers.
void RangedAttention::buildSums(const Item &item, Keys keys) {
  int64_t width = sizes.tileVectors * sizes.lanes;
  loop(item.firstRow, item.lastRow, 1, [&](Value row) {
    loop(index(0), index(info.valueSize), sizes.lanes, [&](Value column) {
      vector.store(vector.zeros(), sums, f32, sumPlace(item, row, column));
    });
  });
  forTiles(item, keys, [&](Value first, Value last, ArrayRef<Value> rows) {
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
            Value at = arith::AddIOp::create(
                b, place(info.v, item.batch, item.group, key), column);
            for (int64_t i = 0; i < sizes.tileVectors; ++i)
              values.push_back(
                  vector.loadFloats(v, element, plus(at, i * sizes.lanes)));
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

void RangedAttention::buildResult(const Item &item) {
  loop(item.firstRow, item.lastRow, 1, [&](Value row) {
    Value factor = vector.broadcast(vector.loadFloat(
        factors, f32, arith::SubIOp::create(b, row, item.firstRow)));
    Value at = placeOfRow(info.result, item, row);
    loop(index(0), index(info.valueSize), sizes.lanes, [&](Value column) {
      Value sum = vector.loadFloats(sums, f32, sumPlace(item, row, column));
      vector.store(arith::MulFOp::create(b, sum, factor), y, element,
                   arith::AddIOp::create(b, at, column));
    });
  });
}

void RangedAttention::build() {
  loop(begin, end, 1, [&](Value number) {
    Item item;
    Value group = divided(number, sizes.itemsPerGroup);
    item.batch = divided(group, info.groups);
    item.group = rest(group, info.groups);
    item.firstRow = arith::MulIOp::create(b, rest(number, sizes.itemsPerGroup),
                                          index(sizes.itemRows));
    item.lastRow =
        least(plus(item.firstRow, sizes.itemRows), index(sizes.rows));
    Keys seen = keysOf(item);
    // Sums of powers are in the order of the keys' places in vectors.
    Keys whole{arith::MulIOp::create(b, divided(seen.first, sizes.lanes),
                                     index(sizes.lanes)),
               arith::MulIOp::create(
                   b, divided(plus(seen.last, sizes.lanes - 1), sizes.lanes),
                   index(sizes.lanes))};
    buildScores(item, whole);
    buildSoftmax(item, whole);
    buildSums(item, seen);
    buildResult(item);
  });
  func::ReturnOp::create(b);
}

func::FuncOp cpu::createRangedAttention(const nn::AttentionInfo &info,
                                        nn::FusionOp fusion, StringRef name,
                                        StringRef arch, OpBuilder &builder) {
  AttentionSizes sizes(info, vectorsOf(arch));
  int64_t items = info.batch * info.groups * sizes.itemsPerGroup;
  func::FuncOp function = createKernelFunction(fusion, name, items, builder);
  RangedAttention(info, sizes, fusion, function).build();
  return function;
}
