//===- Schedule.h - The learning rate of each step ------------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_SCHEDULE_H
#define FRIT_TOOLS_FRIT_TRAIN_SCHEDULE_H

#include "tools/support/Fault.h"

#include <cstdint>
#include <string>

namespace frit::train {

using namespace tools;

/// The learning rate as a pure function of the step:
///
///   cosine:3e-4,warmup=100,min=1e-5
///
/// For the first `warmup` steps the rate rises linearly to the base rate,
/// reached in step `warmup - 1`. Let t be the fraction done of the remaining
/// steps; then the rate is
///
///   constant  base
///   linear    base + (min - base) t
///   cosine    min + (base - min) (1 + cos πt) / 2
///   polynomial  min + (base - min) (1 - t)^power, as PyTorch's PolynomialLR
///   step      base · gamma^floor(steps after the warm-up / every), ≥ min
///
/// `warmup` and `every` count steps, epochs if written as "5ep", or a part of
/// all steps as "30%".
///
///   onecycle:3e-3,warmup=30%,div=25,final_div=1e4
///
/// is PyTorch's OneCycleLR, without its cycle of the momentum: the rate rises
/// in half a cosine from base / div, of step 0, to the base, of step
/// `warmup` - 1, and falls in half a cosine to base / div / final_div, of the
/// last step.
class Schedule {
public:
  /// Parses a schedule; "3e-4" alone is constant.
  static Fault parse(const std::string &text, Schedule &schedule);

  /// Returns the rate of step `step`, counted from 0, of a run of `total` steps
  /// with `epochSteps` steps per epoch. Steps past the end have the last rate.
  double at(uint64_t step, uint64_t total, uint64_t epochSteps) const;

  /// Returns the steps of the warm-up.
  double warmupSteps(uint64_t total, uint64_t epochSteps) const {
    return warmup.steps(total, epochSteps);
  }

private:
  enum class Kind { constant, step, linear, cosine, polynomial, onecycle };
  enum class Unit { steps, epochs, percent };

  /// A part of a run.
  struct Span {
    double count = 0;
    Unit unit = Unit::steps;
    double steps(uint64_t total, uint64_t epochSteps) const;
  };

  /// Parses an option of this kind of schedule.
  Fault takeOption(const std::string &name, const std::string &value);
  /// Returns the number that an option of this kind of schedule sets; null if
  /// it has no such option.
  double *numberOf(const std::string &name);
  static bool parseSpan(const std::string &text, Span &span);
  double oneCycle(double step, double total, double rising) const;

  Kind kind = Kind::constant;
  double base = 0, least = 0, gamma = 0.1, power = 1;
  double div = 25, finalDiv = 1e4;
  Span warmup, every;
};

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_SCHEDULE_H
