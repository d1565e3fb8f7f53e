//===- CodedProducts.cpp - Products by matrices of few bits ---------------===//
//
//   nn.fusion(%x: 2x576xf32, %codes: 192x288xui8, %scales: 192x9xf16) {
//     %w = nn.dequantize %codes, %scales {code = "int4", to = f32}
//     %y = nn.matmul %x, %w {transpose_b} }
// ==>
//   func @k(%x, %codes, %scales, %y, %begin, %end)
//     for each item of 16 rows of the matrix, for each 4 of these:
//       sums = 0                                 vectors: 2 × 4
//       for each block, for each 16 bytes of codes of it:
//         for each row: numbers = decode codes   in registers
//           for each row of x: sums += numbers · x
//       y = sums, added up
//
// Both operands are read along the columns of the matrix, so codes need no
// other order than that of the model's file. For more rows of x than registers
// hold sums of, an item's numbers are stored first, some columns at a time, and
// then read several times, by tiles of x:
//
//     for each kMostSumRows rows of x, for each piece of the columns:
//       numbers = decode codes                   in L2
//       for each 6 rows of x, for each 4 of the matrix:
//         sums += numbers · x                    those columns of x in L1
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/CodedProducts.h"

#include "codegen/cpu/CodeNumbers.h"
#include "codegen/cpu/KernelBuilder.h"
#include "dialects/nn/Problem.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace frit;
using namespace frit::cpu;

/// Rows of the matrix in a work item: a cache line of the result. With many
/// rows of A, which each item reads, there are more.
static constexpr int64_t kItemRows = 16, kLongItemRows = 32, kManyRows = 48;
/// Columns of a piece: those of a tile of A, in f32, leave room in a first
/// cache of 32 KB.
static constexpr int64_t kPieceColumns = 1024;
/// Rows of A in a tile, and whose sums are kept between pieces.
static constexpr int64_t kMultipliedRows = 6,
                         kMostSumRows = 32 * kMultipliedRows;

nn::Legality cpu::checkCodedProduct(nn::MatmulOp product) {
  auto info = nn::describeQuantizedMatmul(product);
  if (!info)
    return info.mismatch();
  if (info->batch != 1 || info->transposeA || !info->transposeB)
    return nn::Mismatch("it reads its operands across rows");
  auto codes = info->b.getDefiningOp<nn::DequantizeOp>();
  nn::QuantizedMatrix matrix = nn::describeQuantized(codes);
  if (codes.getTiled())
    return nn::Mismatch("its codes are in the order of tensor cores");
  if (matrix.block % (kStepBytes * 8 / nn::bitsOf(matrix.code)) != 0)
    return nn::Mismatch("its blocks are too small");
  auto isNarrow = [](Value value) {
    Type type = nn::tensorType(value).getElementType();
    return type.isF32() || type.isF16() || type.isBF16();
  };
  if (!isNarrow(info->a) || !isNarrow(matrix.scales))
    return nn::Mismatch("its elements or scales are too wide");
  return std::nullopt;
}

namespace {
/// Rows of A and of the matrix whose sums are in registers at once.
struct Tile {
  int64_t rows, columns;
};

/// Builds the body of a kernel.
class CodedProduct : KernelBuilder {
public:
  CodedProduct(nn::FusionOp fusion, const nn::GemmInfo &info, Vectors vectors,
               func::FuncOp function);
  void build();

private:
  using Order = CodeNumbers::Order;
  /// Gets the numbers of a step of each row, in vectors, and its first column.
  using StepBody = llvm::function_ref<SmallVector<Value>(
      Value column, ArrayRef<SmallVector<Value>> numbers, ValueRange sums)>;

  bool isDirect() const { return info.m <= (vectors.registers > 16 ? 8 : 4); }
  bool hasPieces() const { return piece < info.k; }
  int64_t storedTileColumns() const {
    return std::min<int64_t>(itemRows, vectors.registers > 16 ? 4 : 2);
  }

  Value rowsOfA(Value row, Value column);
  SmallVector<Value> forSteps(ArrayRef<Value> rows, Value from, Value to,
                              Order order, ValueRange start, StepBody body);
  void storeSums(ArrayRef<Value> sums, Value row, Value column);
  Tile directTile() const;
  void buildDirect(Value first);
  void buildStored(Value first);
  void buildWhole(int64_t rows, Value rowA, Value first);
  void buildPieces(int64_t rows, Value rowA, Value first);
  void decodePiece(Value first, Value from, Value to);
  void
  forTiles(int64_t rows,
           llvm::function_ref<void(Tile tile, Value local, Value column)> body);
  SmallVector<Value> startOf(Tile tile, Value place, Value from);
  SmallVector<Value> multiply(Tile tile, Value rowA, Value column, Value from,
                              Value to, ValueRange start);
  void storeTile(Tile tile, ArrayRef<Value> sums, Value rowA, Value column);

