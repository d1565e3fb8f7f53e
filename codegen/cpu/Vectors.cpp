//===- Vectors.cpp - Vectors of f32 in registers --------------------------===//

#include "codegen/cpu/Vectors.h"

#include "frit/host_arch.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <numeric>

using namespace mlir;
using namespace frit;
using namespace frit::cpu;

Vectors cpu::vectorsOf(StringRef arch) {
  const HostArch *known = findHostArch(arch);
  if (known->machine == HostMachine::aarch64)
    return {4, 32};
  return known->level >= 4   ? Vectors{16, 32}
         : known->level >= 3 ? Vectors{8, 16}
                             : Vectors{4, 16};
}

Value VectorBuilder::splat(float value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(vectorOf(b.getF32Type()), value));
}

Value VectorBuilder::broadcast(Value scalar) {
  VectorType type = vectorOf(scalar.getType());
  Value zero = LLVM::ConstantOp::create(b, b.getI32Type(), 0);
  Value one = LLVM::InsertElementOp::create(b, LLVM::UndefOp::create(b, type),
                                            scalar, zero);
  SmallVector<int32_t> all(size_t(lanes), 0);
  return LLVM::ShuffleVectorOp::create(b, one, one, all);
}

Value VectorBuilder::mulAdd(Value x, Value y, Value sum) {
  return LLVM::FMulAddOp::create(b, x.getType(), x, y, sum);
}

Value VectorBuilder::sumOf(Value vector) {
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  return LLVM::vector_reduce_fadd::create(
      b, b.getF32Type(), zero, vector,
      LLVM::FastmathFlagsAttr::get(b.getContext(),
                                   LLVM::FastmathFlags::reassoc));
}

Value VectorBuilder::shuffle(Value first, Value second,
                             ArrayRef<int32_t> order) {
  return LLVM::ShuffleVectorOp::create(b, first, second, order);
}

Value VectorBuilder::sumsOf(ArrayRef<Value> vectors) {
  // Each vector holds `lanes / part` partial sums of `part` lanes. The halves
  // of all parts are added, of two vectors at once while there are two.
  SmallVector<Value> left(vectors);
  for (int64_t part = lanes; part > 1; part /= 2) {
    auto size = int64_t(cast<VectorType>(left.front().getType()).getDimSize(0));
    bool hasPairs = left.size() > 1;
    SmallVector<int32_t> low, high;
    for (int64_t first = 0; first < size * (hasPairs ? 2 : 1); first += part)
      for (int64_t i = first; i < first + part / 2; ++i) {
        low.push_back(int32_t(i));
        high.push_back(int32_t(i + part / 2));
      }
    SmallVector<Value> next;
    for (size_t i = 0; i < left.size(); i += hasPairs ? 2 : 1) {
      Value x = left[i], y = left[hasPairs ? i + 1 : i];
      next.push_back(
          arith::AddFOp::create(b, shuffle(x, y, low), shuffle(x, y, high)));
    }
    left = std::move(next);
  }
  if (vectors.size() > 1)
    return left.front();
  Value zero = LLVM::ConstantOp::create(b, b.getI32Type(), 0);
  return LLVM::ExtractElementOp::create(b, left.front(), zero);
}

Value VectorBuilder::most(Value x, Value y) {
  return LLVM::MaximumOp::create(b, x, y, LLVM::FastmathFlags::nsz);
}

Value VectorBuilder::mostOf(Value vector) {
  return LLVM::vector_reduce_fmaximum::create(b, b.getF32Type(), vector);
}

Value VectorBuilder::spread(Value at) {
  return broadcast(arith::IndexCastOp::create(b, b.getI32Type(), at));
}

Value VectorBuilder::placesFrom(Value start) {
  SmallVector<int32_t> steps(lanes);
  std::iota(steps.begin(), steps.end(), 0);
  return arith::AddIOp::create(
      b, spread(start),
      arith::ConstantOp::create(
          b,
          DenseElementsAttr::get(vectorOf(b.getI32Type()), ArrayRef(steps))));
}

Value VectorBuilder::isWithin(Value start, Value first, Value last) {
  Value places = placesFrom(start);
  return arith::AndIOp::create(
      b,
      arith::CmpIOp::create(b, arith::CmpIPredicate::sge, places,
                            spread(first)),
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, places,
                            spread(last)));
}

Value VectorBuilder::pointerTo(Value buffer) {
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, buffer);
  address = arith::IndexCastOp::create(b, b.getI64Type(), address);
  return LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext()),
                                  address);
}

Value VectorBuilder::address(Value base, Type element, Value offset) {
  Value at = arith::IndexCastOp::create(b, b.getI64Type(), offset);
  return LLVM::GEPOp::create(b, base.getType(), element, base, at);
}

/// Returns an operand's bytes, which elements are aligned to.
static unsigned alignmentOf(Type element) {
  return element.getIntOrFloatBitWidth() / 8;
}

Value VectorBuilder::loadInteger(Value from, Type type, Value offset) {
  return LLVM::LoadOp::create(b, type, address(from, type, offset),
                              alignmentOf(type));
}

void VectorBuilder::storeInteger(Value value, Value to, Value offset) {
  Type i32 = b.getI32Type();
  LLVM::StoreOp::create(b, arith::IndexCastOp::create(b, i32, value),
                        address(to, i32, offset), alignmentOf(i32));
}

Value VectorBuilder::loadFloat(Value from, Type element, Value offset) {
  Value one = LLVM::LoadOp::create(b, element, address(from, element, offset),
                                   alignmentOf(element));
  if (element.isF32())
    return one;
  return arith::ExtFOp::create(b, b.getF32Type(), one);
}

Value VectorBuilder::loadInAll(Value from, Type element, Value offset) {
  // AVX2 broadcasts 16 bits from memory, and converts vectors as it converts
  // scalars; an insertion would wait for the register's last use.
  if (lanes < 8 || element.isF32())
    return broadcast(loadFloat(from, element, offset));
  Value bits = LLVM::LoadOp::create(
      b, b.getI16Type(), address(from, element, offset), alignmentOf(element));
  Value all = LLVM::BitcastOp::create(b, vectorOf(element), broadcast(bits));
  return arith::ExtFOp::create(b, vectorOf(b.getF32Type()), all);
}

Value VectorBuilder::loadFloats(Value from, Type element, Value offset) {
  Value loaded =
      LLVM::LoadOp::create(b, vectorOf(element), address(from, element, offset),
                           alignmentOf(element));
  if (element.isF32())
    return loaded;
  return arith::ExtFOp::create(b, vectorOf(b.getF32Type()), loaded);
}

Value VectorBuilder::loadBytes(Value from, Value offset) {
  Type i8 = b.getI8Type();
  return LLVM::LoadOp::create(b, vectorOf(i8), address(from, i8, offset),
                              /*alignment=*/1);
}

void VectorBuilder::store(Value value, Value to, Type element, Value offset) {
  if (!element.isF32()) {
    Type type = element;
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      type = vector.clone(element);
    value = arith::TruncFOp::create(b, type, value);
  }
  LLVM::StoreOp::create(b, value, address(to, element, offset),
                        alignmentOf(element));
}
