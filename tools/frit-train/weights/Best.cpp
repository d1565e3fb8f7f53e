//===- Best.cpp - The best evaluation of a run ----------------------------===//

#include "tools/frit-train/weights/Best.h"
#include "compiler/support/Help.h"

#include <algorithm>
#include <cmath>

using namespace frit::train;

Fault MetricChoice::parse(const std::string &text, MetricChoice &choice) {
  MetricChoice parsed;
  size_t colon = std::min(text.rfind(':'), text.size());
  std::string order = text.substr(std::min(colon + 1, text.size()));
  parsed.name = text.substr(0, colon);
  if (parsed.name.starts_with("eval_"))
    parsed.name.erase(0, 5);
  bool isKnown = parsed.name == "loss" || parsed.name == "accuracy";
  parsed.isMost = order == "max" || (colon == text.size() && isKnown &&
                                     parsed.name == "accuracy");
  if (colon < text.size() && order != "min" && order != "max")
    return Fault("write :min or :max after the metric", kBadUsage);
  if (parsed.name.empty())
    return Fault("write the name of a metric, such as eval_loss", kBadUsage);
  if (colon == text.size() && !isKnown)
    return Fault("say whether the best '" + parsed.name +
                     "' is the least or the largest: " + text + ":min or " +
                     text + ":max",
                 kBadUsage);
  choice = parsed;
  return {};
}

Fault MetricChoice::check(const std::vector<std::string> &names) const {
  if (std::ranges::find(names, name) != names.end())
    return {};
  std::vector<std::string> all;
  for (const std::string &known : names)
    all.push_back("eval_" + known);
  std::string near = nearestTo(logName(), all);
  std::string list;
  for (const std::string &known : all)
    list += (list.empty() ? "" : ", ") + known;
  return Fault("the evaluation has no metric '" + logName() + "'" +
               (near.empty() ? "" : "; did you mean '" + near + "'?") +
               (near.empty() ? "; it has " : " It has ") + list);
}

void Best::track(const MetricChoice &choice) {
  std::string wanted = choice.name + (choice.isMost ? ":max" : ":min");
  if (metric == wanted)
    return;
  *this = {};
  metric = wanted;
}

bool Best::add(const MetricChoice &choice, double now, uint64_t at) {
  bool isBetter = std::isfinite(now) &&
                  (!value || (choice.isMost ? now > *value : now < *value));
  if (isBetter) {
    value = now;
    step = at;
    since = 0;
  } else {
    ++since;
  }
  return isBetter;
}
