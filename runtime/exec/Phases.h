//===- Phases.h - What opening a model spends its time on -----------------===//

#ifndef FRIT_EXEC_PHASES_H
#define FRIT_EXEC_PHASES_H

#include <chrono>
#include <vector>

namespace frit {

/// A stopwatch that is told what comes next.
class Phases {
public:
  struct Phase {
    const char *name;
    double seconds;
  };

  /// Ends the phase before, if one is running. `name` is a literal.
  void begin(const char *name) {
    end();
    running = name;
    start = Clock::now();
  }
  void end() {
    if (running)
      list.push_back(
          {running,
           std::chrono::duration<double>(Clock::now() - start).count()});
    running = nullptr;
  }
  const std::vector<Phase> &done() const { return list; }

private:
  using Clock = std::chrono::steady_clock;

  std::vector<Phase> list;
  const char *running = nullptr;
  Clock::time_point start;
};

} // namespace frit

#endif // FRIT_EXEC_PHASES_H
