//===- CudaAttention.cpp - Attention by cuDNN against loops ---------------===//

#include "CudaProblems.h"
#include "LibraryProblem.h"

#include <algorithm>
#include <cfloat>

using namespace frit::test;

/// The dimensions along which a mask is broadcast.
enum class Repeats { nothing, queries, heads };

namespace {
struct Case {
  const char *what;
  DType type = DType::f16;
  int64_t batch = 2, heads = 3, groups = 3, queries = 53, keys = 53;
  int64_t size = 64, valueSize = 64;
  bool causal = false, hasMask = false;
  DType typeMask = DType::f16;
  Repeats repeats = Repeats::nothing;
};
} // namespace

/// Describes elements of [batch][row][head][size] from `offset` on, in rows of
/// `width`.
static StridedOperand rowsOf(uint32_t argument, int64_t offset, int64_t width,
                             int64_t rows, int64_t size) {
  return {argument, 0, offset, {rows * width, size, width, 1}};
}

static size_t at(const StridedOperand &operand, int64_t i, int64_t j, int64_t k,
                 int64_t l) {
  const int64_t *strides = operand.strides;
  return size_t(operand.offset + i * strides[0] + j * strides[1] +
                k * strides[2] + l * strides[3]);
}

static StridedOperand maskOf(const Case &c, uint32_t argument) {
  StridedOperand mask = {argument, 0, 0, {0, 0, c.keys, 1}};
  if (c.repeats == Repeats::queries) {
    mask.strides[0] = c.keys;
    mask.strides[2] = 0;
  } else if (c.repeats == Repeats::nothing) {
    mask.strides[1] = c.queries * c.keys;
    mask.strides[0] = c.heads * mask.strides[1];
  }
  return mask;
}

namespace {
/// Elements of a problem's operands.
struct Values {
  double operator()(const StridedOperand &operand, int64_t i, int64_t j,
                    int64_t k, int64_t l) const {
    return problem.values[operand.argument][at(operand, i, j, k, l)];
  }
  const Problem &problem;
};
} // namespace

/// Returns the group of keys that a head uses.
static int64_t groupOf(const Attention &a, int64_t head) {
  return head / (a.heads / a.groups);
}

/// Sets `weights` to the exponentials of a query's scores; returns their sum.
static double weighKeys(const Attention &a, const Problem &problem, int64_t b,
                        int64_t h, int64_t q, std::vector<double> &weights) {
  Values value{problem};
  int64_t group = groupOf(a, h);
  double total = 0;
  for (int64_t k = 0; k < a.keys; ++k) {
    double score = 0;
    for (int64_t d = 0; d < a.size; ++d)
      score += value(a.q, b, h, q, d) * value(a.k, b, group, k, d);
    score *= double(a.scale);
    if (a.hasMask)
      score += value(a.mask, b, h, q, k);
    bool isSeen = !a.causal || k <= q;
    total += weights[size_t(k)] = isSeen ? std::exp(score) : 0;
  }
  return total;
}

static std::vector<double> expected(const Attention &a, const Problem &problem,
                                    size_t count) {
  std::vector<double> result(count);
  Values value{problem};
  std::vector<double> weights(static_cast<size_t>(a.keys));
  for (int64_t b = 0; b < a.batch; ++b)
    for (int64_t h = 0; h < a.heads; ++h)
      for (int64_t q = 0; q < a.queries; ++q) {
        int64_t group = groupOf(a, h);
        double total = weighKeys(a, problem, b, h, q, weights);
        for (int64_t d = 0; d < a.valueSize; ++d) {
          double sum = 0;
          for (int64_t k = 0; k < a.keys; ++k)
            sum += weights[size_t(k)] * value(a.v, b, group, k, d);
          result[at(a.y, b, h, q, d)] = sum / total;
        }
      }
  return result;
}

