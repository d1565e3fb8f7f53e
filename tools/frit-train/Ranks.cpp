//===- Ranks.cpp - Processes that train one model together ----------------===//

#include "tools/frit-train/Ranks.h"
#include "tools/support/ExitStatus.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace frit::train;
namespace tools = frit::tools;

//===----------------------------------------------------------------------===//
// Launchers
//===----------------------------------------------------------------------===//

namespace {
/// The variables of a launcher.
struct Launcher {
  const char *rank, *size;
  std::initializer_list<const char *> local;
};
} // namespace

/// torchrun also describes what an MPI or Slurm has started, so it comes first.
static const Launcher launchers[] = {
    {"RANK", "WORLD_SIZE", {"LOCAL_RANK"}},
    {"OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     {"OMPI_COMM_WORLD_LOCAL_RANK"}},
    {"PMI_RANK", "PMI_SIZE", {"MPI_LOCALRANKID", "PMI_LOCAL_RANK"}},
    // A batch script has SLURM_PROCID too, but runs once: only what srun starts
    // has the number of a step's tasks.
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", {"SLURM_LOCALID"}}};

static constexpr uint16_t kDefaultPort = 29500;

/// Reads a variable that is a number of at most `most`.
static bool readNumber(const char *name, uint64_t most, uint32_t &number,
                       std::string &error) {
  const char *text = getenv(name);
  uint64_t value = 0;
  const char *end = text + strlen(text);
  auto [last, fault] = std::from_chars(text, end, value);
  if (fault == std::errc() && last == end && value <= most) {
    number = uint32_t(value);
    return true;
  }
  error = std::string(name) + "='" + text + "' is not a number from 0 to " +
          std::to_string(most);
  return false;
}

static bool readLauncher(const Launcher &launcher, Place &place,
                         std::string &error) {
  if (!readNumber(launcher.size, kMostRanks, place.size, error) ||
      !readNumber(launcher.rank, kMostRanks, place.rank, error))
    return false;
  if (place.rank >= place.size) {
    error = std::string(launcher.rank) + "=" + std::to_string(place.rank) +
            " is no rank of " + launcher.size + "=" +
            std::to_string(place.size);
    return false;
  }
  for (const char *local : launcher.local)
    if (getenv(local))
      return readNumber(local, kMostRanks, place.local, error);
  return true;
}

bool frit::train::findPlace(Place &place, std::string &error) {
  for (const Launcher &launcher : launchers)
    if (getenv(launcher.rank) && getenv(launcher.size)) {
      if (!readLauncher(launcher, place, error))
        return false;
      break;
    }
  // A rank that does not know itself would train alone.
  uint32_t size = 1;
  if (place.size == 1 && getenv("WORLD_SIZE") && !getenv("RANK")) {
    if (!readNumber("WORLD_SIZE", kMostRanks, size, error))
      return false;
    if (size > 1) {
      error = "WORLD_SIZE=" + std::to_string(size) +
              ", and RANK does not say which of them this is";
      return false;
    }
  }
  if (place.size == 1)
    return true;
  const char *address = getenv("MASTER_ADDR");
  if (!address || !*address) {
    error = "there are " + std::to_string(place.size) +
            " ranks: MASTER_ADDR must name the host of rank 0";
    return false;
  }
  place.address = address;
  uint32_t port = kDefaultPort;
  if (getenv("MASTER_PORT") && !readNumber("MASTER_PORT", 65534, port, error))
    return false;
  // torchrun listens at the port itself.
  const char *agent = getenv("TORCHELASTIC_USE_AGENT_STORE");
  place.port = uint16_t(port + (agent && !strcmp(agent, "True")));
  return true;
}

//===----------------------------------------------------------------------===//
// Connections
//===----------------------------------------------------------------------===//

namespace {
using Clock = std::chrono::steady_clock;

/// What a rank says first, to which rank 0 answers with its own.
struct Hello {
  char program[16] = "frit-train 2";
  uint32_t rank = 0, size = 0;
};

/// The time that is left.
class Deadline {
public:
  explicit Deadline(double seconds)
      : end(Clock::now() + std::chrono::milliseconds(int64_t(seconds * 1e3))) {}
  int milliseconds() const {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - Clock::now());
    return int(std::max<int64_t>(left.count(), 0));
  }

private:
  Clock::time_point end;
};

struct FreeAddresses {
  void operator()(addrinfo *list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;
} // namespace

static std::string placeText(const Place &place) {
  return place.address + ":" + std::to_string(place.port);
}

static Addresses resolve(const Place &place, std::string &error) {
  addrinfo hints = {}, *list = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  int fault = getaddrinfo(place.address.c_str(),
                          std::to_string(place.port).c_str(), &hints, &list);
  if (fault)
    error = "MASTER_ADDR '" + place.address + "': " + gai_strerror(fault);
  return Addresses(fault ? nullptr : list);
}

Ranks::~Ranks() {
  for (int socket : sockets)
    if (socket >= 0)
      close(socket);
}

static void setPatience(int connection, int milliseconds) {
  timeval patience = {milliseconds / 1000, milliseconds % 1000 * 1000};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

/// What comes first on a connection.
enum class Heard { hello, nothing, end };

/// Reads a hello, for at most about `milliseconds`. Other words are nothing.
static Heard readHello(int connection, Hello &hello, int milliseconds) {
  // A patience of 0 has no end.
  setPatience(connection, std::max(milliseconds, 1));
  ssize_t got = recv(connection, &hello, sizeof hello, MSG_WAITALL);
  setPatience(connection, 0);
  if (got == 0)
    return Heard::end;
  bool isHello = got == ssize_t(sizeof hello) &&
                 !memcmp(hello.program, Hello().program, sizeof hello.program);
  return isHello ? Heard::hello : Heard::nothing;
}

static void sendAtOnce(int connection) {
  int on = 1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(connection, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

bool Ranks::greet(size_t to, const Place &place, std::string &error) {
  Hello hello;
  hello.rank = place.rank;
  hello.size = place.size;
  return send(to, {reinterpret_cast<const uint8_t *>(&hello), sizeof hello},
              error);
}

bool Ranks::accept(const Place &place, double seconds, std::string &error) {
  Addresses addresses = resolve(place, error);
  if (!addresses)
    return false;
  int listening = socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int on = 1;
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (listening < 0 ||
      bind(listening, addresses->ai_addr, addresses->ai_addrlen) ||
      listen(listening, int(place.size))) {
    error =
        "rank 0 cannot listen at " + placeText(place) + ": " + strerror(errno);
    if (listening >= 0)
      close(listening);
    return false;
  }
  sockets.assign(place.size, -1);
  Deadline deadline(seconds);
  uint32_t missing = place.size - 1;
  while (missing && error.empty()) {
    pollfd waiting = {listening, POLLIN, 0};
    if (poll(&waiting, 1, deadline.milliseconds()) <= 0) {
      if (errno == EINTR && deadline.milliseconds())
        continue;
      error = "rank 0 waited at " + placeText(place) + " for other ranks";
      for (uint32_t rank = 1, named = 0; rank < place.size && named < 8; ++rank)
        if (sockets[rank] < 0)
          error += (named++ ? ", " : ", and these did not come: ") +
                   std::to_string(rank);
      break;
    }
    int connection = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    Hello hello;
    if (connection < 0)
      continue;
    // Others may try the port too.
    int patience = std::min(deadline.milliseconds(), 1000);
    bool isRank = readHello(connection, hello, patience) == Heard::hello;
    if (!isRank || hello.size != place.size || !hello.rank ||
        hello.rank >= place.size || sockets[hello.rank] >= 0) {
      if (isRank)
        error = "rank " + std::to_string(hello.rank) + " of " +
                std::to_string(hello.size) + " came, and this run has " +
                std::to_string(place.size) + " ranks";
      close(connection);
      continue;
    }
    sendAtOnce(connection);
    sockets[hello.rank] = connection;
    --missing;
    if (!greet(hello.rank, place, error))
      break;
  }
  close(listening);
  return error.empty();
}

bool Ranks::reach(const Place &place, double seconds, std::string &error) {
  Deadline deadline(seconds);
  // Rank 0 may start later.
  while (true) {
    Addresses addresses = resolve(place, error);
    if (!addresses)
      return false;
    int connection =
        socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection >= 0 &&
        !::connect(connection, addresses->ai_addr, addresses->ai_addrlen)) {
      sendAtOnce(connection);
      sockets = {connection};
      if (!greet(0, place, error))
        return false;
      Hello answer;
      Heard heard = readHello(connection, answer, deadline.milliseconds());
      if (heard == Heard::nothing)
        error = "no rank 0 answers at " + placeText(place) +
                ": does another program listen there?";
      return heard == Heard::hello || (heard == Heard::end && lost(0, error));
    }
    int fault = errno;
    if (connection >= 0)
      close(connection);
    if (!deadline.milliseconds()) {
      error =
          "cannot reach rank 0 at " + placeText(place) + ": " + strerror(fault);
      return false;
    }
    usleep(50'000);
  }
}

bool Ranks::connect(const Place &place, double seconds, std::string &error) {
  isFirst = place.rank == 0;
  if (place.size == 1)
    return true;
  return isFirst ? accept(place, seconds, error) : reach(place, seconds, error);
}

bool Ranks::lost(size_t other, std::string &error) {
  abandoned = !isFirst;
  error = "rank " + std::to_string(other) + " has ended";
  return false;
}

bool Ranks::send(size_t to, std::span<const uint8_t> bytes,
                 std::string &error) {
  while (!bytes.empty()) {
    ssize_t sent =
        ::send(sockets[to], bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return lost(to, error);
    bytes = bytes.subspan(size_t(sent));
  }
  return true;
}

bool Ranks::receive(size_t from, std::span<uint8_t> bytes, std::string &error) {
  while (!bytes.empty()) {
    ssize_t got = recv(sockets[from], bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return lost(from, error);
    bytes = bytes.subspan(size_t(got));
  }
  return true;
}

bool Ranks::share(std::span<uint8_t> bytes, std::string &error) {
  if (!isFirst)
    return receive(0, bytes, error);
  for (size_t rank = 1; rank < sockets.size(); ++rank) {
    // Data that nobody reads would hide that a rank has ended.
    char byte;
    if (recv(sockets[rank], &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
      return lost(rank, error);
    if (!send(rank, bytes, error))
      return false;
  }
  return true;
}

bool Ranks::whileAllRun(const std::function<bool()> &wait,
                        const std::function<void(uint32_t)> &ended) {
  int done = eventfd(0, EFD_CLOEXEC);
  std::vector<pollfd> all = {{done, POLLIN, 0}};
  for (int socket : sockets)
    all.push_back({socket, POLLRDHUP, 0});
  std::thread watch([&] {
    while (poll(all.data(), all.size(), -1) < 0 && errno == EINTR)
      ;
    auto gone = std::ranges::find_if(all, [](pollfd p) { return p.revents; });
    // The runtime may notice it too, and say more.
    constexpr int kPatience = 1000; // milliseconds
    if (gone == all.begin() || poll(all.data(), 1, kPatience) > 0)
      return;
    ended(uint32_t(gone - all.begin() - 1));
    _exit(isFirst ? tools::kMachine : tools::kDone);
  });
  bool good = wait();
  uint64_t one = 1;
  (void)!write(done, &one, sizeof one);
  watch.join();
  close(done);
  return good;
}

void Ranks::askToStop(int signal) {
  // Whether rank 0 is there, the next step finds out.
  std::string error;
  uint8_t byte = uint8_t(signal);
  send(0, {&byte, 1}, error);
}

int Ranks::askedToStop() {
  uint8_t signal = 0;
  for (size_t rank = 1; rank < sockets.size(); ++rank)
    if (recv(sockets[rank], &signal, 1, MSG_DONTWAIT) == 1)
      return signal;
  return 0;
}

bool Ranks::gather(uint64_t number, std::vector<uint64_t> &all,
                   std::string &error) {
  all = {number};
  auto bytesOf = [](uint64_t &value) {
    return std::span(reinterpret_cast<uint8_t *>(&value), sizeof value);
  };
  if (!isFirst)
    return send(0, bytesOf(number), error);
  for (size_t rank = 1; rank < sockets.size(); ++rank)
    if (!receive(rank, bytesOf(all.emplace_back()), error))
      return false;
  return true;
}
