//===- Report.cpp - Print the findings of frit-doctor ---------------------===//

#include "tools/frit-doctor/Report.h"
#include "frit/artifact.h"
#include "frit/printable.h"
#include "frit/runtime.h"
#include "tools/support/JsonText.h"
#include "tools/support/Table.h"

#include <cstdio>
#include <nlohmann/json.hpp>

using namespace frit;
using namespace frit::doctor;
using Json = nlohmann::ordered_json;

/// Returns the conclusion, such as "Models run on cuda:0, and on the
/// processor."
static std::string conclude(const Machine &machine) {
  std::string places;
  for (const GpuFacts &gpu : machine.gpus)
    if (gpu.works)
      places += (places.empty() ? "" : ", ") +
                ("cuda:" + std::to_string(gpu.ordinal));
  std::string text = "Models run here on " +
                     (places.empty() ? "" : places + " and ") + "the processor";
  if (machine.cpuArch.empty())
    text = places.empty() ? "Models do not run here"
                          : "Models run here on " + places;
  return text + "; fritc compiles for " +
         (machine.compilesForGpus ? "GPUs and processors." : "processors.");
}

void frit::doctor::printText(const Machine &machine,
                             const std::vector<std::string> &unmet) {
  printf("frit %s\n\n", frit_version());
  for (const Finding &finding : machine.findings) {
    std::string line = finding.version;
    for (const std::string &more : {finding.path, finding.detail})
      if (!more.empty())
        line += (line.empty() ? "" : ", ") + more;
    printf("  %-9s %-10s %s\n", std::string(nameOf(finding.verdict)).c_str(),
           finding.title.c_str(), printable(line).c_str());
    if (!finding.advice.empty())
      printf("  %-20s -> %s\n", "", printable(finding.advice).c_str());
  }
  printf("\n%s\n", conclude(machine).c_str());
  for (const std::string &part : unmet)
    printf("Needed, but does not work here: %s\n", part.c_str());
}

void frit::doctor::printJson(const Machine &machine,
                             const std::vector<std::string> &unmet) {
  Json parts = Json::array(), gpus = Json::array();
  for (const Finding &finding : machine.findings)
    parts.push_back({{"part", finding.part},
                     {"verdict", nameOf(finding.verdict)},
                     {"version", finding.version},
                     {"path", finding.path},
                     {"detail", finding.detail},
                     {"advice", finding.advice}});
  for (const GpuFacts &gpu : machine.gpus)
    gpus.push_back({{"device", "cuda:" + std::to_string(gpu.ordinal)},
                    {"name", gpu.name},
                    {"uuid", gpu.uuid},
                    {"capability", std::to_string(gpu.major) + "." +
                                       std::to_string(gpu.minor)},
                    {"memory_bytes", gpu.memoryBytes},
                    {"works", gpu.works}});
  Json report = {{"frit", frit_version()},
                 {"artifact_version", artifact::kVersion},
                 {"cpu_arch", machine.cpuArch},
                 {"runs_on_gpu", machine.runsOnGpu()},
                 {"compiles_for_gpus", machine.compilesForGpus},
                 {"unmet", unmet},
                 {"parts", std::move(parts)},
                 {"gpus", std::move(gpus)}};
  puts(tools::jsonText(report, 2).c_str());
}
