//===- Profile.cpp - Time the steps of a call -----------------------------===//

#include "Profile.h"
#include "compiler/support/OutputFile.h"
#include "tools/support/Files.h"
#include "tools/support/JsonText.h"
#include "tools/support/Table.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>

using namespace frit::run;
using Json = nlohmann::ordered_json;

namespace {
/// Sums over a group of steps.
struct Group {
  double duration = 0, bytes = 0, flops = 0;
  double bound = 0; ///< least time at the device's peak rates
  unsigned count = 0;
  std::string node; ///< of the longest step
  double longest = -1;
};
} // namespace

/// Writes a trace for chrome://tracing and Perfetto.
static ExitStatus writeTrace(const std::string &path,
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
                      {"args",
                       {{"kernel", step.kernel},
                        {"bytes", step.bytes},
                        {"flops", step.flops}}}});
  std::error_code code =
      frit::writeFile(path, jsonText({{"traceEvents", std::move(events)}}));
  return report(writingFault(path, code));
}

static void printProfileJson(const Profile &profile) {
  Json list = Json::array();
  for (const Step &step : profile.steps)
    list.push_back({{"kind", step.kind},
                    {"node", step.node},
                    {"kernel", step.kernel},
                    {"library", step.library},
                    {"start_us", step.start},
                    {"us", step.duration},
                    {"bytes", step.bytes},
                    {"flops", step.flops},
                    {"bound_us", profile.peaks.bound(step)}});
  puts(jsonText({{"total_us", profile.total},
                 {"call_us", profile.call},
                 {"stamp_us", profile.stamp},
                 {"peak_gb_per_s", profile.peaks.bytes / 1e3},
                 {"peak_tflop_per_s", profile.peaks.flops / 1e6},
                 {"steps", std::move(list)}})
           .c_str());
}

/// Formats the columns of a group: time, rates, and their fractions of the
/// device's peaks.
static std::vector<std::string> describe(const Group &group,
                                         const Profile &profile) {
  auto part = [](double part, double whole) {
    return whole > 0 ? text("%.1f%%", 100 * part / whole) : std::string();
  };
  // Bytes per microsecond are megabytes per second.
  double rate = group.duration > 0 ? 1 / group.duration : 0;
  return {formatTime(group.duration / 1e3),
          part(group.duration, profile.total),
          std::to_string(group.count),
          text("%.0f", group.bytes * rate / 1e3),
          group.flops > 0 ? text("%.1f", group.flops * rate / 1e6) : "",
          group.bound > 0 ? part(group.bound, group.duration) : ""};
}

using Groups = std::map<std::string, Group>;

static void add(Group &group, const Step &step, const Peaks &peaks) {
  group.duration += step.duration;
  group.bytes += double(step.bytes);
  group.flops += double(step.flops);
  group.bound += peaks.bound(step);
  ++group.count;
  if (step.duration > group.longest) {
    group.longest = step.duration;
    group.node = step.node;
  }
}

static void printGroups(const Groups &groups, const Profile &profile,
                        const char *title, bool nodes) {
  std::vector<std::pair<std::string, Group>> sorted(groups.begin(),
                                                    groups.end());
  std::ranges::sort(sorted, [](const auto &a, const auto &b) {
    return a.second.duration > b.second.duration;
  });
  std::vector<std::string> titles = {">time", ">share",   ">steps",
                                     ">GB/s", ">TFLOP/s", ">of peak"};
  titles.push_back(title);
  if (nodes)
    titles.push_back("longest at node");
  Table table(titles);
  for (const auto &[name, group] : sorted) {
    std::vector<std::string> row = describe(group, profile);
    row.push_back(name);
    if (nodes)
      row.push_back(group.node);
    table.add(std::move(row));
  }
  table.print();
}

static void printTables(const Profile &profile) {
  Groups kernels, makers;
  for (const Step &step : profile.steps) {
    add(kernels[step.kernel], step, profile.peaks);
    add(makers[step.library          ? "libraries"
               : step.kind == "copy" ? "copies"
                                     : "frit's own kernels"],
        step, profile.peaks);
  }
  printf("%zu steps, %s; a call takes %s (%s a step were taken off for its "
         "time stamp)\n",
         profile.steps.size(), formatTime(profile.total / 1e3).c_str(),
         formatTime(profile.call / 1e3).c_str(),
         formatTime(profile.stamp / 1e3).c_str());
  if (profile.peaks.bytes > 0)
    printf("peaks: %.0f GB/s, %.0f TFLOP/s of 16-bit products\n",
           profile.peaks.bytes / 1e3, profile.peaks.flops / 1e6);
  puts("");
  printGroups(kernels, profile, "kernel", /*nodes=*/true);
  puts("");
  printGroups(makers, profile, "by", /*nodes=*/false);
}

/// Subtracts the cost of time stamps, which take time and prevent kernels from
/// overlapping. If the steps sum to more than a call takes, the excess is
/// divided equally, but no step loses more than half. On the cpu a stamp takes
/// too little to be seen in this way.
static void takeOffStamps(Profile &profile, bool isCpu) {
  double total = 0;
  for (const Step &step : profile.steps)
    total += step.duration;
  if (!profile.steps.empty() && !isCpu)
    profile.stamp =
        std::max(0.0, total - profile.call) / double(profile.steps.size());
  for (Step &step : profile.steps) {
    step.duration = std::max(step.duration - profile.stamp, step.duration / 2);
    profile.total += step.duration;
  }
}

int frit::run::profile(Session &session) {
  // Warm up.
  if (!session.run())
    return session.status();
  Profile profile;
  auto visit = [](void *user, const frit_step_info *step) {
    static_cast<std::vector<Step> *>(user)->push_back(
        {step->kind, step->node, step->kernel, step->start, step->duration,
         step->bytes, step->flops, step->is_library != 0});
  };
  std::vector<frit_tensor> inputs = session.bindInputs();
  std::vector<frit_tensor> outputs = session.bindOutputs();
  if (frit::Error error(frit_profile(
          session.context.get(), inputs.data(), uint32_t(inputs.size()),
          outputs.data(), uint32_t(outputs.size()), visit, &profile.steps));
      error) {
    session.failed(error);
    return session.status();
  }
  profile.call = timeCalls(session) * 1e6;
  if (profile.call < 0)
    return session.status();
  const frit_device_info device = session.module.device();
  takeOffStamps(profile, device.threads > 0);
  profile.peaks = {device.bytes_per_second / 1e6,
                   device.flops_per_second / 1e6};
  const std::string &path = session.options.trace;
  if (!path.empty())
    if (ExitStatus status = path.ends_with(".html")
                                ? writePage(path, profile, session)
                                : writeTrace(path, profile.steps))
      return status;
  if (session.options.json)
    printProfileJson(profile);
  else
    printTables(profile);
  return 0;
}