  nn::GemmInfo info;
  nn::QuantizedMatrix matrix;
  Vectors vectors;
  CodeNumbers coder;
  int64_t itemRows;
  int64_t span;  ///< columns of a block that are decoded in one loop
  int64_t piece; ///< columns whose numbers are stored at once: whole spans
  Value a, y;    ///< pointers
  Value numbers; ///< itemRows × piece, in the order of tiles
  Value sums;    ///< vectors of tiles: rows of A × itemRows, for pieces
  Type aType, yType;
};
} // namespace

/// Returns the rows of an item: a power of two that divides those of the
/// matrix.
static int64_t itemRowsOf(const nn::GemmInfo &info) {
  int64_t rows = info.m > kManyRows ? kLongItemRows : kItemRows;
  while (info.n % rows)
    rows /= 2;
  return rows;
}

/// Returns the most columns of a block that are a piece or less, in whole
/// steps and equal parts; the block itself if no part of it is.
static int64_t spanOf(int64_t block, int64_t step) {
  for (int64_t parts = 1; parts <= block / step; ++parts)
    if (block % (parts * step) == 0 && block / parts <= kPieceColumns)
      return block / parts;
  return block;
}

CodedProduct::CodedProduct(nn::FusionOp fusion, const nn::GemmInfo &info,
                           Vectors vectors, func::FuncOp function)
    : KernelBuilder(fusion, function), info(info),
      matrix(nn::describeQuantized(info.b.getDefiningOp<nn::DequantizeOp>())),
      vectors(vectors), coder(b, matrix.code, vectors.lanes),
      itemRows(itemRowsOf(info)) {
  span = isDirect()
             ? matrix.block
             : spanOf(matrix.block, kStepBytes * 8 / nn::bitsOf(matrix.code));
  piece = std::min(info.k, span * std::max<int64_t>(kPieceColumns / span, 1));
  auto pointer = [&](Value buffer) { return coder.pointerTo(buffer); };
  a = pointer(argumentOf(info.a));
  y = pointer(resultArgument(0));
  aType = nn::tensorType(info.a).getElementType();
  yType = nn::tensorType(fusion->getResult(0)).getElementType();
  coder.codes = pointer(argumentOf(matrix.codes));
  coder.scales = pointer(argumentOf(matrix.scales));
  if (matrix.offsets)
    coder.offsets = pointer(argumentOf(matrix.offsets));
  coder.factor = nn::tensorType(matrix.scales).getElementType();
}

/// Loads a vector of A in f32.
Value CodedProduct::rowsOfA(Value row, Value column) {
  return coder.loadFloats(a, aType, mulAdd(row, info.lda, column));
}

/// Builds the loops over the codes of some rows, of columns that are whole
/// spans.
SmallVector<Value> CodedProduct::forSteps(ArrayRef<Value> rows, Value from,
                                          Value to, Order order,
                                          ValueRange start, StepBody body) {
  int64_t bits = nn::bitsOf(matrix.code), step = kStepBytes * 8 / bits;
  return loop(from, to, span, start, [&](Value first, ValueRange outer) {
    Value block = arith::DivUIOp::create(b, first, index(matrix.block));
    SmallVector<CodeNumbers::Factors> factors;
    for (Value row : rows)
      factors.push_back(
          coder.loadFactors(mulAdd(row, matrix.columns / matrix.block, block)));
    return loop(
        first, plus(first, span), step, outer,
        [&](Value column, ValueRange inner) {
          Value byte = column;
          if (bits == 4)
            byte = arith::ShRUIOp::create(b, column, index(1));
          SmallVector<SmallVector<Value>> decoded;
          for (auto [row, factor] : llvm::zip_equal(rows, factors))
            decoded.push_back(coder.decode(
                mulAdd(row, matrix.columns * bits / 8, byte), factor, order));
          return body(column, decoded, inner);
        });
  });
}

/// Stores sums of columns of the result that follow one another.
void CodedProduct::storeSums(ArrayRef<Value> sums, Value row, Value column) {
  coder.store(coder.sumsOf(sums), y, yType, mulAdd(row, info.ldd, column));
}

//===----------------------------------------------------------------------===//
// Few rows: numbers in registers
//===----------------------------------------------------------------------===//

