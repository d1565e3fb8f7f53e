//===- AttentionBuilder.h - The loops of attention to ranges --------------===//
//
// Internal to RangedAttention.cpp and AttentionKeys.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CPU_ATTENTION_ATTENTIONBUILDER_H
#define FRIT_CODEGEN_CPU_ATTENTION_ATTENTIONBUILDER_H

#include "codegen/cpu/CodeNumbers.h"
#include "codegen/cpu/KernelBuilder.h"
#include "codegen/cpu/attention/AttentionSizes.h"
#include "codegen/cpu/attention/CodedAttention.h"

namespace frit::cpu {

/// Builds the body of a kernel. Rows are queries of the heads of a group, head
/// by head.
class AttentionBuilder : KernelBuilder {
public:
  AttentionBuilder(const CodedAttention &attention, const AttentionSizes &sizes,
                   nn::FusionOp fusion, mlir::func::FuncOp function);
  void build();

private:
  using Value = mlir::Value;
  using Operand = nn::AttentionOperand;
  /// The part of the result that an item computes: rows of one group.
  struct Item {
    Value batch, group, firstRow, lastRow;
  };
  /// Keys from one to before another.
  struct Keys {
    Value first, last;
  };
  /// Keys or values: numbers, or codes of which a block at a time is decoded.
  struct Rows {
    Operand operand;
    int64_t size;
    Value numbers; ///< pointer: to all, or to those of a block
    std::optional<CodeNumbers> codes;
    Operand scales;
  };

  Value divided(Value x, int64_t by) {
    return mlir::arith::DivUIOp::create(b, x, index(by));
  }
  Value rest(Value x, int64_t by) {
    return mlir::arith::RemUIOp::create(b, x, index(by));
  }
  Value least(Value x, Value y) {
    return mlir::arith::MinSIOp::create(b, x, y);
  }
  Value most(Value x, Value y) { return mlir::arith::MaxSIOp::create(b, x, y); }
  Value minus(Value x, Value y) { return mlir::arith::SubIOp::create(b, x, y); }
  Value number(float value) {
    return mlir::arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  }
  Value times(Value x, int64_t y) {
    return mlir::arith::MulIOp::create(b, x, index(y));
  }
  Value temporary(int64_t count, mlir::Type type);
  Rows rowsOf(const Operand &operand, int64_t size,
              const std::optional<CodedRows> &coded);
  Value place(const Operand &operand, Value batch, Value head, Value position);
  Value placeOfRow(const Operand &operand, const Item &item, Value row);
  /// Returns the place of the first number of a key, which is in a block.
  Value placeOfKey(const Rows &rows, const Item &item, Value block, Value key);
  Value scorePlace(const Item &item, Value row, Value key) {
    return mulAdd(minus(row, item.firstRow), sizes.keys, key);
  }
  Value sumPlace(const Item &item, Value row, Value column) {
    return mulAdd(minus(row, item.firstRow), info.valueSize, column);
  }

  Keys storedRange(const Item &item, Value row);
  Value maskAt(Value place, bool isVector);
  Keys seenByMask(const Item &item, Value row);
  void storeSeen(const Item &item);
  Keys keysOf(const Item &item, Value row);
  Keys keysOf(const Item &item);
  void decodeBlock(const Rows &rows, const Item &item, Value first, Value last);
  void forTiles(const Item &item, Keys keys, const Rows &read,
                llvm::function_ref<void(Value block, Value last,
                                        mlir::ArrayRef<Value> rows)>
                    body);
  void buildScores(const Item &item, Keys keys);
  void buildTile(const Item &item, Value block, Value key,
                 mlir::ArrayRef<Value> rows, mlir::ArrayRef<Value> queries);
  void buildSoftmax(const Item &item, Keys keys);
  void buildSums(const Item &item, Keys keys);
  void buildResult(const Item &item);

  nn::AttentionInfo info;
  MaskForm maskForm;
  std::optional<float> cap;
  AttentionSizes sizes;
  VectorBuilder vector;
  mlir::Type element, f32, i32;
  Rows k, v;
  Value q, y, mask;            ///< pointers
  Value seen;                  ///< of rows by a mask: pointer to i32, or null
  Value scores, sums, factors; ///< of an item: pointers to f32
};

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_ATTENTION_ATTENTIONBUILDER_H
