//===- Progress.cpp - Progress of long work -------------------------------===//

#include "compiler/support/Progress.h"
#include "compiler/support/Thread.h"

#include "frit/printable.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace frit;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// Work shorter than this is not shown.
static constexpr auto kQuiet = 2s;
/// Time between two updates of the line.
static constexpr auto kTick = 200ms;

/// Guards everything below, and which progress is shown.
static std::mutex progressMutex;
static bool isShowing = false;
static std::atomic<bool> isLineDrawn = false;

struct Progress::State {
  std::string what, detail;
  uint64_t done = 0, total = 0;
  bool isFinished = false;
  Clock::time_point start = Clock::now();
  std::condition_variable finished;
  Thread ticker;
};

static bool isTerminal() {
  const char *term = getenv("TERM");
  return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

/// Returns the terminal's width in columns.
static size_t width() {
  winsize size = {};
  bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col;
  return known ? size.ws_col : 80;
}

/// Writes to the terminal. Only people read the line, so a failed write does
/// not matter.
static void put(std::string_view text) {
  [[maybe_unused]] ssize_t written =
      write(STDERR_FILENO, text.data(), text.size());
}

static void clearLine() {
  if (isLineDrawn.exchange(false))
    put("\r\x1b[K");
}

/// Returns the first `columns` code points of a printable text.
static std::string cut(std::string text, size_t columns) {
  size_t at = 0;
  for (; at < text.size() && columns; --columns)
    at += decodeUtf8(std::string_view(text).substr(at)).bytes;
  text.resize(at);
  return text;
}

Progress::Progress(std::string what) {
  std::lock_guard lock(progressMutex);
  if (isShowing || !isTerminal())
    return;
  isShowing = true;
  state = std::make_unique<State>();
  state->what = std::move(what);
  state->ticker = Thread([state = state.get()] {
    std::unique_lock lock(progressMutex);
    auto isFinished = [&] { return state->isFinished; };
    for (auto next = state->start + kQuiet;
         !state->finished.wait_until(lock, next, isFinished);
         next = Clock::now() + kTick) {
      std::string line = state->what + ": ";
      if (state->total)
        line += std::to_string(state->done) + " of " +
                std::to_string(state->total) + ", ";
      if (!state->detail.empty())
        line += state->detail + ", ";
      auto seconds =
          std::chrono::floor<std::chrono::seconds>(Clock::now() - state->start);
      line += std::to_string(seconds.count()) + " s";
      // Leave the cursor's column free; otherwise the terminal begins a new
      // line.
      put("\r\x1b[K" + cut(printable(line), width() - 1));
      isLineDrawn = true;
    }
    clearLine();
  });
}

Progress::~Progress() {
  if (!state)
    return;
  {
    std::lock_guard lock(progressMutex);
    state->isFinished = true;
    state->finished.notify_one();
  }
  state->ticker.join();
  std::lock_guard lock(progressMutex);
  isShowing = false;
}

void Progress::update(uint64_t done, uint64_t total,
                      const std::string &detail) {
  if (!state)
    return;
  std::lock_guard lock(progressMutex);
  state->done = done;
  state->total = total;
  state->detail = detail;
}

void Progress::hide() {
  std::lock_guard lock(progressMutex);
  clearLine();
}

void Progress::clearAtFault() { clearLine(); }
