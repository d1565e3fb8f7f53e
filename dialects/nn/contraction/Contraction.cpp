//===- Contraction.cpp - Sizes and operands of contractions ---------------===//

#include "dialects/nn/contraction/Contraction.h"

#include "dialects/nn/operators/Quantized.h"
#include "dialects/nn/training/Gradient.h"

using namespace mlir;
using namespace frit::nn;

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static Match<GemmInfo> describeProduct(MatmulOp op) {
  GemmInfo info;
  info.tf32 = op.getTf32();
  info.a = op.getA();
  info.b = op.getB();
  ArrayRef<int64_t> a = shapeOf(info.a), b = shapeOf(info.b);
  if (!tensorType(info.a).hasStaticShape() ||
      !tensorType(info.b).hasStaticShape())
    return Mismatch("its shape is dynamic");
  // A vector is a row on the left and a column on the right.
  info.transposeA = a.size() > 1 && op.getTransposeA();
  info.transposeB = b.size() > 1 && op.getTransposeB();
  int64_t rowsA = a.size() > 1 ? a[a.size() - 2] : 1, colsA = a.back();
  int64_t rowsB = b.size() > 1 ? b[b.size() - 2] : b[0];
  int64_t colsB = b.size() > 1 ? b.back() : 1;
  info.m = info.transposeA ? colsA : rowsA;
  info.k = info.transposeA ? rowsA : colsA;
  info.n = info.transposeB ? rowsB : colsB;
  info.lda = colsA;
  info.ldb = colsB;
  info.ldd = info.n;

  auto batchOf = [](ArrayRef<int64_t> shape) {
    return product(shape.drop_back(std::min<size_t>(shape.size(), 2)));
  };
  int64_t batchA = batchOf(a), batchB = batchOf(b);
  info.batch =
      product(shapeOf(op.getY())) / std::max<int64_t>(info.m * info.n, 1);
  if (product(shapeOf(op.getY())) == 0 || info.k == 0)
    return Mismatch("it is empty");
  if ((batchA != 1 && batchA != info.batch) ||
      (batchB != 1 && batchB != info.batch))
    return Mismatch("its batch dimensions broadcast in part");
  info.strideA = batchA == 1 ? 0 : rowsA * colsA;
  info.strideB = batchB == 1 ? 0 : rowsB * colsB;
  info.strideD = info.m * info.n;
  // If all matrices of A share one B, their rows form one tall matrix.
  if (info.batch > 1 && batchB == 1 && batchA == info.batch &&
      !info.transposeA) {
    info.m *= info.batch;
    info.batch = 1;
  }
  if (info.batch == 1) {
    info.strideA = info.strideB = 0;
    info.strideD = 0;
  }
  return info;
}

static bool isQuantized(MatmulOp op) {
  return bool(op.getB().getDefiningOp<DequantizeOp>());
}

static bool isSparse(MatmulOp op) {
  return bool(op.getB().getDefiningOp<DecompressOp>());
}

Match<GemmInfo> frit::nn::describeMatmul(MatmulOp op) {
  if (isQuantized(op))
    return Mismatch("its matrix is quantized");
  if (isSparse(op))
    return Mismatch("its matrix is sparse");
  return describeProduct(op);
}

Match<GemmInfo> frit::nn::describeQuantizedMatmul(MatmulOp op) {
  if (!isQuantized(op))
    return Mismatch("its matrix is not quantized");
  return describeProduct(op);
}

