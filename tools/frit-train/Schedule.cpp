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

bool Schedule::parseSpan(const std::string &text, Span &span) {
  char *end;
  span.count = strtoull(text.c_str(), &end, 10);
  span.isEpochs = std::string_view(end) == "ep";
  return !text.empty() && isdigit(static_cast<unsigned char>(text[0])) &&
         (!*end || span.isEpochs) && span.count < uint64_t(1) << 40;
}

Fault Schedule::takeOption(const std::string &name, const std::string &value) {
  bool isSpan = name == "warmup" || (name == "every" && kind == Kind::step);
  bool isRate = (name == "min" && kind != Kind::constant) ||
                (name == "gamma" && kind == Kind::step);
  if (!isSpan && !isRate)
    return wrongSchedule(
        "'" + name +
        "' is no option of this schedule: all have warmup=100 or warmup=5ep, "
        "all but constant min=1e-5, and step has every=30ep and gamma=0.1");
  std::string start = "'" + name + "=" + value + "' is not a number ";
  if (isRate)
    return parseRate(value, name == "min" ? least : gamma)
               ? Fault()
               : wrongSchedule(start + "that is 0 or more");
  bool good = name == "warmup" ? parseSpan(value, warmup)
                               : parseSpan(value, every) && every.count;
  return good ? Fault()
              : wrongSchedule(start + "of steps, as 100, or of epochs, as 5ep");
}

Fault Schedule::parse(const std::string &text, Schedule &schedule) {
  static const char *const names[] = {"constant", "step", "linear", "cosine"};
  Schedule parsed;
  const Fault malformed = wrongSchedule(
      "write constant, step, linear or cosine and the rate, as in "
      "cosine:3e-4,warmup=100,min=1e-5");
  std::string rest = text;
  if (size_t colon = text.find(':'); colon != text.npos) {
    const auto *name =
        std::find(std::begin(names), std::end(names), text.substr(0, colon));
    if (name == std::end(names))
      return malformed;
    parsed.kind = Kind(name - std::begin(names));
    rest = text.substr(colon + 1);
  }
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
  if (parsed.kind == Kind::step && !parsed.every.count)
    return wrongSchedule(
        "a step schedule takes every=, as in step:0.1,every=30ep,gamma=0.1");
  if (parsed.kind != Kind::constant && parsed.least > parsed.base)
    return wrongSchedule("min is above the rate");
  schedule = parsed;
  return {};
}

double Schedule::at(uint64_t step, uint64_t total, uint64_t epochSteps) const {
  if (total)
    step = std::min(step, total - 1);
  double rising = warmup.steps(epochSteps);
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
  case Kind::step:
    return std::max(
        least,
        base * std::pow(gamma, std::floor(after / every.steps(epochSteps))));
  }
  return base;
}