static void testAttention(const Case &c) {
  Attention a;
  a.batch = c.batch;
  a.heads = c.heads;
  a.groups = c.groups;
  a.queries = c.queries;
  a.keys = c.keys;
  a.size = c.size;
  a.valueSize = c.valueSize;
  a.type = c.type;
  a.typeMask = c.typeMask;
  a.causal = c.causal;
  a.hasMask = c.hasMask;
  a.scale = 1 / std::sqrt(float(c.size));
  a.workspaceBytes = kWorkspace;

  // Q, K and V are one tensor if they have equal numbers of rows.
  Problem problem;
  std::vector<Buffer> inputs;
  int64_t widthQ = c.heads * c.size, widthK = c.groups * c.size;
  int64_t widthV = c.groups * c.valueSize;
  if (c.queries == c.keys) {
    int64_t width = widthQ + widthK + widthV;
    inputs.push_back(problem.operand(c.type, c.batch * c.queries * width));
    a.q = rowsOf(0, 0, width, c.queries, c.size);
    a.k = rowsOf(0, widthQ, width, c.keys, c.size);
    a.v = rowsOf(0, widthQ + widthK, width, c.keys, c.valueSize);
  } else {
    inputs = {problem.operand(c.type, c.batch * c.queries * widthQ),
              problem.operand(c.type, c.batch * c.keys * widthK),
              problem.operand(c.type, c.batch * c.keys * widthV)};
    a.q = rowsOf(0, 0, widthQ, c.queries, c.size);
    a.k = rowsOf(1, 0, widthK, c.keys, c.size);
    a.v = rowsOf(2, 0, widthV, c.keys, c.valueSize);
  }
  if (c.hasMask) {
    a.mask = maskOf(c, uint32_t(inputs.size()));
    size_t last =
        at(a.mask, c.batch - 1, c.heads - 1, c.queries - 1, c.keys - 1);
    inputs.push_back(problem.operand(c.typeMask, int64_t(last) + 1));
  }
  a.inputs = uint32_t(inputs.size());
  int64_t widthY = c.heads * c.valueSize;
  int64_t count = c.batch * c.queries * widthY;
  a.y = rowsOf(a.inputs, 0, widthY, c.queries, c.valueSize);
  inputs.push_back(problem.result(c.type, count));
  inputs.push_back(Problem::workspace());
  problem.plan.attention(a, c.what, {});
  Step &step = problem.plan.steps.back();
  step.arguments.count = uint32_t(inputs.size());
  std::vector<Buffer> &buffers = problem.plan.buffers;
  buffers.insert(buffers.end(), inputs.begin(), inputs.end());
  std::string label = std::string("attention ") + c.what +
                      (c.type == DType::bf16 ? " bf16" : "") +
                      (c.causal ? " causal" : "");
  problem.check(expected(a, problem, size_t(count)),
                c.type == DType::bf16 ? 8e-3 : 1e-3, label, "cuDNN");
}

/// Sets y and stats of `problem` to the results of q, k and v, and returns the
/// gradients at the positions of dq, dk and dv.
static std::vector<double> gradients(const Attention &a, Problem &problem) {
  Values value{problem};
  DType type = a.type;
  int64_t rows = a.queries * a.heads + 2 * a.keys * a.groups;
  std::vector<double> result(size_t(a.batch * rows * a.size));
  std::vector<double> y(size_t(a.batch * a.queries * a.heads * a.size));
  std::vector<double> stats;
  std::vector<double> weights(static_cast<size_t>(a.keys));
  auto weigh = [&](int64_t b, int64_t h, int64_t q) {
    double total = weighKeys(a, problem, b, h, q, weights);
    // A query that sees no key has the logarithm +inf and no weights.
    for (double &weight : weights)
      weight = total == 0 ? 0 : weight / total;
    stats.push_back(total == 0 ? HUGE_VAL : std::log(total));
  };
  for (int64_t b = 0; b < a.batch; ++b)
    for (int64_t h = 0; h < a.heads; ++h)
      for (int64_t q = 0; q < a.queries; ++q) {
        int64_t group = groupOf(a, h);
        weigh(b, h, q);
        double sum = 0;
        for (int64_t d = 0; d < a.size; ++d) {
          double element = 0;
          for (int64_t k = 0; k < a.keys; ++k)
            element += weights[size_t(k)] * value(a.v, b, group, k, d);
          y[at(a.y, b, h, q, d)] = element;
          sum += element * value(a.dy, b, h, q, d);
        }
        for (int64_t k = 0; k < a.keys; ++k) {
          double slope = 0, weight = weights[size_t(k)];
          for (int64_t d = 0; d < a.size; ++d)
            slope += value(a.dy, b, h, q, d) * value(a.v, b, group, k, d);
          slope = weight * (slope - sum) * double(a.scale);
          for (int64_t d = 0; d < a.size; ++d) {
            result[at(a.dq, b, h, q, d)] += slope * value(a.k, b, group, k, d);
            result[at(a.dk, b, group, k, d)] += slope * value(a.q, b, h, q, d);
            result[at(a.dv, b, group, k, d)] +=
                weight * value(a.dy, b, h, q, d);
          }
        }
      }
  problem.inputs[a.y.argument] = pack(y, type);
  problem.inputs[a.stats.argument] = pack(stats, DType::f32);
  return result;
}

