//===- TestModel.cpp - A small model with every kind of step --------------===//

#include "TestModel.h"

#include <algorithm>

using namespace frit::test;

static void doubled(void *const *arguments, void *, int64_t begin,
                    int64_t end) {
  auto *from = static_cast<const float *>(arguments[0]);
  auto *to = static_cast<float *>(arguments[1]);
  for (int64_t i = begin; i < end; ++i)
    to[i] = 2 * from[i];
}

/// A work item is one row.
static void addIds(void *const *arguments, void *, int64_t begin, int64_t end) {
  auto *rows = static_cast<const float *>(arguments[0]);
  auto *ids = static_cast<const int64_t *>(arguments[1]);
  auto *to = static_cast<float *>(arguments[2]);
  for (int64_t row = begin; row < end; ++row)
    for (int64_t i = 0; i < 3; ++i)
      to[row * 3 + i] = rows[row * 3 + i] + float(ids[row]);
}

static std::vector<float> weightValues() {
  std::vector<float> values;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 3; ++j)
      values.push_back(float(i - j));
  return values;
}

static std::vector<float> biasValues() { return {1, -2, 3}; }

Model frit::test::makeTestModel() {
  PlanWriter plan;
  Buffer x = plan.input("x", DType::f32, {4, 8});
  Buffer ids = plan.input("ids", DType::i64, {4});
  Buffer y = plan.output("y", DType::f32, {4, 3});
  Buffer z = plan.output("z", DType::f32, {4, 3});
  Buffer w = plan.constant("w", DType::f32, {8, 3}, weightValues(), true);
  Buffer b = plan.constant("b", DType::f32, {3}, biasValues(), false);

  Step &prepare = plan.step(StepKind::launch, "fc/bias",
                            {b, PlanWriter::prepared(0, 12, true)});
  prepare.kernel = plan.kernel("doubled", 0);
  prepare.grid[0] = 3;

  Gemm product;
  product.m = 4;
  product.n = 3;
  product.k = 8;
  product.lda = 8;
  product.ldb = product.ldd = 3;
  product.hasBias = 1;
  product.activation = Activation::relu;
  plan.gemm(product, "fc",
            {x, w, PlanWriter::prepared(0, 12, false),
             PlanWriter::arena(256, 48, true)});

  Step &add = plan.step(StepKind::launch, "add",
                        {PlanWriter::arena(256, 48, false), ids, y});
  plan.follow(add, {0});
  add.kernel = plan.kernel("add_ids", 1);
  TensorMap rows; // unused by host kernels, but checked
  rows.rank = 2;
  rows.dims[0] = 4;
  rows.dims[1] = 3;
  rows.strides[0] = 16;
  rows.box[0] = rows.box[1] = 4;
  rows.elementStrides[0] = rows.elementStrides[1] = 1;
  plan.tensorMap(rows);
  add.grid[0] = 4;

  Buffer read = y;
  read.written = 0;
  plan.step(StepKind::copy, "identity", {read, z});

  Target &target = plan.target("x86-64", 1);
  plan.program().arenaBytes = 512;
  plan.program().arenaLowerBound = 48;
  target.preparedBytes = 256;

  Model model = plan.finish("test model");
  model.kernels = {doubled, addIds};
  return model;
}

/// A work item is one element.
static void twice(void *const *arguments, void *, int64_t begin, int64_t end) {
  auto *from = static_cast<const float *>(arguments[0]);
  auto *to = static_cast<float *>(arguments[1]);
  for (int64_t i = begin; i < end; ++i)
    to[2 * i] = to[2 * i + 1] = from[i];
}

void frit::test::writeOpenSteps(PlanWriter &plan, bool cuda) {
  plan.symbols.push_back({plan.text("batch"), /*padded=*/1, 1, 1, 4});
  plan.extents = {{}, {0, kNone, 1, 0}, {0, kNone, 2, 0}};
  uint32_t first = plan.kernel("doubled", 0);
  uint32_t second = plan.kernel("twice", 1);
  for (int64_t batch : {2, 4}) {
    Buffer x = plan.input("x", DType::f32, {3, batch});
    Buffer y = plan.output("y", DType::f32, {3, batch});
    Buffer z = plan.output("z", DType::f32, {2 * batch});
    x.index = y.index = 0;
    z.index = 1;
    uint32_t inputs = uint32_t(plan.inputs.size());
    uint32_t outputs = uint32_t(plan.outputs.size());
    plan.inputs.back().extents = {0, 2};
    plan.outputs[outputs - 2].extents = {0, 2};
    plan.outputs[outputs - 1].extents = {2, 1};
    plan.variants.push_back(
        {plan.shape({batch}), {inputs - 1, 1}, {outputs - 2, 2}});
    auto launch = [&](uint32_t kernel, Buffer to, int64_t items) {
      Step &step = plan.step(StepKind::launch, "open", {x, to});
      step.kernel = kernel;
      (cuda ? step.block : step.grid)[0] = uint32_t(items);
    };
    launch(first, y, 3 * batch);
    launch(second, z, batch);
  }
}

