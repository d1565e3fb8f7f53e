//===- Stop.cpp - Stop a run between two steps ----------------------------===//

#include "tools/frit-train/Stop.h"

#include <atomic>
#include <csignal>
#include <iterator>

using namespace frit::train;

/// Signals of a user, a scheduler, a closed terminal, and a closed output pipe.
static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
static struct sigaction previous[std::size(kSignals)];
static std::atomic<int> asked = 0;

static void restore() {
  for (size_t i = 0; i < std::size(kSignals); ++i)
    sigaction(kSignals[i], &previous[i], nullptr);
}

StopSignals::StopSignals() {
  struct sigaction action = {};
  action.sa_flags = SA_RESTART;
  action.sa_handler = [](int number) {
    asked = number;
    restore();
    // Later output to a closed pipe must not end the program.
    if (number == SIGPIPE)
      signal(SIGPIPE, SIG_IGN);
  };
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], nullptr, &previous[i]);
    if (previous[i].sa_handler != SIG_IGN)
      sigaction(kSignals[i], &action, nullptr);
  }
}

StopSignals::~StopSignals() { restore(); }

int StopSignals::received() { return asked; }