Tile CodedProduct::directTile() const {
  int64_t most = vectors.registers / 2;
  int64_t columns = std::min({itemRows, most / 2, vectors.lanes});
  while (columns > 1 && columns * info.m > most)
    columns /= 2;
  return {info.m, columns};
}

/// Multiplies numbers in registers. The sums of all rows of A fit there, too.
void CodedProduct::buildDirect(Value first) {
  int64_t columns = directTile().columns;
  // A vector of A is put in order once for all columns.
  bool isHalved = coder.hasHalves() && info.m <= 2;
  loop(first, plus(first, itemRows), columns, [&](Value row) {
    SmallVector<Value> rows, zeros(columns * info.m, coder.zeros());
    for (int64_t i = 0; i < columns; ++i)
      rows.push_back(plus(row, i));
    SmallVector<Value> sums =
        forSteps(rows, index(0), index(info.k),
                 isHalved ? Order::halves : Order::whole, zeros,
                 [&](Value column, ArrayRef<SmallVector<Value>> decoded,
                     ValueRange inner) {
                   SmallVector<Value> next(inner);
                   for (size_t part = 0; part < decoded.front().size(); ++part)
                     for (int64_t m = 0; m < info.m; ++m) {
                       Value x =
                           rowsOfA(index(m),
                                   plus(column, int64_t(part) * vectors.lanes));
                       if (isHalved)
                         x = coder.toHalves(x);
                       for (int64_t i = 0; i < columns; ++i) {
                         Value &sum = next[m * columns + i];
                         sum = coder.mulAdd(decoded[i][part], x, sum);
                       }
                     }
                   return next;
                 });
    if (isHalved)
      for (Value &sum : sums)
        sum = coder.fromHalves(sum);
    for (int64_t m = 0; m < info.m; ++m)
      storeSums(ArrayRef(sums).slice(m * columns, columns), index(m), row);
  });
}

//===----------------------------------------------------------------------===//
// More rows: stored numbers
//===----------------------------------------------------------------------===//

/// Stores the numbers of an item from one column to another, in the order in
/// which tiles read them: a vector of each row of a tile in turn.
void CodedProduct::decodePiece(Value first, Value from, Value to) {
  int64_t columns = storedTileColumns();
  loop(index(0), index(itemRows), columns, [&](Value tile) {
    for (int64_t i = 0; i < columns; ++i) {
      Value row = arith::AddIOp::create(b, first, plus(tile, i));
      Value start = mulAdd(tile, piece, index(i * vectors.lanes));
      forSteps(
          row, from, to, Order::whole, {},
          [&](Value column, ArrayRef<SmallVector<Value>> decoded, ValueRange) {
            Value local = arith::SubIOp::create(b, column, from);
            Value at = mulAdd(local, columns, start);
            for (auto [part, vector] : llvm::enumerate(decoded.front()))
              coder.store(vector, numbers, b.getF32Type(),
                          plus(at, int64_t(part) * vectors.lanes * columns));
            return SmallVector<Value>();
          });
    }
  });
}

/// Returns the sums of a tile, to which products of the stored numbers from one
/// column of the matrix to another are added.
SmallVector<Value> CodedProduct::multiply(Tile tile, Value rowA, Value column,
                                          Value from, Value to,
                                          ValueRange start) {
  Value stored = mulAdd(column, piece, index(0));
  return loop(from, to, vectors.lanes, start, [&](Value at, ValueRange inner) {
    SmallVector<Value> next(inner), w;
    Value local =
        mulAdd(arith::SubIOp::create(b, at, from), tile.columns, stored);
    for (int64_t i = 0; i < tile.columns; ++i)
      w.push_back(coder.loadFloats(numbers, b.getF32Type(),
                                   plus(local, i * vectors.lanes)));
    for (int64_t m = 0; m < tile.rows; ++m) {
      Value x = rowsOfA(plus(rowA, m), at);
      for (int64_t i = 0; i < tile.columns; ++i) {
        Value &sum = next[m * tile.columns + i];
        sum = coder.mulAdd(w[i], x, sum);
      }
    }
    return next;
  });
}

void CodedProduct::storeTile(Tile tile, ArrayRef<Value> sums, Value rowA,
                             Value column) {
  for (int64_t m = 0; m < tile.rows; ++m)
    storeSums(sums.slice(m * tile.columns, tile.columns), plus(rowA, m),
              column);
}