namespace {
struct GradientCase {
  DType type = DType::f16;
  int64_t queries = 128, keys = 128, size = 64, groups = 4;
  bool causal = false;
  /// Dimensions of the mask: 1 or the problem's. None without a mask.
  int64_t maskBatch = 0, maskHeads = 1, maskQueries = 1;
  DType typeMask = DType::f16;
  /// Elements between rows of the mask.
  int64_t maskRow = 0;
  /// Mask of the last five keys, and of all keys of the first query.
  double hidden = -HUGE_VAL;
  bool hidesRow = false;
};
} // namespace

static void testGradient(const GradientCase &c) {
  Attention a;
  a.batch = 2;
  a.heads = 4;
  a.groups = c.groups;
  a.queries = c.queries;
  a.keys = c.keys;
  a.size = a.valueSize = c.size;
  a.type = c.type;
  a.causal = c.causal;
  a.gradient = 1;
  a.scale = 1 / std::sqrt(float(c.size));
  a.workspaceBytes = kWorkspace;
  int64_t width = (a.heads + 2 * c.groups) * c.size, widthY = a.heads * c.size;
  int64_t countQ = a.batch * c.queries * widthY;
  int64_t countK = a.batch * c.keys * c.groups * c.size;
  Problem problem;
  std::vector<Buffer> buffers = {
      problem.operand(c.type, countQ + 2 * countK),
      problem.operand(c.type, countQ), problem.operand(c.type, countQ),
      problem.operand(DType::f32, a.batch * a.heads * c.queries)};
  if (c.maskBatch) {
    int64_t row = c.maskRow ? c.maskRow : c.keys, head = c.maskQueries * row;
    a.hasMask = 1;
    a.typeMask = c.typeMask;
    a.mask = {4,
              0,
              0,
              {c.maskBatch > 1 ? c.maskHeads * head : 0,
               c.maskHeads > 1 ? head : 0, c.maskQueries > 1 ? row : 0, 1}};
    buffers.push_back(
        problem.operand(c.typeMask, c.maskBatch * c.maskHeads * head));
    std::vector<double> &mask = problem.values[4];
    for (size_t i = 0; i < mask.size(); ++i)
      if (int64_t(i) % row >= c.keys - 5 || (c.hidesRow && int64_t(i) < c.keys))
        mask[i] = c.hidden;
    problem.inputs[4] = pack(mask, c.typeMask);
    mask = unpack(problem.inputs[4], c.typeMask);
  }
  a.inputs = uint32_t(buffers.size());
  buffers.push_back(problem.result(c.type, countQ + 2 * countK));
  buffers.push_back(Problem::workspace());
  // Q, K and V are side by side in each row if there are as many queries as
  // keys, else one after another.
  auto place = [&](uint32_t argument, StridedOperand &q, StridedOperand &k,
                   StridedOperand &v) {
    if (c.queries == c.keys) {
      q = rowsOf(argument, 0, width, c.keys, c.size);
      k = rowsOf(argument, widthY, width, c.keys, c.size);
      v = rowsOf(argument, widthY + c.groups * c.size, width, c.keys, c.size);
    } else {
      q = rowsOf(argument, 0, widthY, c.queries, c.size);
      k = rowsOf(argument, countQ, c.groups * c.size, c.keys, c.size);
      v = rowsOf(argument, countQ + countK, c.groups * c.size, c.keys, c.size);
    }
  };
  place(0, a.q, a.k, a.v);
  place(a.inputs, a.dq, a.dk, a.dv);
  a.y = rowsOf(1, 0, widthY, c.queries, c.size);
  a.dy = rowsOf(2, 0, widthY, c.queries, c.size);
  a.stats = {3, 0, 0, {a.heads * c.queries, c.queries, 1, 1}};
  std::string label =
      "attention gradient " + std::to_string(c.queries) + " by " +
      std::to_string(c.keys) + " of " + std::to_string(c.size) +
      (c.groups < 4 ? ", groups" : "") +
      (c.type == DType::bf16 ? " bf16" : "") + (c.causal ? " causal" : "");
  if (c.maskBatch)
    label += ", mask " + std::to_string(c.maskBatch) + "x" +
             std::to_string(c.maskHeads) + "x" + std::to_string(c.maskQueries) +
             (c.maskRow ? " rows " + std::to_string(c.maskRow) : "") +
             (c.typeMask == DType::f32 ? " f32" : "") +
             (c.hidesRow ? " hidden row" : "") +
             (c.hidden == -HUGE_VAL ? "" : " finite");
  problem.plan.attention(a, label, {});
  problem.plan.steps.back().arguments.count = uint32_t(buffers.size());
  problem.plan.buffers.insert(problem.plan.buffers.end(), buffers.begin(),
                              buffers.end());
  std::vector<double> expected = gradients(a, problem);
  problem.check(expected, c.type == DType::bf16 ? 2e-2 : 3e-3, label, "cuDNN");
}

