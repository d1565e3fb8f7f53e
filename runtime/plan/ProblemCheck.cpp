//===- ProblemCheck.cpp - Check gemm, conv and attention problems ---------===//

#include "runtime/plan/ProblemCheck.h"
#include "runtime/exec/Types.h"
#include "runtime/plan/PlanView.h"

using namespace frit;
using namespace frit::artifact;

/// Upper bound of every dimension, stride and pad. The product of three fits in
/// 128 bits, so nothing below overflows.
static constexpr int64_t kLimit = int64_t(1) << 40;

using Wide = __int128;

static bool inRange(std::initializer_list<int64_t> values, int64_t low) {
  for (int64_t value : values)
    if (value < low || value > kLimit)
      return false;
  return true;
}

/// Returns whether the argument is aligned to its element type.
static bool isAligned(const Buffer &buffer, DType type) {
  return buffer.offset % elementBytes(type) == 0;
}

/// Returns whether `batch` matrices of `rows` by `columns` fit in the argument.
static bool matrixFits(const Buffer &buffer, DType type, int64_t rows,
                       int64_t columns, int64_t ld, int64_t batch,
                       int64_t stride) {
  if (!isAligned(buffer, type))
    return false;
  Wide elements = Wide(batch - 1) * stride + Wide(rows - 1) * ld + columns;
  return elements * Wide(elementBytes(type)) <= Wide(buffer.bytes);
}

static bool tensorFits(const Buffer &buffer, DType type, int64_t a, int64_t b,
                       int64_t c, int64_t d) {
  if (!isAligned(buffer, type))
    return false;
  // The product of two factors stays below 2^80: compare these before
  // multiplying them.
  Wide low = Wide(a) * b, high = Wide(c) * d, limit = Wide(buffer.bytes);
  if (low > limit || high > limit)
    return false;
  return low * high <= limit && low * high * Wide(elementBytes(type)) <= limit;
}

static const char *checkArguments(std::span<const Buffer> arguments,
                                  unsigned operands, uint64_t workspaceBytes) {
  if (arguments.size() != operands && arguments.size() != operands + 1)
    return "its number of arguments is wrong";
  if (arguments.size() == operands && workspaceBytes)
    return "its workspace is missing";
  if (arguments.size() > operands &&
      (arguments.back().bytes < workspaceBytes || !arguments.back().written))
    return "its workspace is too small or not written";
  if (!arguments[operands - 1].written)
    return "it does not write its result";
  return nullptr;
}

const char *frit::checkGemm(const Gemm &gemm,
                            std::span<const Buffer> arguments) {
  if (const char *problem =
          checkArguments(arguments, operandCount(gemm), gemm.workspaceBytes))
    return problem;
  if (!inRange(
          {gemm.m, gemm.n, gemm.k, gemm.batch, gemm.lda, gemm.ldb, gemm.ldd},
          1) ||
      !inRange({gemm.strideA, gemm.strideB, gemm.strideD}, 0))
    return "a size is out of range";
  if (!elementBytes(gemm.typeA) || !elementBytes(gemm.typeB) ||
      !elementBytes(gemm.typeD) || gemm.compute > Compute::i32 ||
      gemm.activation >= Activation::other)
    return "a type is unknown";
  if (gemm.batch > 1 && gemm.strideD == 0)
    return "its results overlap";
  int64_t rowsA = gemm.transposeA ? gemm.k : gemm.m;
  int64_t columnsA = gemm.transposeA ? gemm.m : gemm.k;
  int64_t rowsB = gemm.transposeB ? gemm.n : gemm.k;
  int64_t columnsB = gemm.transposeB ? gemm.k : gemm.n;
  if (gemm.lda < columnsA || gemm.ldb < columnsB || gemm.ldd < gemm.n)
    return "its rows overlap";
  unsigned next = 2;
  bool fits = matrixFits(arguments[0], gemm.typeA, rowsA, columnsA, gemm.lda,
                         gemm.batch, gemm.strideA) &&
              matrixFits(arguments[1], gemm.typeB, rowsB, columnsB, gemm.ldb,
                         gemm.batch, gemm.strideB);
  if (gemm.hasBias)
    fits &= matrixFits(arguments[next++], gemm.typeD, 1, gemm.n, gemm.n, 1, 0);
  if (gemm.hasResidual)
    fits &= matrixFits(arguments[next++], gemm.typeD, gemm.m, gemm.n, gemm.ldd,
                       gemm.batch, gemm.strideD);
  fits &= matrixFits(arguments[next], gemm.typeD, gemm.m, gemm.n, gemm.ldd,
                     gemm.batch, gemm.strideD);
  return fits ? nullptr : "an argument is misaligned or too small for it";
}

