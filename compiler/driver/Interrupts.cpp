//===- Interrupts.cpp - Remove temporary files on signals -----------------===//

#include "compiler/driver/Interrupts.h"

#include <algorithm>
#include <csignal>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <vector>

/// Signals that users and other programs send.
static constexpr int kSent[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
/// Signals that the program itself causes.
static constexpr int kCaused[] = {SIGPIPE, SIGXCPU};

/// Guards `temporaries`. Locked with all signals blocked, so that a handler
/// never waits for the thread that it interrupted.
static std::mutex mutex;
static std::vector<std::string> &temporaries() {
  // Never destroyed: a signal may come while the program ends.
  static auto *paths = new std::vector<std::string>;
  return *paths;
}

namespace {
class Locked {
public:
  Locked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    mutex.lock();
  }
  ~Locked() {
    mutex.unlock();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

private:
  sigset_t before;
};
} // namespace

static void removeListed() {
  std::vector<std::string> &paths = temporaries();
  for (auto path = paths.rbegin(); path != paths.rend(); ++path)
    if (unlink(path->c_str()) != 0)
      rmdir(path->c_str());
}

/// Ends the program by signal `number`.
static void end(int number) {
  {
    Locked locked;
    removeListed();
    // No file can be added from here on.
    signal(number, SIG_DFL);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    raise(number);
  }
  _exit(128 + number);
}

static bool isIgnored(int number) {
  struct sigaction action;
  return sigaction(number, nullptr, &action) == 0 &&
         action.sa_handler == SIG_IGN;
}

namespace {
/// The signals that end the program, and those that it was started to ignore.
struct Signals {
  std::vector<int> sent, caused, ignored;

  Signals() {
    for (int number : kSent)
      (isIgnored(number) ? ignored : sent).push_back(number);
    for (int number : kCaused)
      (isIgnored(number) ? ignored : caused).push_back(number);
  }
};
} // namespace

/// Returns the signals as of the first call.
static const Signals &signals() {
  static auto *known = new Signals;
  return *known;
}

static void install(int number) {
  struct sigaction action = {};
  action.sa_handler = end;
  sigfillset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

void frit::handleInterrupts() {
  temporaries();
  for (int number : signals().sent)
    install(number);
  for (int number : signals().caused)
    install(number);
  for (int number : signals().ignored)
    signal(number, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

static sigset_t sentSet() {
  sigset_t set;
  sigemptyset(&set);
  for (int number : signals().sent)
    sigaddset(&set, number);
  return set;
}

void frit::watchInterrupts() {
  sigset_t set = sentSet();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread([set] {
    int number = 0;
    while (sigwait(&set, &number) != 0)
      ;
    end(number);
  }).detach();
}

frit::ChildSignals::ChildSignals() {
  handleInterrupts();
  sigset_t set = sentSet();
  pthread_sigmask(SIG_UNBLOCK, &set, &before);
  signal(SIGXFSZ, SIG_DFL);
}

frit::ChildSignals::~ChildSignals() {
  signal(SIGXFSZ, SIG_IGN);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void frit::addTemporary(const std::string &path) {
  Locked locked;
  temporaries().push_back(path);
}

std::string frit::makeTemporary(const std::function<std::string()> &make) {
  Locked locked;
  std::string path = make();
  if (!path.empty())
    temporaries().push_back(path);
  return path;
}

void frit::keepTemporary(const std::string &path) {
  Locked locked;
  std::erase(temporaries(), path);
}

void frit::removeTemporaries() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  // Skip if the program crashed while the list was being changed.
  if (mutex.try_lock()) {
    removeListed();
    mutex.unlock();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}
