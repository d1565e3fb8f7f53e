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
#include "codegen/cpu/Passes.h"
#include "dialects/nn/Problem.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

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

/// Vectors of a processor: f32 lanes and registers.
struct Vectors {
  int64_t lanes, registers;
};

/// Builds the body of a kernel.
class CodedProduct {
public:
  CodedProduct(nn::FusionOp fusion, const nn::GemmInfo &info, Vectors vectors,
               func::FuncOp function);
  void build();

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  /// x · factor + y, of indices.
  Value mulAdd(Value x, int64_t factor, Value y) {
    return arith::AddIOp::create(b, arith::MulIOp::create(b, x, index(factor)),
                                 y);
  }
  Value plus(Value x, int64_t offset) {
    return offset ? arith::AddIOp::create(b, x, index(offset)).getResult() : x;
  }
  using Body = llvm::function_ref<SmallVector<Value>(Value at, ValueRange)>;
  SmallVector<Value> loop(Value from, Value to, int64_t step, ValueRange start,
                          Body body);
  void loop(Value from, Value to, int64_t step,
            llvm::function_ref<void(Value at)> body);

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

  ImplicitLocOpBuilder b;
  nn::GemmInfo info;
  nn::QuantizedMatrix matrix;
  Vectors vectors;
  CodeNumbers coder;
  int64_t itemRows;
  Value begin, end;
  Value a, y; ///< pointers
  Type aType, yType;
};
} // namespace

/// Returns the argument of a kernel's function that is an operand of its
/// fusion's body.
static Value argumentOf(func::FuncOp function, Value operand) {
  return function.getArgument(cast<BlockArgument>(operand).getArgNumber());
}

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
    : b(function.getLoc(), OpBuilder::atBlockEnd(&function.getBody().front())),
      info(info),
      matrix(nn::describeQuantized(info.b.getDefiningOp<nn::DequantizeOp>())),
      vectors(vectors), coder(b, matrix.code, vectors.lanes),
      itemRows(itemRowsOf(info)) {
  unsigned operands = fusion->getNumOperands();
  begin = function.getArgument(operands + 1);
  end = function.getArgument(operands + 2);
  auto pointer = [&](Value buffer) { return coder.pointerTo(buffer); };
  a = pointer(argumentOf(function, info.a));
  y = pointer(function.getArgument(operands));
  aType = nn::tensorType(info.a).getElementType();
  yType = nn::tensorType(fusion->getResult(0)).getElementType();
  coder.codes = pointer(argumentOf(function, matrix.codes));
  coder.scales = pointer(argumentOf(function, matrix.scales));
  if (matrix.offsets)
    coder.offsets = pointer(argumentOf(function, matrix.offsets));
  coder.factor = nn::tensorType(matrix.scales).getElementType();
}

SmallVector<Value> CodedProduct::loop(Value from, Value to, int64_t step,
                                      ValueRange start, Body body) {
  auto made = scf::ForOp::create(b, from, to, index(step), start);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.getBody());
  SmallVector<Value> next =
      body(made.getInductionVar(), made.getRegionIterArgs());
  if (!start.empty())
    scf::YieldOp::create(b, next);
  return SmallVector<Value>(made.getResults());
}

void CodedProduct::loop(Value from, Value to, int64_t step,
                        llvm::function_ref<void(Value at)> body) {
  loop(from, to, step, {}, [&](Value at, ValueRange) {
    body(at);
    return SmallVector<Value>();
  });
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
  coder.storeSum(sum, y, yType, mulAdd(row, info.ldd, column));
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
            coder.storeFloats(
                vector, numbers,
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

/// Returns the vectors of a target. More than the processor's would be several
/// registers each.
static Vectors vectorsOf(StringRef arch) {
  const HostArch *known = findHostArch(arch);
  if (known->machine == HostMachine::aarch64)
    return {4, 32};
  return known->level >= 4   ? Vectors{16, 32}
         : known->level >= 3 ? Vectors{8, 16}
                             : Vectors{4, 16};
}

func::FuncOp cpu::createCodedProduct(nn::FusionOp fusion, StringRef name,
                                     StringRef arch, OpBuilder &builder) {
  nn::Problem problem(fusion);
  const nn::GemmInfo &info = *problem.preparedGemm();
  SmallVector<Type> types;
  for (TypeRange tensors : {TypeRange(fusion->getOperandTypes()),
                            TypeRange(fusion->getResultTypes())})
    for (Type tensor : tensors) {
      auto type = cast<RankedTensorType>(nn::signlessType(tensor));
      types.push_back(MemRefType::get(type.getShape(), type.getElementType()));
    }
  types.append(2, builder.getIndexType());
  auto function = func::FuncOp::create(builder, fusion.getLoc(), name,
                                       builder.getFunctionType(types, {}));
  function.addEntryBlock();
  function->setAttr(kItems,
                    builder.getI64IntegerAttr(info.n / itemRowsOf(info)));
  CodedProduct(fusion, info, vectorsOf(arch), function).build();
  return function;
}
