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
// hold sums of, an item's numbers are stored first and then read several times,
// by tiles of x.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/CodedProducts.h"

#include "codegen/cpu/CodeNumbers.h"
#include "codegen/cpu/KernelBuilder.h"
#include "dialects/nn/Problem.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace frit;
using namespace frit::cpu;

/// Rows of the matrix in a work item: a cache line of the result. With many
/// rows of A, which each item reads, there are more.
static constexpr int64_t kItemRows = 16, kLongItemRows = 32, kManyRows = 48;

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
  Value rowsOfA(Value row, Value column);
  void forSteps(
      ArrayRef<Value> rows, ValueRange start,
      llvm::function_ref<SmallVector<Value>(
          Value column, ArrayRef<SmallVector<Value>> numbers, ValueRange sums)>
          body,
      SmallVector<Value> &sums);
  void store(Value sum, Value row, Value column);
  void buildDirect(Value first);
  void buildStored(Value first, Value numbers);
  void buildTile(Tile tile, Value rowA, Value first, Value local,
                 Value numbers);

  nn::GemmInfo info;
  nn::QuantizedMatrix matrix;
  Vectors vectors;
  CodeNumbers coder;
  int64_t itemRows;
  Value a, y; ///< pointers
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

CodedProduct::CodedProduct(nn::FusionOp fusion, const nn::GemmInfo &info,
                           Vectors vectors, func::FuncOp function)
    : KernelBuilder(fusion, function), info(info),
      matrix(nn::describeQuantized(info.b.getDefiningOp<nn::DequantizeOp>())),
      vectors(vectors), coder(b, matrix.code, vectors.lanes),
      itemRows(itemRowsOf(info)) {
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

/// Builds the loops over the codes of some rows. `body` gets the numbers of a
/// step of each row, in vectors, and its first column.
void CodedProduct::forSteps(
    ArrayRef<Value> rows, ValueRange start,
    llvm::function_ref<SmallVector<Value>(Value, ArrayRef<SmallVector<Value>>,
                                          ValueRange)>
        body,
    SmallVector<Value> &sums) {
  int64_t bits = nn::bitsOf(matrix.code), step = kStepBytes * 8 / bits;
  int64_t blocks = matrix.columns / matrix.block;
  sums = loop(
      index(0), index(blocks), 1, start, [&](Value block, ValueRange outer) {
        SmallVector<CodeNumbers::Factors> factors;
        for (Value row : rows)
          factors.push_back(coder.loadFactors(mulAdd(row, blocks, block)));
        Value first = arith::MulIOp::create(b, block, index(matrix.block));
        Value last = plus(first, matrix.block);
        return loop(
            first, last, step, outer, [&](Value column, ValueRange inner) {
              Value byte = column;
              if (bits == 4)
                byte = arith::ShRUIOp::create(b, column, index(1));
              SmallVector<SmallVector<Value>> numbers;
              for (auto [row, factor] : llvm::zip_equal(rows, factors))
                numbers.push_back(coder.decode(
                    mulAdd(row, matrix.columns * bits / 8, byte), factor));
              return body(column, numbers, inner);
            });
      });
}

void CodedProduct::store(Value sum, Value row, Value column) {
  coder.store(coder.sumOf(sum), y, yType, mulAdd(row, info.ldd, column));
}

/// Multiplies numbers in registers. The sums of all rows of A fit there, too.
void CodedProduct::buildDirect(Value first) {
  int64_t most = vectors.registers / 2;
  int64_t columns = std::min<int64_t>(itemRows, 4);
  while (columns > 1 && columns * info.m > most)
    columns /= 2;
  loop(first, plus(first, itemRows), columns, [&](Value row) {
    SmallVector<Value> rows, sums;
    for (int64_t i = 0; i < columns; ++i)
      rows.push_back(plus(row, i));
    SmallVector<Value> zeros(columns * info.m, coder.zeros());
    forSteps(
        rows, zeros,
        [&](Value column, ArrayRef<SmallVector<Value>> numbers,
            ValueRange inner) {
          SmallVector<Value> next(inner);
          for (size_t part = 0; part < numbers.front().size(); ++part)
            for (int64_t m = 0; m < info.m; ++m) {
              Value x = rowsOfA(index(m),
                                plus(column, int64_t(part) * vectors.lanes));
              for (int64_t i = 0; i < columns; ++i) {
                Value &sum = next[m * columns + i];
                sum = coder.mulAdd(numbers[i][part], x, sum);
              }
            }
          return next;
        },
        sums);
    for (int64_t m = 0; m < info.m; ++m)
      for (int64_t i = 0; i < columns; ++i)
        store(sums[m * columns + i], index(m), rows[i]);
  });
}

/// Multiplies stored numbers of an item, from row `local` of it, by rows of A.
void CodedProduct::buildTile(Tile tile, Value rowA, Value first, Value local,
                             Value numbers) {
  SmallVector<Value> zeros(tile.rows * tile.columns, coder.zeros());
  SmallVector<Value> rows, columns;
  for (int64_t m = 0; m < tile.rows; ++m)
    rows.push_back(plus(rowA, m));
  for (int64_t i = 0; i < tile.columns; ++i)
    columns.push_back(plus(local, i));
  SmallVector<Value> sums =
      loop(index(0), index(info.k), vectors.lanes, zeros,
           [&](Value column, ValueRange inner) {
             SmallVector<Value> next(inner), w;
             for (Value row : columns)
               w.push_back(coder.loadFloats(numbers, b.getF32Type(),
                                            mulAdd(row, info.k, column)));
             for (int64_t m = 0; m < tile.rows; ++m) {
               Value x = rowsOfA(rows[m], column);
               for (int64_t i = 0; i < tile.columns; ++i) {
                 Value &sum = next[m * tile.columns + i];
                 sum = coder.mulAdd(w[i], x, sum);
               }
             }
             return next;
           });
  for (int64_t m = 0; m < tile.rows; ++m)
    for (int64_t i = 0; i < tile.columns; ++i)
      store(sums[m * tile.columns + i], rows[m],
            arith::AddIOp::create(b, first, columns[i]));
}

/// Stores the numbers of an item and multiplies them by tiles of A.
void CodedProduct::buildStored(Value first, Value numbers) {
  SmallVector<Value> none;
  loop(index(0), index(itemRows), 1, [&](Value local) {
    Value row = arith::AddIOp::create(b, first, local);
    forSteps(
        row, {},
        [&](Value column, ArrayRef<SmallVector<Value>> decoded, ValueRange) {
          for (auto [part, vector] : llvm::enumerate(decoded.front()))
            coder.store(vector, numbers, b.getF32Type(),
                        mulAdd(local, info.k,
                               plus(column, int64_t(part) * vectors.lanes)));
          return SmallVector<Value>();
        },
        none);
  });
  bool isWide = vectors.registers > 16;
  Tile tile{6, std::min<int64_t>(itemRows, isWide ? 4 : 2)};
  int64_t whole = info.m / tile.rows * tile.rows;
  if (whole)
    loop(index(0), index(whole), tile.rows, [&](Value rowA) {
      loop(index(0), index(itemRows), tile.columns,
           [&](Value local) { buildTile(tile, rowA, first, local, numbers); });
    });
  Tile rest{info.m - whole, tile.columns};
  if (rest.rows)
    loop(index(0), index(itemRows), rest.columns, [&](Value local) {
      buildTile(rest, index(whole), first, local, numbers);
    });
}

void CodedProduct::build() {
  bool isDirect = info.m <= (vectors.registers > 16 ? 8 : 4);
  Value numbers;
  if (!isDirect)
    numbers = coder.pointerTo(memref::AllocOp::create(
        b, MemRefType::get({itemRows, info.k}, b.getF32Type()),
        b.getI64IntegerAttr(64)));
  loop(begin, end, 1, [&](Value item) {
    Value first = arith::MulIOp::create(b, item, index(itemRows));
    if (isDirect)
      buildDirect(first);
    else
      buildStored(first, numbers);
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
