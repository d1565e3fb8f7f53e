//===- Machine.cpp - Findings of frit-doctor ------------------------------===//

#include "tools/frit-doctor/Machine.h"
#include "runtime/exec/Targets.h"

#include "frit/host_arch.h"

#include <algorithm>
#include <thread>

using namespace frit;
using namespace frit::doctor;

std::string_view frit::doctor::nameOf(Verdict verdict) {
  switch (verdict) {
  case Verdict::good:
    return "ok";
  case Verdict::missing:
    return "missing";
  case Verdict::tooOld:
    return "too old";
  case Verdict::mismatch:
    return "mismatch";
  case Verdict::broken:
    return "broken";
  }
  return "";
}

std::string frit::doctor::textOf(CudaVersion version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

void Machine::examine() {
  examineProcessor();
  examineDriver();
  examineToolkit();
  examineNvrtc();
  examineCublas();
  examineCudnn();
  examineNccl();
}

void Machine::examineProcessor() {
  for (const HostArch &arch : kHostArchs)
    if (cpuLevel(arch.name) > 0)
      cpuArch = arch.name;
  Finding finding{"cpu", "processor"};
  finding.detail =
      processorName() + ", " +
      format("%u threads", std::max(1u, std::thread::hardware_concurrency()));
  if (cpuArch.empty()) {
    finding.verdict = Verdict::broken;
    finding.advice = format("frit's cpu target is %s", nameOf(kThisMachine));
  } else {
    finding.detail += ": runs -march=" + cpuArch;
    if (cpuArch != nameOf(kThisMachine))
      finding.detail += " and below";
  }
  findings.push_back(std::move(finding));
}

const Finding *Machine::find(std::string_view part) const {
  auto found = std::ranges::find(findings, part, &Finding::part);
  return found == findings.end() ? nullptr : &*found;
}

bool Machine::runsOnGpu() const {
  return std::ranges::any_of(gpus, &GpuFacts::works);
}

bool Machine::isSound() const {
  return std::ranges::none_of(findings, [](const Finding &finding) {
    return finding.verdict == Verdict::broken;
  });
}