/// Builds loops over tiles of some rows of A, nearly equal ones. `local` is the
/// tile's first row among them, `column` its first column among the item's.
void CodedProduct::forTiles(int64_t rows,
                            llvm::function_ref<void(Tile, Value, Value)> body) {
  int64_t columns = storedTileColumns();
  int64_t tiles = llvm::divideCeil(rows, kMultipliedRows);
  int64_t size = rows / tiles, larger = rows % tiles;
  auto build = [&](int64_t from, int64_t to, int64_t size) {
    if (from < to)
      loop(index(from), index(to), size, [&](Value local) {
        loop(index(0), index(itemRows), columns,
             [&](Value column) { body({size, columns}, local, column); });
      });
  };
  build(0, larger * (size + 1), size + 1);
  build(larger * (size + 1), rows, size);
}

/// Multiplies some rows of A by an item, of which all numbers are stored.
void CodedProduct::buildWhole(int64_t rows, Value rowA, Value first) {
  forTiles(rows, [&](Tile tile, Value local, Value column) {
    Value row = arith::AddIOp::create(b, rowA, local);
    SmallVector<Value> zeros(tile.rows * tile.columns, coder.zeros());
    storeTile(tile, multiply(tile, row, column, index(0), index(info.k), zeros),
              row, arith::AddIOp::create(b, first, column));
  });
}

/// Returns the sums that a tile has before a piece.
SmallVector<Value> CodedProduct::startOf(Tile tile, Value place, Value from) {
  SmallVector<Value> start;
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, from, index(0));
  for (int64_t i = 0; i < tile.rows * tile.columns; ++i)
    start.push_back(arith::SelectOp::create(
        b, isFirst, coder.zeros(),
        coder.loadFloats(sums, b.getF32Type(),
                         plus(place, i * vectors.lanes))));
  return start;
}

/// The same by pieces, between which sums are kept.
void CodedProduct::buildPieces(int64_t rows, Value rowA, Value first) {
  loop(index(0), index(info.k), piece, [&](Value from) {
    Value to = arith::MinUIOp::create(b, plus(from, piece), index(info.k));
    Value isLast =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, to, index(info.k));
    decodePiece(first, from, to);
    forTiles(rows, [&](Tile tile, Value local, Value column) {
      Value row = arith::AddIOp::create(b, rowA, local);
      Value place =
          mulAdd(mulAdd(local, itemRows, mulAdd(column, tile.rows, index(0))),
                 vectors.lanes, index(0));
      SmallVector<Value> tileSums =
          multiply(tile, row, column, from, to, startOf(tile, place, from));
      scf::IfOp::create(
          b, isLast,
          [&](OpBuilder &, Location) {
            storeTile(tile, tileSums, row,
                      arith::AddIOp::create(b, first, column));
            scf::YieldOp::create(b);
          },
          [&](OpBuilder &, Location) {
            for (auto [i, sum] : llvm::enumerate(tileSums))
              coder.store(sum, sums, b.getF32Type(),
                          plus(place, int64_t(i) * vectors.lanes));
            scf::YieldOp::create(b);
          });
    });
  });
}

/// Stores the numbers of an item and multiplies them by tiles of A.
void CodedProduct::buildStored(Value first) {
  if (!hasPieces()) {
    decodePiece(first, index(0), index(info.k));
    buildWhole(info.m, index(0), first);
    return;
  }
  int64_t whole = info.m / kMostSumRows * kMostSumRows;
  if (whole)
    loop(index(0), index(whole), kMostSumRows,
         [&](Value rowA) { buildPieces(kMostSumRows, rowA, first); });
  if (info.m > whole)
    buildPieces(info.m - whole, index(whole), first);
}

void CodedProduct::build() {
  auto allocate = [&](ArrayRef<int64_t> shape) {
    return coder.pointerTo(memref::AllocOp::create(
        b, MemRefType::get(shape, b.getF32Type()), b.getI64IntegerAttr(64)));
  };
  if (!isDirect()) {
    numbers = allocate({itemRows, piece});
    if (hasPieces())
      sums =
          allocate({std::min(info.m, kMostSumRows), itemRows, vectors.lanes});
  }
  loop(begin, end, 1, [&](Value item) {
    Value first = arith::MulIOp::create(b, item, index(itemRows));
    if (isDirect())
      buildDirect(first);
    else
      buildStored(first);
  });
  func::ReturnOp::create(b);
}

func::FuncOp cpu::createCodedProduct(nn::FusionOp fusion, StringRef name,
                                     StringRef arch, OpBuilder &builder) {
  nn::Problem problem(fusion);
  const nn::GemmInfo &info = *problem.preparedGemm();
  func::FuncOp function =
      createKernelFunction(fusion, name, info.n / itemRowsOf(info), builder);
  CodedProduct(fusion, info, vectorsOf(arch), function).build();
  return function;
}