void frit::test::writeOpenPrograms(PlanWriter &plan) {
  plan.targets.back().programs.count = 2;
  plan.programs = {{{0, 2}, 256, 64}, {{2, 2}, 512, 128}};
}

Model frit::test::makeOpenModel() {
  PlanWriter plan;
  writeOpenSteps(plan, /*cuda=*/false);
  plan.target("x86-64");
  writeOpenPrograms(plan);
  Model model = plan.finish("open model");
  model.kernels = {doubled, twice};
  return model;
}

OpenCall::OpenCall(int64_t batch)
    : batch(batch), shape{3, batch}, doubled(2 * batch) {
  for (int64_t i = 0; i < 3 * batch; ++i)
    x.push_back(float(i + 1));
  y.assign(size_t(3 * batch), -1);
  z.assign(size_t(2 * batch), -1);
}

std::vector<frit_tensor> OpenCall::inputs() {
  return {{"x", x.data(), FRIT_F32, 2, shape, FRIT_HOST}};
}

std::vector<frit_tensor> OpenCall::outputs() {
  return {{"y", y.data(), FRIT_F32, 2, shape, FRIT_HOST},
          {"z", z.data(), FRIT_F32, 1, &doubled, FRIT_HOST}};
}

bool OpenCall::isRight() const {
  for (size_t i = 0; i < y.size(); ++i)
    if (y[i] != 2 * x[i])
      return false;
  for (size_t i = 0; i < z.size(); ++i)
    if (z[i] != x[i / 2])
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static void mean(void *const *arguments, void *, int64_t, int64_t) {
  auto *x = static_cast<const float *>(arguments[0]);
  int64_t size = *static_cast<const int64_t *>(arguments[1]);
  float sum = 0;
  for (int64_t i = 0; i < size; ++i)
    sum += x[i];
  *static_cast<float *>(arguments[2]) = sum / float(size);
}

void frit::test::writeSizedPlan(PlanWriter &plan) {
  plan.symbols.push_back({plan.text("batch"), /*padded=*/1, 1, 1, 4});
  plan.extents = {{0, kNone, 1, 0}};
  plan.sizes = 1;
  uint32_t kernel = plan.kernel("mean", 0);
  for (int64_t batch : {2, 4}) {
    uint32_t first = uint32_t(plan.inputs.size());
    Buffer x = plan.input("x", DType::f32, {batch});
    plan.inputs.back().extents = {0, 1};
    Buffer size = plan.input("size.batch", DType::i64, {});
    Buffer y = plan.output("y", DType::f32, {});
    x.index = y.index = 0;
    size.index = 1;
    plan.variants.push_back({plan.shape({batch}),
                             {first, 2},
                             {uint32_t(plan.outputs.size()) - 1, 1}});
    Step &step = plan.step(StepKind::launch, "mean", {x, size, y});
    step.kernel = kernel;
    step.grid[0] = 1;
  }
  plan.target("x86-64");
  plan.targets.back().programs.count = 2;
  plan.programs = {{{0, 1}, 0, 0}, {{1, 1}, 0, 0}};
}

Model frit::test::makeSizedModel() {
  PlanWriter plan;
  writeSizedPlan(plan);
  Model model = plan.finish("sized model");
  model.kernels = {mean};
  return model;
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

static void pack(void *const *arguments, void *, int64_t, int64_t) {
  auto *x = static_cast<const float *>(arguments[0]);
  auto *y = static_cast<float *>(arguments[1]);
  auto *z = static_cast<float *>(arguments[2]);
  auto *w = static_cast<float *>(arguments[3]);
  int n = 0;
  for (int i = 0; i < 4; ++i)
    if (x[i] > 0) {
      y[n] = z[n] = x[i];
      z[4 + n] = x[4 + i];
      ++n;
    }
  for (int i = 0; i < 9; ++i)
    w[i] = float(i);
  *static_cast<int64_t *>(arguments[4]) = x[0] == 100   ? 5
                                          : x[0] == 200 ? -1
                                                        : n;
}

std::vector<std::vector<float>> frit::test::countedInputs() {
  return {{1, -1, 2, -1, 5, 6, 7, 8},
          {1, 1, 2, 3, 5, 6, 7, 8},
          {-1, 0, -2, -1, 5, 6, 7, 8},
          {-1, 0, 4, -1, 5, 6, 7, 8}};
}

void frit::test::writeCountedSteps(PlanWriter &plan, bool cuda) {
  plan.extents = {{kNone, 0, 1, 0}, {}, {kNone, 0, 1, 0}, {kNone, 0, 2, 1}};
  Buffer x = plan.input("x", DType::f32, {2, 4});
  Buffer y = plan.output("y", DType::f32, {4});
  plan.outputs.back().extents = {0, 1};
  Buffer z = plan.output("z", DType::f32, {2, 4});
  plan.outputs.back().extents = {1, 2};
  Buffer w = plan.output("w", DType::f32, {9});
  plan.outputs.back().extents = {3, 1};
  Buffer count = plan.output("count", DType::i64, {});
  plan.counts = 1;
  Step &step = plan.step(StepKind::launch, "pack", {x, y, z, w, count});
  step.kernel = plan.kernel("pack", 0);
  (cuda ? step.block : step.grid)[0] = 1;
}

Model frit::test::makeCountedModel() {
  PlanWriter plan;
  writeCountedSteps(plan, /*cuda=*/false);
  plan.target("x86-64");
  Model model = plan.finish("counted model");
  model.kernels = {pack};
  return model;
}

CountedCall::CountedCall(std::vector<float> x)
    : x(std::move(x)), y(4, -1), z(8, -1), w(9, -1) {}

std::vector<frit_tensor> CountedCall::inputs() {
  static const int64_t shape[] = {2, 4};
  return {{"x", x.data(), FRIT_F32, 2, shape, FRIT_HOST}};
}

std::vector<frit_tensor> CountedCall::outputs() {
  static const int64_t four[] = {4}, both[] = {2, 4}, nine[] = {9};
  return {{"y", y.data(), FRIT_F32, 1, four, FRIT_HOST},
          {"z", z.data(), FRIT_F32, 2, both, FRIT_HOST},
          {"w", w.data(), FRIT_F32, 1, nine, FRIT_HOST}};
}

bool CountedCall::isRight(frit_context *context) const {
  std::vector<float> first, second;
  for (size_t i = 0; i < 4; ++i)
    if (x[i] > 0) {
      first.push_back(x[i]);
      second.push_back(x[4 + i]);
    }
  auto n = int64_t(first.size());
  int64_t dims[3][2] = {};
  for (uint32_t i = 0; i < 3; ++i)
    if (frit_context_output_dims(context, i, dims[i]))
      return false;
  if (dims[0][0] != n || dims[1][0] != 2 || dims[1][1] != n ||
      dims[2][0] != 2 * n + 1)
    return false;
  for (int64_t i = 0; i <= 2 * n; ++i)
    if (w[i] != float(i))
      return false;
  auto at = [](const std::vector<float> &values, int64_t from) {
    return values.begin() + from;
  };
  return std::equal(first.begin(), first.end(), y.begin()) &&
         std::equal(first.begin(), first.end(), z.begin()) &&
         std::equal(second.begin(), second.end(), at(z, n));
}

//===----------------------------------------------------------------------===//
// Guards
//===----------------------------------------------------------------------===//

static void increment(void *const *arguments, void *, int64_t, int64_t) {
  *static_cast<float *>(arguments[0]) += 1;
}

void frit::test::writeGuardedSteps(PlanWriter &plan) {
  Buffer p = plan.input("p", DType::boolean, {1});
  Buffer q = plan.input("q", DType::boolean, {});
  Buffer x = plan.input("x", DType::f32, {1});
  Buffer y = plan.output("y", DType::f32, {1});
  uint32_t kernel = plan.kernel("increment", 0);
  auto launch = [&](const char *node) {
    plan.step(StepKind::launch, node, {y}).kernel = kernel;
  };
  plan.step(StepKind::copy, "x", {x, y});
  plan.step(StepKind::copy, "q", {q, PlanWriter::arena(0, 1, true)});
  plan.guard(p, true, 4, "if p");
  launch("p");
  plan.guard(PlanWriter::arena(0, 1, false), false, 1, "unless q");
  launch("p, not q");
  launch("p again");
  plan.guard(p, false, 1, "unless p");
  launch("not p");
  launch("always");
}

Model frit::test::makeGuardedModel() {
  PlanWriter plan;
  writeGuardedSteps(plan);
  plan.target("x86-64");
  plan.program().arenaBytes = 256;
  Model model = plan.finish("guarded model");
  model.kernels = {increment};
  return model;
}

std::vector<frit_tensor> GuardedCall::inputs() {
  static const int64_t one[] = {1};
  return {{"p", &p, FRIT_BOOL, 1, one, FRIT_HOST},
          {"q", &q, FRIT_BOOL, 0, one, FRIT_HOST},
          {"x", &x, FRIT_F32, 1, one, FRIT_HOST}};
}

std::vector<frit_tensor> GuardedCall::outputs() {
  static const int64_t one[] = {1};
  return {{"y", &y, FRIT_F32, 1, one, FRIT_HOST}};
}

std::vector<float> frit::test::expectedResult(const float *x,
                                              const int64_t *ids) {
  std::vector<float> weights = weightValues(), result;
  for (int row = 0; row < 4; ++row)
    for (int column = 0; column < 3; ++column) {
      float sum = 2 * biasValues()[column];
      for (int k = 0; k < 8; ++k)
        sum += x[row * 8 + k] * weights[k * 3 + column];
      result.push_back(std::max(sum, 0.0f) + float(ids[row]));
    }
  return result;
}