/// Returns whether `out` is the output size of a window of `size` over the
/// padded `in`.
static bool windowFits(int64_t in, int64_t size, int64_t stride,
                       int64_t dilation, int64_t before, int64_t after,
                       int64_t out) {
  Wide span = Wide(in) + before + after - (Wide(size) - 1) * dilation - 1;
  return span >= 0 && span / stride + 1 == out;
}

/// Checks the types and small operands of a quantized convolution, whose
/// arguments are as many as they should be.
static const char *checkQuantized(const Conv &conv,
                                  std::span<const Buffer> arguments) {
  auto isByte = [](DType type) {
    return type == DType::i8 || type == DType::u8;
  };
  const DType result = !conv.scales    ? DType::i32
                       : conv.hasZeroY ? conv.typeY
                                       : DType::f32;
  if (!isByte(conv.type) || !isByte(conv.typeW) || conv.typeY != result ||
      (conv.hasZeroY && !isByte(conv.typeY)))
    return "its types are none of a quantized convolution's";
  if (!conv.channelsLast || conv.pass != ConvPass::forward ||
      conv.hasResidual || conv.workspaceBytes ||
      conv.activation > Activation::relu ||
      (conv.scales != 0 && conv.scales != 1 && conv.scales != conv.k) ||
      (!conv.scales &&
       (conv.hasBias || conv.hasZeroY || conv.activation != Activation::none)))
    return "it has no quantized form";
  size_t next = 2;
  auto holds = [&](uint32_t has, DType type, int64_t count) {
    return !has || tensorFits(arguments[next++], type, count, 1, 1, 1);
  };
  bool fits = holds(1, conv.type, 1) && holds(1, conv.typeW, 1) &&
              holds(conv.hasOffset, DType::i32, conv.k) &&
              holds(conv.scales != 0, DType::f32, conv.scales) &&
              holds(conv.hasBias, DType::f32, conv.k) &&
              holds(conv.hasZeroY, conv.typeY, 1);
  return fits ? nullptr : "an argument is misaligned or too small for it";
}

const char *frit::checkConv(const Conv &conv,
                            std::span<const Buffer> arguments) {
  if (const char *problem =
          checkArguments(arguments, operandCount(conv), conv.workspaceBytes))
    return problem;
  if (!inRange({conv.n, conv.c, conv.h, conv.w, conv.k, conv.r, conv.s, conv.p,
                conv.q, conv.strideH, conv.strideW, conv.dilationH,
                conv.dilationW, conv.groups},
               1) ||
      !inRange({conv.padTop, conv.padLeft, conv.padBottom, conv.padRight}, 0))
    return "a size is out of range";
  if (!elementBytes(conv.type) || conv.compute > Compute::i32 ||
      conv.activation >= Activation::other || conv.pass > ConvPass::gradWeight)
    return "a type is unknown";
  if (conv.c % conv.groups || conv.k % conv.groups)
    return "its groups do not divide its channels";
  if (!windowFits(conv.h, conv.r, conv.strideH, conv.dilationH, conv.padTop,
                  conv.padBottom, conv.p) ||
      !windowFits(conv.w, conv.s, conv.strideW, conv.dilationW, conv.padLeft,
                  conv.padRight, conv.q))
    return "its result's size does not match its window";
  if (conv.quantized)
    if (const char *problem = checkQuantized(conv, arguments))
      return problem;
  DType type = conv.type;
  const DType typeW = conv.quantized ? conv.typeW : type;
  const DType typeY = conv.quantized ? conv.typeY : type;
  auto isX = [&](size_t i) {
    return tensorFits(arguments[i], type, conv.n, conv.c, conv.h, conv.w);
  };
  auto isY = [&](size_t i) {
    return tensorFits(arguments[i], typeY, conv.n, conv.k, conv.p, conv.q);
  };
  auto isW = [&](size_t i) {
    return tensorFits(arguments[i], typeW, conv.k, conv.c / conv.groups, conv.r,
                      conv.s);
  };
  bool fits = false;
  if (conv.pass == ConvPass::forward) {
    size_t next = conv.quantized ? operandCount(conv) - 1 : 2;
    fits = isX(0) && isW(1);
    if (conv.hasBias && !conv.quantized)
      fits &= tensorFits(arguments[next++], type, conv.k, 1, 1, 1);
    if (conv.hasResidual)
      fits &= isY(next++);
    fits &= isY(next);
  } else if (conv.hasBias || conv.hasResidual ||
             conv.activation != Activation::none) {
    return "a gradient has no epilogue";
  } else if (conv.pass == ConvPass::gradInput) {
    fits = isY(0) && isW(1) && isX(2);
  } else {
    fits = isX(0) && isY(1) && isW(2);
  }
  return fits ? nullptr : "an argument is misaligned or too small for it";
}

