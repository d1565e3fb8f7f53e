//===- Phases.h - Time spent in each phase of opening a model -------------===//

#ifndef FRIT_RUNTIME_EXEC_PHASES_H
#define FRIT_RUNTIME_EXEC_PHASES_H

#include <chrono>
#include <vector>

namespace frit {

/// Stopwatch for a sequence of named phases.
class Phases {
public:
  struct Phase {
    const char *name;
    double seconds;
  };

  /// Ends the running phase, if any, and starts another. `name` must be a
  /// literal.
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

#endif // FRIT_RUNTIME_EXEC_PHASES_H
