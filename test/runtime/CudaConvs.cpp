//===- CudaConvs.cpp - Convolutions of a library against loops ------------===//

#include "CudaProblems.h"
#include "LibraryProblem.h"

using namespace frit::test;
using frit::Activation;

/// Returns the index of [a][b][y][x] in a tensor with channels b second or
/// last.
static size_t at(bool last, int64_t a, int64_t b, int64_t y, int64_t x,
                 int64_t channels, int64_t height, int64_t width) {
  return size_t(last ? ((a * height + y) * width + x) * channels + b
                     : ((a * channels + b) * height + y) * width + x);
}

/// Sets the size of the result.
static void setResult(Conv &conv) {
  conv.p = (conv.h + conv.padTop + conv.padBottom -
            conv.dilationH * (conv.r - 1) - 1) /
               conv.strideH +
           1;
  conv.q = (conv.w + conv.padLeft + conv.padRight -
            conv.dilationW * (conv.s - 1) - 1) /
               conv.strideW +
           1;
  conv.workspaceBytes = kWorkspace;
}

/// Calls `visit` with the indices of each product's result, operand and weight.
template <class Visit>
static void forEachProduct(const Conv &conv, Visit visit) {
  bool last = conv.channelsLast;
  int64_t inner = conv.c / conv.groups, outer = conv.k / conv.groups;
  for (int64_t n = 0; n < conv.n; ++n)
    for (int64_t k = 0; k < conv.k; ++k)
      for (int64_t p = 0; p < conv.p; ++p)
        for (int64_t q = 0; q < conv.q; ++q)
          for (int64_t c = 0; c < inner; ++c)
            for (int64_t r = 0; r < conv.r; ++r)
              for (int64_t s = 0; s < conv.s; ++s) {
                int64_t h = p * conv.strideH - conv.padTop + r * conv.dilationH;
                int64_t v =
                    q * conv.strideW - conv.padLeft + s * conv.dilationW;
                if (h < 0 || h >= conv.h || v < 0 || v >= conv.w)
                  continue;
                visit(at(last, n, k, p, q, conv.k, conv.p, conv.q),
                      at(last, n, k / outer * inner + c, h, v, conv.c, conv.h,
                         conv.w),
                      at(last, k, c, r, s, inner, conv.r, conv.s));
              }
}

/// Returns the part of a label that all passes have.
static std::string nameOfKind(const Conv &conv) {
  return std::string(nameOf(conv.compute)) +
         (conv.type == DType::bf16 ? " bf16" : "") +
         (conv.channelsLast ? " NHWC" : " NCHW");
}

static void testConv(Conv conv, double tolerance, const std::string &what) {
  Problem problem;
  setResult(conv);
  int64_t inner = conv.c / conv.groups;
  Buffer x = problem.operand(conv.type, conv.n * conv.c * conv.h * conv.w);
  Buffer w = problem.operand(conv.type, conv.k * inner * conv.r * conv.s);
  Buffer bias = problem.operand(conv.type, conv.k);
  int64_t count = conv.n * conv.k * conv.p * conv.q;
  Buffer residual = problem.operand(conv.type, count);
  Buffer y = problem.result(conv.type, count);
  std::string label =
      what + " " + nameOfKind(conv) + (conv.hasBias ? " bias" : "") +
      (conv.hasResidual ? " residual " : " ") + nameOf(conv.activation);
  std::vector<Buffer> operands = {x, w};
  if (conv.hasBias)
    operands.push_back(bias);
  if (conv.hasResidual)
    operands.push_back(residual);
  operands.insert(operands.end(), {y, Problem::workspace()});
  problem.plan.conv(conv, label, operands);

  std::vector<double> expected(static_cast<size_t>(count));
  forEachProduct(conv, [&](size_t yAt, size_t xAt, size_t wAt) {
    expected[yAt] += problem.values[0][xAt] * problem.values[1][wAt];
  });
  size_t pixels = conv.channelsLast ? 1 : size_t(conv.p * conv.q);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (conv.hasBias)
      expected[i] += problem.values[2][i / pixels % size_t(conv.k)];
    if (conv.hasResidual)
      expected[i] += problem.values[3][i];
    expected[i] = activate(expected[i], conv.activation);
  }
  problem.check(expected, tolerance, label, "cuDNN");
}

namespace {
struct ConvPrecision {
  Compute compute;
  DType type;
  bool channelsLast;
  double tolerance;
};
} // namespace

static const ConvPrecision precisions[] = {
    {Compute::f32, DType::f32, false, 5e-6},
    {Compute::f32, DType::f32, true, 5e-6},
    {Compute::tf32, DType::f32, false, 2e-3},
    {Compute::tf32, DType::f32, true, 2e-3},
    {Compute::f16, DType::f16, true, 1e-3},
    {Compute::f16, DType::f16, false, 1e-3},
    {Compute::f16, DType::bf16, true, 6e-3},
};

