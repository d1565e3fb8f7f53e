//===- Launcher.cpp - Starts the ranks of one host ------------------------===//

#include "tools/frit-train/ranks/Launcher.h"
#include "tools/support/ExitStatus.h"
#include "tools/support/Message.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace frit::train;

/// Seconds after a rank's failure until the others get SIGTERM, and after that
/// until they get SIGKILL.
static constexpr int kGrace = 3;

namespace {
/// The running ranks.
class Launcher {
public:
  explicit Launcher(const Options &options)
      : options(options), processes(options.devices.size(), 0) {}
  ~Launcher() { signalAll(SIGKILL); }

  bool start(std::vector<char *> arguments);
  int wait(const sigset_t &signals);

private:
  [[noreturn]] void become(uint32_t rank, std::vector<char *> &arguments,
                           pid_t parent) const;
  void signalAll(int number) const;
  void reap();
  bool anyRuns() const;

  const Options &options;
  std::vector<pid_t> processes; ///< 0 once ended
  std::string port;
  std::optional<int> first; ///< exit status of the first failed rank
};
} // namespace

/// Returns a free port of this host; 0 if there is none.
static uint16_t findPort() {
  int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto *any = reinterpret_cast<sockaddr *>(&address);
  bool good =
      made >= 0 && !bind(made, any, size) && !getsockname(made, any, &size);
  if (made >= 0)
    close(made);
  return good ? ntohs(address.sin_port) : 0;
}

void Launcher::become(uint32_t rank, std::vector<char *> &arguments,
                      pid_t parent) const {
  auto set = [](const char *name, const std::string &value) {
    setenv(name, value.c_str(), 1);
  };
  set("RANK", std::to_string(rank));
  set("WORLD_SIZE", std::to_string(processes.size()));
  set("LOCAL_RANK", std::to_string(options.devices[rank]));
  set("MASTER_ADDR", "127.0.0.1");
  set("MASTER_PORT", port);
  unsetenv("TORCHELASTIC_USE_AGENT_STORE");
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // Terminal signals are sent to this program only, which forwards them once.
  setpgid(0, 0);
  // Kill the rank if this program ends.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == parent)
    execv("/proc/self/exe", arguments.data());
  _exit(kMachine);
}

bool Launcher::start(std::vector<char *> arguments) {
  uint16_t free = findPort();
  if (!free)
    return complain("no port of 127.0.0.1 is free: " +
                    std::string(strerror(errno)));
  port = std::to_string(free);
  arguments.push_back(nullptr);
  pid_t parent = getpid();
  for (uint32_t rank = 0; rank < processes.size(); ++rank) {
    pid_t made = fork();
    if (made < 0)
      return complain("cannot start rank " + std::to_string(rank) + ": " +
                      strerror(errno));
    if (!made)
      become(rank, arguments, parent);
    processes[rank] = made;
  }
  return true;
}

void Launcher::signalAll(int number) const {
  for (pid_t process : processes)
    if (process)
      kill(process, number);
}

bool Launcher::anyRuns() const {
  for (pid_t process : processes)
    if (process)
      return true;
  return false;
}

/// Records ranks that have ended. If several have, one that a signal ended
/// counts as the first: the others failed because they lost contact with it.
void Launcher::reap() {
  int failed = kDone;
  for (uint32_t rank = 0; rank < processes.size(); ++rank) {
    int status = 0;
    if (!processes[rank] ||
        waitpid(processes[rank], &status, WNOHANG) != processes[rank])
      continue;
    processes[rank] = 0;
    if (!WIFSIGNALED(status)) {
      if (!failed)
        failed = WEXITSTATUS(status);
      continue;
    }
    // Ranks that the launcher itself ended are not reported.
    int number = WTERMSIG(status);
    if (!first) {
      complain("rank " + std::to_string(rank) + " was ended by signal " +
               std::to_string(number) + " (" + strsignal(number) + ")");
      first = 128 + number;
    }
  }
  if (failed && !first)
    first = failed;
}

int Launcher::wait(const sigset_t &signals) {
  int asked = 0; // 1: with SIGTERM, 2: with SIGKILL
  time_t since = 0;
  while (true) {
    reap();
    if (!anyRuns())
      break;
    time_t now = time(nullptr);
    if (first && !since)
      since = now;
    if (first && now - since >= kGrace * (asked + 1) && asked < 2)
      signalAll(asked++ ? SIGKILL : SIGTERM);
    timespec turn = {0, 200'000'000};
    int number = sigtimedwait(&signals, nullptr, &turn);
    // Rank 0 decides for all ranks.
    if (number > 0 && number != SIGCHLD && processes[0])
      kill(processes[0], number);
  }
  return first.value_or(kDone);
}

int frit::train::launchRanks(const Options &options, int count,
                             char **arguments) {
  std::vector<char *> own;
  for (int i = 0; i < count; ++i)
    if (!strcmp(arguments[i], "--devices"))
      ++i;
    else if (strncmp(arguments[i], "--devices=", 10))
      own.push_back(arguments[i]);
  sigset_t signals;
  sigemptyset(&signals);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD})
    sigaddset(&signals, number);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  Launcher launcher(options);
  return launcher.start(std::move(own)) ? launcher.wait(signals) : kMachine;
}
