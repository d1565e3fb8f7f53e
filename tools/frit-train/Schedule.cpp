//===- Schedule.cpp - The learning rate of each step ----------------------===//

#include "tools/frit-train/Schedule.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <numbers>

using namespace frit::train;

static Fault wrongSchedule(std::string message) {
  return Fault(std::move(message), kBadUsage);
}

static bool parseRate(const std::string &text, double &rate) {
  char *end;
  rate = strtod(text.c_str(), &end);
  return !text.empty() && !*end && rate >= 0 && std::isfinite(rate);
}

double Schedule::Span::steps(uint64_t total, uint64_t epochSteps) const {
  return count * (unit == Unit::epochs    ? double(epochSteps)
                  : unit == Unit::percent ? double(total) / 100
                                          : 1);
}

bool Schedule::parseSpan(const std::string &text, Span &span) {
  char *end;
  uint64_t count = strtoull(text.c_str(), &end, 10);
  std::string_view unit = end;
  span.unit = unit == "ep"  ? Unit::epochs
              : unit == "%" ? Unit::percent
                            : Unit::steps;
  span.count = double(count);
  return !text.empty() && isdigit(static_cast<unsigned char>(text[0])) &&
         (unit.empty() || span.unit != Unit::steps) &&
         count < uint64_t(1) << 40 &&
         (span.unit != Unit::percent || count <= 100);
}

double *Schedule::numberOf(const std::string &name) {
  bool isCycle = kind == Kind::onecycle;
  if (name == "min")
    return kind == Kind::constant || isCycle ? nullptr : &least;
  if (name == "gamma")
    return kind == Kind::step ? &gamma : nullptr;
  if (name == "power")
    return kind == Kind::polynomial ? &power : nullptr;
  if (name == "div")
    return isCycle ? &div : nullptr;
  return isCycle && name == "final_div" ? &finalDiv : nullptr;
}

Fault Schedule::takeOption(const std::string &name, const std::string &value) {
  bool isSpan = name == "warmup" || (name == "every" && kind == Kind::step);
  double *number = numberOf(name);
  if (!isSpan && !number)
    return wrongSchedule(
        "'" + name +
        "' is no option of this schedule: all have warmup=100, 5ep or 10%, all "
        "but constant and onecycle min=1e-5; step has every=30ep and "
        "gamma=0.1, polynomial power=1, and onecycle div=25 and final_div=1e4");
  std::string start = "'" + name + "=" + value + "' is not a number ";
  if (number) {
    bool divides = number == &div || number == &finalDiv;
    return parseRate(value, *number) && (!divides || *number > 0)
               ? Fault()
               : wrongSchedule(start +
                               (divides ? "above 0" : "that is 0 or more"));
  }
  bool good = name == "warmup" ? parseSpan(value, warmup)
                               : parseSpan(value, every) && every.count > 0;
  return good ? Fault()
              : wrongSchedule(start +
                              "of steps, as 100, of epochs, as 5ep, or a part "
                              "of all steps, as 10%");
}

Fault Schedule::parse(const std::string &text, Schedule &schedule) {
  static const char *const names[] = {"constant", "step",       "linear",
                                      "cosine",   "polynomial", "onecycle"};
  Schedule parsed;
  const Fault malformed = wrongSchedule(
      "write constant, step, linear, cosine, polynomial or onecycle and the "
      "rate, as in cosine:3e-4,warmup=100,min=1e-5");
  std::string rest = text;
  if (size_t colon = text.find(':'); colon != text.npos) {
    const auto *name =
        std::find(std::begin(names), std::end(names), text.substr(0, colon));
    if (name == std::end(names))
      return malformed;
    parsed.kind = Kind(name - std::begin(names));
    rest = text.substr(colon + 1);
  }
  if (parsed.kind == Kind::onecycle)
    parsed.warmup = {30, Unit::percent};
  size_t comma = std::min(rest.find(','), rest.size());
  if (!parseRate(rest.substr(0, comma), parsed.base))
    return malformed;
  while (comma < rest.size()) {
    size_t start = comma + 1;
    comma = std::min(rest.find(',', start), rest.size());
    std::string option = rest.substr(start, comma - start);
    size_t equals = std::min(option.find('='), option.size());
    size_t value = std::min(equals + 1, option.size());
    if (Fault fault =
            parsed.takeOption(option.substr(0, equals), option.substr(value)))
      return fault;
  }
  if (parsed.kind == Kind::step && parsed.every.count == 0)
    return wrongSchedule(
        "a step schedule takes every=, as in step:0.1,every=30ep,gamma=0.1");
  if (parsed.kind != Kind::constant && parsed.least > parsed.base)
    return wrongSchedule("min is above the rate");
  schedule = parsed;
  return {};
}

/// Returns PyTorch's OneCycleLR at a step, of which `rising` are in the first
/// phase.
double Schedule::oneCycle(double step, double total, double rising) const {
  double start = base / div, end = start / finalDiv;
  auto between = [](double from, double to, double done) {
    return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * done));
  };
  double top = rising - 1; // the step with the highest rate
  if (step <= top)
    return between(start, base, top > 0 ? step / top : 1);
  double last = total - 1;
  return between(base, end, last > top ? (step - top) / (last - top) : 1);
}

double Schedule::at(uint64_t step, uint64_t total, uint64_t epochSteps) const {
  if (total)
    step = std::min(step, total - 1);
  double rising = warmup.steps(total, epochSteps);
  if (kind == Kind::onecycle)
    return oneCycle(double(step), double(total), rising);
  if (double(step) < rising)
    return base * double(step + 1) / rising;
  double after = double(step) - rising;
  double rest = double(total) - rising;
  double done = rest > 0 ? after / rest : 0;
  switch (kind) {
  case Kind::constant:
    return base;
  case Kind::linear:
    return base + (least - base) * done;
  case Kind::cosine:
    return least + (base - least) * (1 + std::cos(std::numbers::pi * done)) / 2;
  case Kind::polynomial:
    return least + (base - least) * std::pow(std::max(1 - done, 0.), power);
  case Kind::step:
    return std::max(
        least,
        base * std::pow(gamma,
                        std::floor(after / every.steps(total, epochSteps))));
  case Kind::onecycle:
    break;
  }
  return base;
}
