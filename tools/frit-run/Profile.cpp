//===- Profile.cpp - Where the time of a call goes ------------------------===//

#include "Session.h"
#include "Table.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

using namespace frit::run;
using Json = nlohmann::ordered_json;

namespace {
struct Step {
  std::string kind, node, kernel;
  double start, duration; ///< microseconds
};

/// The steps that run the same kernel, together.
struct Group {
  double duration = 0;
  unsigned count = 0;
  std::string node; ///< of the longest
  double longest = -1;
};
} // namespace

/// A trace in the format of chrome://tracing, which Perfetto reads too.
static bool writeTrace(const std::string &path,
                       const std::vector<Step> &steps) {
  Json events = Json::array();
  for (const Step &step : steps)
    events.push_back({{"name", step.node.empty() ? step.kernel : step.node},
                      {"cat", step.kind},
                      {"ph", "X"},
                      {"pid", 0},
                      {"tid", 0},
                      {"ts", step.start},
                      {"dur", step.duration},
                      {"args", {{"kernel", step.kernel}}}});
  FILE *file = fopen(path.c_str(), "w");
  std::string text = Json({{"traceEvents", std::move(events)}}).dump();
  bool good = file && fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file && fclose(file) != 0)
    good = false;
  return good || complain("cannot write '" + path + "': " + strerror(errno));
}

static void printJson(const std::vector<Step> &steps, double total) {
  Json list = Json::array();
  for (const Step &step : steps)
    list.push_back({{"kind", step.kind},
                    {"node", step.node},
                    {"kernel", step.kernel},
                    {"start_us", step.start},
                    {"us", step.duration}});
  puts(Json({{"total_us", total}, {"steps", std::move(list)}}).dump().c_str());
}

static void printTable(const std::vector<Step> &steps, double total) {
  std::map<std::string, Group> groups;
  for (const Step &step : steps) {
    Group &group = groups[step.kernel];
    group.duration += step.duration;
    ++group.count;
    if (step.duration > group.longest) {
      group.longest = step.duration;
      group.node = step.node;
    }
  }
  std::vector<std::pair<std::string, Group>> sorted(groups.begin(),
                                                    groups.end());
  std::ranges::sort(sorted, [](const auto &a, const auto &b) {
    return a.second.duration > b.second.duration;
  });
  printf("%zu steps, %s\n", steps.size(), formatTime(total / 1e3).c_str());
  Table table({">time", ">share", ">steps", "kernel", "longest at node"});
  for (const auto &[name, group] : sorted)
    table.add({formatTime(group.duration / 1e3),
               text("%.1f%%", total > 0 ? 100 * group.duration / total : 0),
               std::to_string(group.count), name, group.node});
  table.print();
}

int frit::run::profile(Session &session) {
  // The first call is not typical.
  if (!session.run())
    return 1;
  std::vector<Step> steps;
  auto visit = [](void *user, const frit_step_info *step) {
    static_cast<std::vector<Step> *>(user)->push_back(
        {step->kind, step->node, step->kernel, step->start, step->duration});
  };
  std::vector<frit_tensor> inputs = session.bindInputs();
  std::vector<frit_tensor> outputs = session.bindOutputs();
  if (frit_profile(session.context.get(), inputs.data(),
                   uint32_t(inputs.size()), outputs.data(),
                   uint32_t(outputs.size()), visit, &steps)) {
    complain(frit_last_error());
    return 1;
  }
  double total = 0;
  for (const Step &step : steps)
    total += step.duration;
  if (!session.options.trace.empty() &&
      !writeTrace(session.options.trace, steps))
    return 1;
  if (session.options.json)
    printJson(steps, total);
  else
    printTable(steps, total);
  return 0;
}
