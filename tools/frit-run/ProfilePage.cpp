//===- ProfilePage.cpp - A profile as a page with pictures ----------------===//

#include "Profile.h"
#include "compiler/report/Page.h"
#include "compiler/support/OutputFile.h"
#include "tools/support/Files.h"
#include "tools/support/JsonText.h"

#include <fstream>
#include <sstream>

using namespace frit::run;
using Json = nlohmann::ordered_json;

static Json describe(const Profile &profile, const Session &session) {
  Json steps = Json::array();
  // Shift each step by the time subtracted from the steps before it.
  double removed = 0, end = 0;
  for (const Step &step : profile.steps) {
    double start = std::max(step.start - removed, end);
    end = start + step.duration;
    removed += profile.stamp;
    steps.push_back({{"kind", step.kind},
                     {"node", step.node},
                     {"kernel", step.kernel},
                     {"library", step.library},
                     {"start_us", start},
                     {"us", step.duration},
                     {"bytes", step.bytes},
                     {"flops", step.flops}});
  }
  return {{"device", session.module.device().name},
          {"function", session.module.function()},
          {"call_us", profile.call},
          {"total_us", profile.total},
          {"peak_gb_per_s", profile.peaks.bytes / 1e3},
          {"peak_tflop_per_s", profile.peaks.flops / 1e6},
          {"steps", std::move(steps)}};
}

/// Returns the array `name` of an object; an empty one if it has none.
static Json &arrayOf(Json &json, const char *name) {
  static Json none;
  none = Json::array();
  return json.is_object() && json.contains(name) && json[name].is_array()
             ? json[name]
             : none;
}
/// Returns the text `name` of an object; empty if it has none.
static std::string textOf(const Json &json, const char *name) {
  return json.is_object() && json.contains(name) && json[name].is_string()
             ? json[name].get<std::string>()
             : "";
}

/// Returns whether a report's list has the steps of a profile.
static bool hasSteps(Json &list, const std::vector<Step> &steps) {
  Json &own = arrayOf(list, "steps");
  if (own.size() != steps.size())
    return false;
  for (size_t i = 0; i < steps.size(); ++i) {
    std::string nodes;
    for (const Json &node : arrayOf(own[i], "nodes"))
      if (node.is_string())
        nodes += (nodes.empty() ? "" : ", ") + node.get<std::string>();
    if (textOf(own[i], "kind") != steps[i].kind || nodes != steps[i].node)
      return false;
  }
  return true;
}

/// Adds the profile to the list of `report` with the same steps.
static bool addTo(Json &report, const Json &times, const Profile &profile,
                  const std::string &function) {
  for (Json &program : arrayOf(report, "programs"))
    if (textOf(program, "function") == function)
      for (Json &list : arrayOf(program, "lists"))
        if (hasSteps(list, profile.steps)) {
          list["profile"] = times;
          return true;
        }
  return false;
}

/// Reads the report in a page of fritc.
static bool readReport(const std::string &path, Json &report) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return complain("cannot read '" + path + "'");
  std::stringstream bytes;
  bytes << file.rdbuf();
  std::optional<std::string> text = frit::readPage(bytes.str());
  if (text)
    report = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!text || arrayOf(report, "programs").empty())
    return complain("'" + path + "' is no page of fritc --report");
  return true;
}

ExitStatus frit::run::writePage(const std::string &path, const Profile &profile,
                                const Session &session) {
  Json times = describe(profile, session), report;
  const std::string &from = session.options.report;
  if (from.empty()) {
    report = {{"frit", frit_version()},
              {"title", session.module.name()},
              {"remarks", Json::array()},
              {"programs", Json::array()},
              {"profile", times}};
  } else {
    if (!readReport(from, report))
      return kBadInput;
    if (!addTo(report, times, profile, session.module.function())) {
      complain("'" + from +
               "' shows another model or other targets; write both at once: "
               "fritc model.onnx -o model.so --report=" +
               from);
      return kBadInput;
    }
  }
  std::error_code code =
      frit::writeFile(path, frit::makePage(jsonText(report)));
  return tools::report(writingFault(path, code));
}
