//===- Sampling.cpp - Choice of the next token ----------------------------===//

#include "runtime/generate/Session.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

using namespace frit;

static constexpr float kNever = -std::numeric_limits<float>::infinity();

/// Returns a number in [0, 1) that depends on the seed and the place in the
/// sequence only: SplitMix64 (Steele et al., "Fast splittable pseudorandom
/// number generators", 2014).
static double randomAt(uint64_t seed, uint64_t place) {
  uint64_t z = seed + (place + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return double((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static void penalize(float *logits, uint32_t vocabulary, float penalty,
                     const int32_t *tokens, uint32_t count) {
  std::vector<bool> seen(vocabulary);
  for (uint32_t i = 0; i < count; ++i) {
    auto token = uint32_t(tokens[i]);
    if (token >= vocabulary || seen[token])
      continue;
    seen[token] = true;
    float &logit = logits[token];
    logit = logit > 0 ? logit / penalty : logit * penalty;
  }
}

/// Returns the tokens that the filters keep, the most likely first, and their
/// weights relative to it, whose logit is `best`.
static std::vector<uint32_t> keepLikely(const frit_sampling &sampling,
                                        const float *logits,
                                        uint32_t vocabulary, float best,
                                        std::vector<double> &weights) {
  std::vector<uint32_t> order(vocabulary);
  std::iota(order.begin(), order.end(), 0);
  auto isBefore = [&](uint32_t a, uint32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  bool isNucleus = sampling.top_p > 0 && sampling.top_p < 1;
  bool keepsFew = sampling.top_k && sampling.top_k < vocabulary;
  if (keepsFew) {
    std::nth_element(order.begin(), order.begin() + sampling.top_k, order.end(),
                     isBefore);
    order.resize(sampling.top_k);
  }
  if (keepsFew || isNucleus || sampling.min_p > 0)
    std::sort(order.begin(), order.end(), isBefore);
  double total = 0;
  for (uint32_t token : order) {
    weights.push_back(std::exp((double(logits[token]) - best) /
                               double(sampling.temperature)));
    total += weights.back();
  }
  size_t kept = order.size();
  if (isNucleus) {
    double sum = 0;
    for (kept = 0; kept < order.size() && sum < total * sampling.top_p; ++kept)
      sum += weights[kept];
  }
  while (kept > 1 && sampling.min_p > 0 && weights[kept - 1] < sampling.min_p)
    --kept;
  kept = std::max<size_t>(kept, 1);
  order.resize(kept);
  weights.resize(kept);
  return order;
}

float frit::logProbability(const float *logits, uint32_t vocabulary,
                           int32_t token) {
  float best = kNever;
  for (uint32_t i = 0; i < vocabulary; ++i)
    best = std::max(best, logits[i]);
  double sum = 0;
  for (uint32_t i = 0; i < vocabulary; ++i)
    if (!std::isnan(logits[i]))
      sum += std::exp(double(logits[i]) - best);
  return float(double(logits[token]) - best - std::log(sum));
}

Status frit::checkSampling(const frit_sampling &chosen) {
  // By an infinite one, forbidden tokens would have the weight NaN.
  if (chosen.temperature >= 0 && chosen.top_p >= 0 && chosen.top_p <= 1 &&
      chosen.min_p >= 0 && chosen.min_p <= 1 &&
      chosen.repetition_penalty >= 0 &&
      chosen.temperature + chosen.repetition_penalty < -kNever)
    return Status();
  return invalidArgument("a temperature and a repetition penalty are finite "
                         "and at least 0, top_p and min_p from 0 to 1");
}

Status frit::checkLogits(const float *logits, uint32_t vocabulary) {
  for (uint32_t i = 0; i < vocabulary; ++i)
    if (logits[i] > kNever)
      return Status();
  return Status(FRIT_INVALID_ARGUMENT,
                "no token may follow: all logits are NaN or minus infinity");
}

frit_status frit_sample(const frit_sampling *sampling, float *logits,
                        uint32_t vocabulary, const int32_t *tokens,
                        uint32_t count, int32_t *token) {
  if (!logits || !token || (!tokens && count))
    return nullArgument("frit_sample");
  frit_sampling chosen = sampling ? *sampling : frit_sampling();
  if (Status status = checkSampling(chosen); status.failed())
    return report(std::move(status));
  if (chosen.bias)
    for (uint32_t i = 0; i < vocabulary; ++i)
      logits[i] += chosen.bias[i];
  if (chosen.repetition_penalty > 0 && chosen.repetition_penalty != 1)
    penalize(logits, vocabulary, chosen.repetition_penalty, tokens, count);
  if (Status status = checkLogits(logits, vocabulary); status.failed())
    return report(std::move(status));
  uint32_t best = 0;
  for (uint32_t i = 0; i < vocabulary; ++i) {
    if (std::isnan(logits[i]))
      logits[i] = kNever;
    if (logits[i] > logits[best])
      best = i;
  }
  *token = int32_t(best);
  if (chosen.temperature == 0 || logits[best] == -kNever)
    return FRIT_OK;
  std::vector<double> weights;
  std::vector<uint32_t> order =
      keepLikely(chosen, logits, vocabulary, logits[best], weights);
  double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double left = randomAt(chosen.seed, count) * total;
  size_t at = 0;
  while (at + 1 < order.size() && left >= weights[at])
    left -= weights[at++];
  *token = int32_t(order[at]);
  return FRIT_OK;
}