Match<GemmInfo> frit::nn::describeSparseMatmul(MatmulOp op) {
  if (!isSparse(op))
    return Mismatch("its matrix is not sparse");
  return describeProduct(op);
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

Match<ConvInfo> frit::nn::describeConv(ConvOp op) {
  ConvInfo info;
  info.tf32 = op.getTf32();
  info.x = op.getX();
  info.w = op.getW();
  if (Value bias = op.getBias())
    info.epilogue.stages = {stage::Load{stage::Load::Role::bias, bias}};
  if (!tensorType(info.x).hasStaticShape() ||
      !tensorType(info.w).hasStaticShape())
    return Mismatch("its shape is dynamic");
  ArrayRef<int64_t> x = shapeOf(info.x), w = shapeOf(info.w);
  ArrayRef<int64_t> y = shapeOf(op.getY());
  size_t spatial = x.size() - 2;
  if (spatial != 1 && spatial != 2)
    return Mismatch("it has " + Twine(spatial) + " spatial dimensions");
  if (product(y) == 0 || product(w) == 0)
    return Mismatch("it is empty");
  info.channelsLast = op.getChannelsLast();
  size_t first = info.channelsLast ? 1 : 2, last = spatial - 1;
  info.n = x[0];
  info.c = info.channelsLast ? x.back() : x[1];
  info.k = w[0];
  info.groups = op.getGroup();
  info.width = x[first + last];
  info.s = w[first + last];
  info.q = y[first + last];
  info.strideW = op.getStrides()[last];
  info.dilationW = op.getDilations()[last];
  info.padLeft = op.getPads()[last];
  info.padRight = op.getPads()[spatial + last];
  if (spatial == 2) {
    info.h = x[first];
    info.r = w[first];
    info.p = y[first];
    info.strideH = op.getStrides()[0];
    info.dilationH = op.getDilations()[0];
    info.padTop = op.getPads()[0];
    info.padBottom = op.getPads()[spatial];
  }
  return info;
}

ConvInfo frit::nn::describeAddend(const ConvInfo &conv) {
  auto addend = describeConv(conv.epilogue.addend);
  assert(addend && "an epilogue was described without its addend");
  return *addend;
}

std::optional<GemmInfo> frit::nn::pointwiseGemm(const ConvInfo &conv) {
  if (conv.epilogue.addend || !conv.channelsLast || conv.groups != 1 ||
      conv.r != 1 || conv.s != 1 || conv.strideH != 1 || conv.strideW != 1 ||
      conv.padTop || conv.padLeft || conv.padBottom || conv.padRight)
    return std::nullopt;
  GemmInfo info;
  info.epilogue = conv.epilogue;
  info.a = conv.x;
  info.b = conv.w;
  info.m = conv.n * conv.h * conv.width;
  info.n = info.ldd = conv.k;
  info.k = info.lda = info.ldb = conv.c;
  info.transposeB = true;
  info.tf32 = conv.tf32;
  return info;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

int64_t frit::nn::countFlops(Operation *op) {
  auto elements = [](Value v) { return tensorType(v).getNumElements(); };
  return TypeSwitch<Operation *, int64_t>(op)
      .Case([&](MatmulOp matmul) {
        ArrayRef<int64_t> a = shapeOf(matmul.getA());
        bool swapped = matmul.getTransposeA() && a.size() > 1;
        int64_t depth = swapped ? a[a.size() - 2] : a.back();
        return 2 * depth * elements(matmul.getY());
      })
      .Case([&](ConvOp conv) {
        int64_t filters = std::max<int64_t>(shapeOf(conv.getW())[0], 1);
        return 2 * elements(conv.getY()) * (elements(conv.getW()) / filters);
      })
      .Case([&](QuantizedConvOp conv) {
        int64_t filters = std::max<int64_t>(shapeOf(conv.getW())[0], 1);
        return 2 * elements(conv.getY()) * (elements(conv.getW()) / filters);
      })
      .Case([&](DepthwiseConvOp conv) {
        ArrayRef<int64_t> w = shapeOf(conv.getW());
        int64_t filters = std::max<int64_t>(w.back(), 1);
        return 2 * elements(conv.getY()) * (elements(conv.getW()) / filters);
      })
      .Case([&](AttentionOp attention) {
        ArrayRef<int64_t> k = shapeOf(attention.getK());
        int64_t products =
            2 * k[k.size() - 2] *
            (elements(attention.getQ()) + elements(attention.getY()));
        return attention.getCausal() ? products / 2 : products;
      })
      .Case([&](AttentionGradOp gradient) {
        // Five products; those of weights and their gradient count once.
        int64_t products =
            10 * elements(gradient.getQ()) * shapeOf(gradient.getK())[2];
        return gradient.getCausal() ? products / 2 : products;
      })
      .Default(int64_t(0));
}
