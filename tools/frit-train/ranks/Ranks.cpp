//===- Ranks.cpp - Processes that train one model together ----------------===//

#include "tools/frit-train/ranks/Ranks.h"
#include "compiler/support/Thread.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace frit::train;

namespace {
using Clock = std::chrono::steady_clock;

/// First message of a rank, which rank 0 answers with its own.
struct Hello {
  char program[16] = "frit-train 2";
  uint32_t rank = 0, size = 0;
};

/// The time remaining.
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

/// Returns the fault of a connection between ranks.
static Fault connectionFault(std::string message) {
  return Fault(std::move(message), kMachine);
}

static Fault resolve(const Place &place, Addresses &addresses) {
  addrinfo hints = {}, *list = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  int code = getaddrinfo(place.address.c_str(),
                         std::to_string(place.port).c_str(), &hints, &list);
  if (code)
    return connectionFault("MASTER_ADDR '" + place.address +
                           "': " + gai_strerror(code));
  addresses.reset(list);
  return {};
}

Ranks::~Ranks() {
  for (int socket : sockets)
    if (socket >= 0)
      close(socket);
}

static void setPatience(int connection, int milliseconds) {
  timeval patience = {milliseconds / 1000, milliseconds % 1000 * 1000L};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

/// First event on a connection.
enum class Heard { hello, nothing, end };

/// Reads a hello, waiting about `milliseconds`. Other bytes count as nothing.
static Heard readHello(int connection, Hello &hello, int milliseconds) {
  // A timeout of 0 would be infinite.
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

Fault Ranks::greet(size_t to, const Place &place) {
  Hello hello;
  hello.rank = place.rank;
  hello.size = place.size;
  return send(to, {reinterpret_cast<const uint8_t *>(&hello), sizeof hello});
}

Fault Ranks::accept(const Place &place, double seconds) {
  Addresses addresses;
  if (Fault fault = resolve(place, addresses))
    return fault;
  int listening = socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int on = 1;
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  bool listens = listening >= 0 &&
                 !bind(listening, addresses->ai_addr, addresses->ai_addrlen) &&
                 !listen(listening, int(place.size));
  Fault fault =
      listens ? acceptAll(listening, place, seconds)
              : connectionFault("rank 0 cannot listen at " + placeText(place) +
                                ": " + strerror(errno));
  if (listening >= 0)
    close(listening);
  return fault;
}

Fault Ranks::missingRanks(const Place &place) const {
  std::string message =
      "rank 0 waited at " + placeText(place) + " for other ranks";
  for (uint32_t rank = 1, named = 0; rank < place.size && named < 8; ++rank)
    if (sockets[rank] < 0)
      message += (named++ ? ", " : ", and these did not come: ") +
                 std::to_string(rank);
  return connectionFault(message);
}

Fault Ranks::acceptAll(int listening, const Place &place, double seconds) {
  sockets.assign(place.size, -1);
  Deadline deadline(seconds);
  uint32_t missing = place.size - 1;
  while (missing) {
    pollfd waiting = {listening, POLLIN, 0};
    if (poll(&waiting, 1, deadline.milliseconds()) <= 0) {
      if (errno == EINTR && deadline.milliseconds())
        continue;
      return missingRanks(place);
    }
    int connection = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    Hello hello;
    if (connection < 0)
      continue;
    // Other programs may connect to the port too.
    int patience = std::min(deadline.milliseconds(), 1000);
    bool isRank = readHello(connection, hello, patience) == Heard::hello;
    if (!isRank || hello.size != place.size || !hello.rank ||
        hello.rank >= place.size || sockets[hello.rank] >= 0) {
      close(connection);
      if (!isRank)
        continue;
      return connectionFault("rank " + std::to_string(hello.rank) + " of " +
                             std::to_string(hello.size) +
                             " came, and this run has " +
                             std::to_string(place.size) + " ranks");
    }
    sendAtOnce(connection);
    sockets[hello.rank] = connection;
    --missing;
    if (Fault fault = greet(hello.rank, place))
      return fault;
  }
  return {};
}

Fault Ranks::reach(const Place &place, double seconds) {
  Deadline deadline(seconds);
  // Rank 0 may start later.
  while (true) {
    Addresses addresses;
    if (Fault fault = resolve(place, addresses))
      return fault;
    int connection =
        socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection >= 0 &&
        !::connect(connection, addresses->ai_addr, addresses->ai_addrlen)) {
      sendAtOnce(connection);
      sockets = {connection};
      if (Fault fault = greet(0, place))
        return fault;
      Hello answer;
      Heard heard = readHello(connection, answer, deadline.milliseconds());
      if (heard == Heard::nothing)
        return connectionFault("no rank 0 answers at " + placeText(place) +
                               ": does another program listen there?");
      return heard == Heard::hello ? Fault() : lost(0);
    }
    int code = errno;
    if (connection >= 0)
      close(connection);
    if (!deadline.milliseconds())
      return connectionFault("cannot reach rank 0 at " + placeText(place) +
                             ": " + strerror(code));
    usleep(50'000);
  }
}

Fault Ranks::connect(const Place &place, double seconds) {
  isFirst = place.rank == 0;
  if (place.size == 1)
    return {};
  return isFirst ? accept(place, seconds) : reach(place, seconds);
}

Fault Ranks::lost(size_t other) {
  abandoned = !isFirst;
  return connectionFault("rank " + std::to_string(other) + " has ended");
}

Fault Ranks::send(size_t to, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t sent =
        ::send(sockets[to], bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return lost(to);
    bytes = bytes.subspan(size_t(sent));
  }
  return {};
}

Fault Ranks::receive(size_t from, std::span<uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t got = recv(sockets[from], bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return lost(from);
    bytes = bytes.subspan(size_t(got));
  }
  return {};
}

Fault Ranks::share(std::span<uint8_t> bytes) {
  if (!isFirst)
    return receive(0, bytes);
  for (size_t rank = 1; rank < sockets.size(); ++rank) {
    // Unread data would hide that a rank has ended.
    char byte;
    if (recv(sockets[rank], &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
      return lost(rank);
    if (Fault fault = send(rank, bytes))
      return fault;
  }
  return {};
}

Fault Ranks::whileAllRun(const std::function<void()> &wait,
                         const std::function<void(uint32_t)> &ended) {
  int done = eventfd(0, EFD_CLOEXEC);
  std::vector<pollfd> all = {{done, POLLIN, 0}};
  for (int socket : sockets)
    all.push_back({socket, POLLRDHUP, 0});
  Thread watch([&] {
    while (poll(all.data(), all.size(), -1) < 0 && errno == EINTR)
      ;
    auto gone = std::ranges::find_if(all, [](pollfd p) { return p.revents; });
    // The runtime may report it too, with more detail.
    constexpr int kPatience = 1000; // milliseconds
    if (gone == all.begin() || poll(all.data(), 1, kPatience) > 0)
      return;
    ended(uint32_t(gone - all.begin() - 1));
    _exit(isFirst ? kMachine : kDone);
  });
  bool isWatched = watch.runs();
  if (isWatched)
    wait();
  uint64_t one = 1;
  (void)!write(done, &one, sizeof one);
  watch.join();
  close(done);
  return isWatched ? Fault()
                   : connectionFault("the system has no thread that watches "
                                     "the other ranks");
}

void Ranks::askToStop(int signal) {
  // If rank 0 has ended, the next step finds out.
  uint8_t byte = uint8_t(signal);
  (void)send(0, {&byte, 1});
}

int Ranks::askedToStop() {
  uint8_t signal = 0;
  for (size_t rank = 1; rank < sockets.size(); ++rank)
    if (recv(sockets[rank], &signal, 1, MSG_DONTWAIT) == 1)
      return signal;
  return 0;
}

Fault Ranks::gather(uint64_t number, std::vector<uint64_t> &all) {
  all = {number};
  auto bytesOf = [](uint64_t &value) {
    return std::span(reinterpret_cast<uint8_t *>(&value), sizeof value);
  };
  if (!isFirst)
    return send(0, bytesOf(number));
  for (size_t rank = 1; rank < sockets.size(); ++rank)
    if (Fault fault = receive(rank, bytesOf(all.emplace_back())))
      return fault;
  return {};
}