const char *frit::checkAttention(const Attention &attention,
                                 std::span<const Buffer> arguments) {
  const Attention &a = attention;
  if (a.inputs < 1 || a.inputs > (a.gradient ? 7 : 4))
    return "its number of inputs is wrong";
  if (const char *problem =
          checkArguments(arguments, operandCount(a), a.workspaceBytes))
    return problem;
  if (!inRange(
          {a.batch, a.heads, a.groups, a.queries, a.keys, a.size, a.valueSize},
          1))
    return "a size is out of range";
  if (a.heads % a.groups)
    return "its groups do not divide its heads";
  if (!elementBytes(a.type) || !elementBytes(a.typeMask))
    return "a type is unknown";
  bool isGradient = a.gradient != 0;
  const struct {
    const StridedOperand &operand;
    int64_t heads, rows, columns;
    bool isUsed, isResult;
  } tensors[] = {{a.q, a.heads, a.queries, a.size, true, false},
                 {a.k, a.groups, a.keys, a.size, true, false},
                 {a.v, a.groups, a.keys, a.valueSize, true, false},
                 {a.y, a.heads, a.queries, a.valueSize, true, !a.gradient},
                 {a.mask, a.heads, a.queries, a.keys, a.hasMask != 0, false},
                 {a.dy, a.heads, a.queries, a.valueSize, isGradient, false},
                 {a.stats, a.heads, a.queries, 1, isGradient, false},
                 {a.dq, a.heads, a.queries, a.size, isGradient, true},
                 {a.dk, a.groups, a.keys, a.size, isGradient, true},
                 {a.dv, a.groups, a.keys, a.valueSize, isGradient, true}};
  for (const auto &[operand, heads, rows, columns, isUsed, isResult] :
       tensors) {
    if (!isUsed)
      continue;
    const int64_t *strides = operand.strides;
    if (!inRange(
            {operand.offset, strides[0], strides[1], strides[2], strides[3]},
            0))
      return "a stride is out of range";
    if (isResult ? operand.argument != a.inputs : operand.argument >= a.inputs)
      return "an operand is none of its arguments";
    // Each addend is below 2^81, so the sum does not overflow.
    Wide last = Wide(operand.offset) + Wide(a.batch - 1) * strides[0] +
                Wide(heads - 1) * strides[1] + Wide(rows - 1) * strides[2] +
                Wide(columns - 1) * strides[3];
    DType type = &operand == &a.mask    ? a.typeMask
                 : &operand == &a.stats ? DType::f32
                                        : a.type;
    const Buffer &buffer = arguments[operand.argument];
    if (!isAligned(buffer, type) ||
        (last + 1) * Wide(elementBytes(type)) > Wide(buffer.bytes))
      return "an argument is misaligned or too small for it";
  }
  return nullptr;
}