/// Compares a gradient with sums over all windows.
static void testConvGradient(Conv conv, double tolerance,
                             const std::string &what) {
  Problem problem;
  setResult(conv);
  bool ofWeight = conv.pass == ConvPass::gradWeight;
  int64_t inner = conv.c / conv.groups;
  int64_t countX = conv.n * conv.c * conv.h * conv.w;
  int64_t countW = conv.k * inner * conv.r * conv.s;
  int64_t countY = conv.n * conv.k * conv.p * conv.q;
  Buffer a = problem.operand(conv.type, ofWeight ? countX : countY);
  Buffer b = problem.operand(conv.type, ofWeight ? countY : countW);
  Buffer d = problem.result(conv.type, ofWeight ? countW : countX);
  std::string label = what + (ofWeight ? " dw " : " dx ") + nameOfKind(conv);
  problem.plan.conv(conv, label, {a, b, d, Problem::workspace()});

  std::vector<double> expected(size_t(ofWeight ? countW : countX));
  forEachProduct(conv, [&](size_t yAt, size_t xAt, size_t wAt) {
    if (ofWeight)
      expected[wAt] += problem.values[1][yAt] * problem.values[0][xAt];
    else
      expected[xAt] += problem.values[0][yAt] * problem.values[1][wAt];
  });
  problem.check(expected, tolerance, label, "cuDNN");
}

void frit::test::testConvGradients() {
  const struct {
    const char *what;
    int64_t c, k, window, stride, pad, dilation, groups;
  } shapes[] = {
      {"1x1", 32, 64, 1, 1, 0, 1, 1},
      {"1x1 stride 2", 32, 64, 1, 2, 0, 1, 1},
      {"3x3", 32, 64, 3, 1, 1, 1, 1},
      {"3x3 stride 2", 32, 64, 3, 2, 1, 1, 1},
      {"3x3 unpadded", 16, 8, 3, 1, 0, 1, 1},
      {"5x5", 16, 24, 5, 1, 2, 1, 1},
      {"7x7 stem", 3, 64, 7, 2, 3, 1, 1},
      {"patches", 3, 32, 4, 4, 0, 1, 1},
      {"dilation 2", 32, 64, 3, 1, 2, 2, 1},
      {"4 groups", 32, 64, 3, 1, 1, 1, 4},
      {"depthwise", 32, 32, 3, 1, 1, 1, 32},
      {"odd channels", 5, 7, 3, 1, 1, 1, 1},
  };
  for (const ConvPrecision &precision : precisions)
    for (const auto &shape : shapes)
      for (ConvPass pass : {ConvPass::gradInput, ConvPass::gradWeight}) {
        Conv conv;
        conv.n = 3;
        conv.h = 15;
        conv.w = 12;
        conv.c = shape.c;
        conv.k = shape.k;
        conv.r = conv.s = shape.window;
        conv.strideH = conv.strideW = shape.stride;
        conv.dilationH = conv.dilationW = shape.dilation;
        conv.padTop = conv.padLeft = conv.padBottom = conv.padRight = shape.pad;
        conv.groups = shape.groups;
        conv.type = precision.type;
        conv.compute = precision.compute;
        conv.channelsLast = precision.channelsLast;
        conv.pass = pass;
        testConvGradient(conv, precision.tolerance, shape.what);
      }
}

void frit::test::testConvs() {
  for (const ConvPrecision &precision : precisions) {
    Conv conv;
    conv.n = 2;
    conv.c = 32;
    conv.h = 14;
    conv.w = 12;
    conv.k = 64;
    conv.r = conv.s = 3;
    conv.padTop = conv.padLeft = conv.padBottom = conv.padRight = 1;
    conv.type = precision.type;
    conv.compute = precision.compute;
    conv.channelsLast = precision.channelsLast;
    double tolerance = precision.tolerance;
    testConv(conv, tolerance, "plain");
    conv.hasBias = 1;
    testConv(conv, tolerance, "3x3");
    conv.activation = Activation::relu;
    testConv(conv, tolerance, "3x3");
    conv.hasResidual = 1;
    testConv(conv, tolerance, "3x3");
    conv.hasBias = 0;
    testConv(conv, tolerance, "3x3");
    conv.hasResidual = 0;
    conv.hasBias = 1;
    conv.strideH = conv.strideW = 2;
    conv.padBottom = conv.padRight = 0; // one side only, but the same windows
    conv.padTop = conv.padLeft = 1;
    testConv(conv, tolerance, "stride 2");
    conv.r = conv.s = 1;
    conv.padTop = conv.padLeft = 0;
    testConv(conv, tolerance, "1x1 stride 2");
    conv.strideH = conv.strideW = 1;
    conv.r = conv.s = 3;
    conv.dilationH = conv.dilationW = 2;
    conv.padTop = conv.padLeft = conv.padBottom = conv.padRight = 2;
    testConv(conv, tolerance, "dilation 2");
    conv.dilationH = conv.dilationW = 1;
    conv.groups = 4;
    testConv(conv, tolerance, "4 groups");
    conv.groups = 1;
    conv.c = 3;
    conv.r = conv.s = 7;
    conv.padTop = conv.padLeft = conv.padBottom = conv.padRight = 3;
    conv.strideH = conv.strideW = 2;
    testConv(conv, tolerance, "stem");
  }
}
