//===- Sampler.h - Samplers of diffusion models ---------------------------===//
//
// A sampler turns noise into a sample by a fixed number of steps, each of which
// calls the model. What it says gives the sample without noise, `clean`:
//
//   x' = keep · x + add · model(x, time) + clean · (limited clean sample)
//        + before · (that of the step before)
//
// - DDIM without noise between steps (Song et al., arXiv:2010.02502, eq. 12).
//   The model predicts the noise, the sample, or the velocity (Salimans and Ho,
//   arXiv:2202.00512).
// - Euler's method for the same models (Karras et al., arXiv:2206.00364,
//   algorithm 1 of first order).
// - DPM-Solver++(2M) (Lu et al., arXiv:2211.01095, algorithm 2).
// - Flow matching by Euler's method (Lipman et al., arXiv:2210.02747). The
//   model predicts the velocity from data to noise, as Stable Diffusion 3 does.
//
// Numbers are those of diffusers' DDIMScheduler, EulerDiscreteScheduler,
// DPMSolverMultistepScheduler and FlowMatchEulerDiscreteScheduler.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_SAMPLING_SAMPLER_H
#define FRIT_COMPILER_TRANSFORM_SAMPLING_SAMPLER_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace frit {

struct SamplerOptions {
  enum class Method { ddim, flow, euler, dpm };
  /// What the model predicts (not of flow matching).
  enum class Prediction { noise, velocity, sample };
  /// Which times of the training are called, of as many as there are steps:
  /// multiples of a whole number, numbers evenly between the first and the
  /// last, or those before multiples of a fraction.
  enum class Spacing { leading, even, trailing };

  Method method = Method::ddim;
  int64_t steps = 0;
  /// Weight of what the model says with the condition over what it says without
  /// (classifier-free guidance, arXiv:2207.12598); 0 if it is called once.
  double guidance = 0;
  /// Steps of the training, and times are numbers below.
  int64_t trainSteps = 1000;

  // Not of flow matching; the defaults are those of Stable Diffusion 1 and 2.
  Spacing spacing = Spacing::leading;
  Prediction predicts = Prediction::noise;
  double betaStart = 0.00085, betaEnd = 0.012;
  bool scalesBetas = true; ///< linear in their square roots
  int64_t offset = 1;      ///< of all times
  bool endsAtOne = false;  ///< whether nothing is left of the noise in the end
  double clip = 0;         ///< of DDIM: limit of clean samples; 0: none
  bool solvesByHeun = false; ///< of DPM-Solver++; otherwise by the midpoint

  // Of flow matching.
  double shift = 1; ///< more time at much noise

  /// Names of the inputs that get the sample and the time; empty to find them.
  std::string sample, time;
};

/// Reads "ddim:steps=20,guidance=7.5". Errors say what is wrong.
llvm::Expected<SamplerOptions> readSampler(llvm::StringRef text);

struct SamplerStep {
  double time, keep, add;
  double scale = 1; ///< multiplies the sample first
  /// The clean sample is fromSample · x + fromSaid · model(x, time).
  double fromSample = 0, fromSaid = 0;
  double clean = 0, before = 0;
};

/// Returns the time of the first step, which is the largest.
double firstTime(const SamplerOptions &options);

/// Returns the steps of a sampler, in the order in which they run.
llvm::SmallVector<SamplerStep> stepsOf(const SamplerOptions &options);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_SAMPLING_SAMPLER_H
