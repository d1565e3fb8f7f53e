//===- step_library.cpp - A training step, written by hand ----------------===//
//
// Softmax regression from x: 8x4 to 3 classes by SGD with momentum, in the form
// that fritc --train writes: train_step, eval_step and the state that they
// share. Elements of x are dropped by seed and step, so that a run that does
// not go on at the same step differs. FRIT_TEST_STEP_MS is how long a step
// takes.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/PlanWriter.h"

#include <cmath>
#include <cstdlib>
#include <unistd.h>

using namespace frit::test;

static constexpr int kBatch = 8, kFeatures = 4, kClasses = 3;

namespace {
/// Pointers to the arguments of a step.
struct Arguments {
  explicit Arguments(void *const *from) : from(from) {}
  template <typename T> T *next() { return static_cast<T *>(*from++); }
  void *const *from;
};
} // namespace

static void computeLogits(const float *x, const float *weight,
                          const float *bias, float *logits) {
  for (int k = 0; k < kClasses; ++k) {
    logits[k] = bias[k];
    for (int i = 0; i < kFeatures; ++i)
      logits[k] += x[i] * weight[i * kClasses + k];
  }
}

/// Turns logits into probabilities and returns the loss; 0 for a label that
/// stands for none.
static float crossEntropy(float *logits, int64_t label) {
  float most = logits[0], sum = 0;
  for (int k = 1; k < kClasses; ++k)
    most = std::fmax(most, logits[k]);
  for (int k = 0; k < kClasses; ++k)
    sum += logits[k] = std::exp(logits[k] - most);
  for (int k = 0; k < kClasses; ++k)
    logits[k] /= sum;
  return label < 0 ? 0 : -std::log(logits[label]);
}

static bool isDropped(int64_t seed, int64_t step, int index) {
  uint64_t value = uint64_t(seed) * 7919 + uint64_t(step) * 104729 +
                   uint64_t(index) * 1299709;
  value = (value ^ (value >> 15)) * 0x9e3779b97f4a7c15ull;
  return (value >> 60) == 0;
}

static void train(void *const *from, void *, int64_t, int64_t) {
  if (const char *time = getenv("FRIT_TEST_STEP_MS"))
    usleep(useconds_t(1000 * atoi(time)));
  Arguments arguments(from);
  auto *x = arguments.next<float>();
  auto *labels = arguments.next<int64_t>();
  auto *weight = arguments.next<float>();
  auto *bias = arguments.next<float>();
  auto *weightMomentum = arguments.next<float>();
  auto *biasMomentum = arguments.next<float>();
  auto *rate = arguments.next<float>();
  auto *step = arguments.next<int64_t>();
  auto *seed = arguments.next<int64_t>();
  auto *loss = arguments.next<float>();
  auto *gradNorm = arguments.next<float>();
  float weightGrad[kFeatures * kClasses] = {}, biasGrad[kClasses] = {};
  *loss = 0;
  for (int row = 0; row < kBatch; ++row) {
    float kept[kFeatures], logits[kClasses];
    for (int i = 0; i < kFeatures; ++i)
      kept[i] = isDropped(*seed, *step, row * kFeatures + i)
                    ? 0
                    : x[row * kFeatures + i];
    computeLogits(kept, weight, bias, logits);
    *loss += crossEntropy(logits, labels[row]) / kBatch;
    for (int k = 0; k < kClasses; ++k) {
      float grad = (logits[k] - float(k == labels[row])) / kBatch;
      biasGrad[k] += grad;
      for (int i = 0; i < kFeatures; ++i)
        weightGrad[i * kClasses + k] += kept[i] * grad;
    }
  }
  float squares = 0;
  auto update = [&](float *value, float *momentum, const float *grad, int n) {
    for (int i = 0; i < n; ++i) {
      squares += grad[i] * grad[i];
      momentum[i] = 0.9f * momentum[i] + grad[i];
      value[i] -= *rate * momentum[i];
    }
  };
  update(weight, weightMomentum, weightGrad, kFeatures * kClasses);
  update(bias, biasMomentum, biasGrad, kClasses);
  *gradNorm = std::sqrt(squares);
  ++*step;
}

static void evaluate(void *const *from, void *, int64_t, int64_t) {
  Arguments arguments(from);
  auto *x = arguments.next<float>();
  auto *labels = arguments.next<int64_t>();
  auto *weight = arguments.next<float>();
  auto *bias = arguments.next<float>();
  auto *loss = arguments.next<float>();
  auto *logits = arguments.next<float>();
  *loss = 0;
  for (int row = 0; row < kBatch; ++row) {
    float scores[kClasses];
    computeLogits(x + row * kFeatures, weight, bias, scores);
    for (int k = 0; k < kClasses; ++k)
      logits[row * kClasses + k] = scores[k];
    *loss += crossEntropy(scores, labels[row]) / kBatch;
  }
}

static Model makeStep() {
  PlanWriter plan;
  uint32_t rateConstant = plan.constant("learning_rate", DType::f32, {},
                                        std::vector<float>{0.125}, true)
                              .index;
  Buffer weight = plan.state("fc.weight", DType::f32, {kFeatures, kClasses});
  Buffer bias = plan.state("fc.bias", DType::f32, {kClasses});
  Buffer weightMomentum =
      plan.state("fc.weight/momentum", DType::f32, {kFeatures, kClasses});
  Buffer biasMomentum = plan.state("fc.bias/momentum", DType::f32, {kClasses});
  Buffer rate = plan.state("learning_rate", DType::f32, {}, rateConstant);
  plan.states.back().role = FRIT_STATE_LEARNING_RATE;
  Buffer step = plan.state("step", DType::i64, {});
  Buffer seed = plan.state("seed", DType::i64, {});
  plan.states.back().role = FRIT_STATE_RANDOM_SEED;
  auto written = PlanWriter::written;

  Buffer x = plan.input("x", DType::f32, {kBatch, kFeatures});
  Buffer labels = plan.input("labels", DType::i64, {kBatch});
  Buffer loss = plan.output("loss", DType::f32, {});
  Buffer gradNorm = plan.output("grad_norm", DType::f32, {});
  Step &training = plan.step(StepKind::launch, "train",
                             {x, labels, written(weight), written(bias),
                              written(weightMomentum), written(biasMomentum),
                              rate, written(step), seed, loss, gradNorm});
  training.kernel = plan.kernel("train", 0);
  training.grid[0] = 1;
  plan.target("x86-64");
  plan.function("train_step", FRIT_FUNCTION_TRAIN_STEP);

  x = plan.input("x", DType::f32, {kBatch, kFeatures});
  labels = plan.input("labels", DType::i64, {kBatch});
  loss = plan.output("loss", DType::f32, {});
  Buffer logits = plan.output("logits", DType::f32, {kBatch, kClasses});
  Step &evaluation = plan.step(StepKind::launch, "evaluate",
                               {x, labels, weight, bias, loss, logits});
  evaluation.kernel = plan.kernel("evaluate", 1);
  evaluation.grid[0] = 1;
  plan.target("x86-64");
  plan.function("eval_step", FRIT_FUNCTION_EVAL_STEP);

  Model model = plan.finish("softmax regression");
  model.kernels = {train, evaluate};
  return model;
}

static Model model = makeStep();

extern "C" {
/// fritc writes a constant here; the test fills it in at load time.
__attribute__((visibility("default"))) frit_image frit_model_image =
    *model.get();
}