void frit::test::testAttentionGradients() {
  for (DType type : {DType::f16, DType::bf16})
    for (bool causal : {false, true}) {
      GradientCase c;
      c.type = type;
      c.causal = causal;
      auto test = [&](int64_t queries, int64_t keys, int64_t size,
                      int64_t groups) {
        c.queries = queries;
        c.keys = keys;
        c.size = size;
        c.groups = groups;
        testGradient(c);
      };
      test(128, 128, 64, 4);
      test(384, 384, 128, 2);
      test(197, 197, 64, 4);
      test(192, 192, 80, 2);
      test(61, 197, 64, 4);
      test(160, 160, 256, 2);
      // A mask per key, per score, and per score for all elements of the batch.
      c.typeMask = type;
      c.maskBatch = 2;
      test(197, 197, 64, 4);
      test(512, 512, 64, 4);
      c.maskQueries = 61;
      test(61, 256, 64, 2);
      c.maskQueries = 197;
      c.maskHeads = 4;
      c.maskBatch = 1;
      c.hidesRow = true;
      test(197, 197, 80, 4);
      c.typeMask = DType::f32;
      c.hidesRow = false;
      c.hidden = -FLT_MAX;
      test(197, 197, 64, 4);
    }
}

void frit::test::testAttentions() {
  for (DType type : {DType::f16, DType::bf16})
    for (bool causal : {false, true}) {
      Case c = {"53 of 64", type};
      c.causal = causal;
      testAttention(c);
      c.what = "131 of 128";
      c.queries = c.keys = 131;
      c.size = c.valueSize = 128;
      testAttention(c);
      c.what = "61 by 197 of 64, in groups";
      c.queries = 61;
      c.keys = 197;
      c.heads = 6;
      c.size = c.valueSize = 64;
      testAttention(c);
    }
  Case odd = {"17 of 40"};
  odd.queries = odd.keys = 17;
  odd.size = odd.valueSize = 40;
  testAttention(odd);
  Case wide = {"37 of 256"};
  wide.queries = wide.keys = 37;
  wide.size = wide.valueSize = 256;
  testAttention(wide);
  Case narrow = {"89 of 64 and 128"};
  narrow.queries = narrow.keys = 89;
  narrow.valueSize = 128;
  testAttention(narrow);
  Case one = {"1 by 199 of 64"};
  one.queries = 1;
  one.keys = 199;
  testAttention(one);
  Case masked = {"mask of queries, heads"};
  masked.queries = 61;
  masked.keys = 127;
  masked.hasMask = true;
  testAttention(masked);
  masked.causal = true;
  masked.typeMask = DType::f32;
  testAttention(masked);
  masked.what = "mask of keys";
  masked.causal = false;
  masked.repeats = Repeats::queries;
  testAttention(masked);
  masked.what = "mask of queries";
  masked.repeats = Repeats::heads;
  testAttention(masked);
}
