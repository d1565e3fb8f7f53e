//===- TimeReport.cpp - Time per phase up to the first results ------------===//

#include "Session.h"
#include "tools/support/Table.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <unistd.h>

using namespace frit::run;
using Clock = std::chrono::steady_clock;

static Clock::time_point start;
/// Age of the process when main began, in seconds; 0 if unknown.
static double age;

/// Reads the age from /proc, in ticks of usually ten milliseconds.
static double processAge() {
  std::ifstream file("/proc/self/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  // The second field, the program's name, may contain anything.
  size_t at = text.rfind(')');
  for (int field = 2; field < 22 && at != text.npos; ++field)
    at = text.find(' ', at + 1);
  timespec now;
  if (at == text.npos || clock_gettime(CLOCK_BOOTTIME, &now) != 0)
    return 0;
  double ticks = double(std::strtoull(text.c_str() + at, nullptr, 10));
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9 -
         ticks / double(sysconf(_SC_CLK_TCK));
}

void frit::run::startTimeReport() {
  start = Clock::now();
  age = processAge();
}

void frit::run::printTimeReport(const Session &session) {
  double total =
      age + std::chrono::duration<double>(Clock::now() - start).count();
  std::vector<std::pair<std::string, double>> phases;
  auto visit = [](void *user, const char *name, double seconds) {
    static_cast<decltype(phases) *>(user)->push_back({name, seconds});
  };
  phases.push_back({"start the process", age});
  frit_module_phases(session.module.get(), visit, &phases);
  frit_context_phases(session.context.get(), visit, &phases);
  double known = 0;
  Table table({">time", "spent to"});
  for (const auto &[name, seconds] : phases) {
    known += seconds;
    table.add({formatTime(seconds * 1e3), name});
  }
  table.add({formatTime((total - known) * 1e3),
             "open the file, make the inputs and run"});
  table.add({formatTime(total * 1e3), "come from the start to the results"});
  table.print();
  puts("");
}
