//===- Interrupts.cpp - Remove temporary files on signals -----------------===//

#include "compiler/support/Interrupts.h"

#include "compiler/support/Progress.h"

#include <atomic>
#include <csignal>
#include <mutex>
#include <pthread.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>
#include <utility>

/// Signals that users and other programs send.
static constexpr int kSent[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
/// Signals that the program itself causes.
static constexpr int kCaused[] = {SIGPIPE, SIGXCPU};

namespace {
/// A file or an empty folder to remove.
struct Temporary {
  std::string path;
  Temporary *next = nullptr; ///< the one registered before
};
} // namespace

/// Guards `temporaries`. Locked with all signals blocked, so that a handler
/// never waits for the thread that it interrupted. Nothing is allocated under
/// it, so that a thread without memory may lock it.
static std::mutex mutex;
/// The last registered one. Never freed: a signal may come while the program
/// ends.
static Temporary *temporaries = nullptr;

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
  for (const Temporary *at = temporaries; at; at = at->next)
    if (unlink(at->path.c_str()) != 0)
      rmdir(at->path.c_str());
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

/// Registers a temporary file under the lock.
static void add(Temporary *added) {
  added->next = temporaries;
  temporaries = added;
}

void frit::addTemporary(const std::string &path) {
  auto *added = new Temporary{path};
  Locked locked;
  add(added);
}

bool frit::makeTemporary(std::string &path,
                         const std::function<bool(char *)> &make) {
  auto *added = new Temporary{path};
  {
    Locked locked;
    if (make(added->path.data())) {
      add(added);
      path = added->path; // as long as before, so this does not allocate
      return true;
    }
  }
  delete added;
  return false;
}

void frit::keepTemporary(const std::string &path) {
  Locked locked;
  for (Temporary **at = &temporaries; *at;)
    if ((*at)->path == path)
      delete std::exchange(*at, (*at)->next);
    else
      at = &(*at)->next;
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

/// Removes the temporary files for good: none can be added afterwards. If the
/// program crashed while the list was being changed, they stay.
static void removeAtFault() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  for (int attempt = 0; attempt < 1000; ++attempt) {
    if (mutex.try_lock())
      return removeListed();
    usleep(1000);
  }
}

void frit::endAtFault(int status,
                      std::initializer_list<std::string_view> message) {
  static std::atomic_flag isEnding;
  while (isEnding.test_and_set())
    pause();
  Progress::clearAtFault();
  // In one piece, between the lines of other processes.
  iovec parts[8];
  int count = 0;
  for (std::string_view part : message)
    parts[count++] = {const_cast<char *>(part.data()), part.size()};
  [[maybe_unused]] ssize_t written = writev(STDERR_FILENO, parts, count);
  removeAtFault();
  _exit(status);
}
