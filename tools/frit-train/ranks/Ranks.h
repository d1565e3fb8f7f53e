//===- Ranks.h - Processes that train one model together ------------------===//
//
// Every rank trains on its part of each batch. Gradients are averaged inside
// the step. Rank 0 decides and writes all results; it has a TCP connection to
// each of the others.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_RANKS_RANKS_H
#define FRIT_TOOLS_FRIT_TRAIN_RANKS_RANKS_H

#include "tools/frit-train/ranks/Place.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace frit::train {

using namespace tools;

/// Connections between rank 0 and the others.
class Ranks {
public:
  Ranks() = default;
  Ranks(const Ranks &) = delete;
  ~Ranks();

  /// Waits until all ranks are connected, `seconds` at most.
  Fault connect(const Place &place, double seconds);

  /// Broadcasts `bytes` from rank 0 to all others.
  Fault share(std::span<uint8_t> bytes);
  /// Gathers a number of each rank on rank 0, in rank order.
  Fault gather(uint64_t number, std::vector<uint64_t> &all);

  /// Runs `wait`, in which the runtime waits for all ranks. If a rank ends
  /// meanwhile, the wait would be endless: calls `ended` and ends the program,
  /// with status 4, or 0 if that rank is rank 0. Fails, without a wait, if the
  /// system has no thread to notice that.
  Fault whileAllRun(const std::function<void()> &wait,
                    const std::function<void(uint32_t rank)> &ended);

  /// Tells rank 0 to stop because of a signal, after the last `gather`.
  void askToStop(int signal);
  /// Returns the signal that another rank has sent to rank 0; 0 if none.
  int askedToStop();

  /// Returns whether rank 0 has ended or closed its connection, after a
  /// failure.
  bool isAbandoned() const { return abandoned; }

private:
  Fault accept(const Place &place, double seconds);
  Fault acceptAll(int listening, const Place &place, double seconds);
  Fault reach(const Place &place, double seconds);
  /// Sends a hello to a rank.
  Fault greet(size_t to, const Place &place);
  Fault send(size_t to, std::span<const uint8_t> bytes);
  Fault receive(size_t from, std::span<uint8_t> bytes);
  /// Returns the fault of a connection that was lost.
  Fault lost(size_t other);
  Fault missingRanks(const Place &place) const;

  bool isFirst = true;
  bool abandoned = false;
  /// Sockets. On rank 0 by rank, -1 for itself; on others the one to rank 0.
  std::vector<int> sockets;
};

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_RANKS_RANKS_H
