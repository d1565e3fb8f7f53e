//===- Team.cpp - Coordination of a run's ranks ---------------------------===//

#include "tools/frit-train/Team.h"
#include "tools/frit-train/Stop.h"
#include "tools/support/Message.h"

#include <utility>

using namespace frit::train;

namespace {
/// Position and settings that rank 0 sends to the others at the start.
struct Beginning {
  frit_group_id group = {};
  uint64_t steps = 0, epoch = 0, inEpoch = 0;
  uint64_t samples = 0, batch = 0, total = 0, seed = 0;
  uint64_t isShuffled = 0, isResumed = 0;
};
} // namespace

static std::span<uint8_t> bytesOf(auto &value) {
  return {reinterpret_cast<uint8_t *>(&value), sizeof value};
}

/// Ends after a lost connection. If it was the one to rank 0, rank 0 reports
/// the end of the run.
bool Team::check(const Fault &fault) {
  return !fault || (ranks.isAbandoned() ? model.leave() : model.failed(fault));
}

bool Team::connect() {
  Fault fault = ranks.connect(options.place, double(options.joinTimeout));
  return !fault || model.failed(fault);
}

bool Team::shareBatch(uint64_t &batch) {
  return isAlone() || !options.largestBatch || share(bytesOf(batch));
}

/// Checks that a number is the same as on rank 0.
bool Team::isSame(const char *of, uint64_t own, uint64_t first) {
  return own == first ||
         model.failed("it has " + std::to_string(own) + " " + of +
                      ", and rank 0 has " + std::to_string(first));
}

bool Team::join(Position &position, uint64_t total, bool &resumed) {
  if (isAlone())
    return true;
  Beginning begin;
  if (isFirst()) {
    if (!model.makeGroup(begin.group))
      return false;
    begin.steps = position.steps;
    begin.epoch = position.epoch;
    begin.inEpoch = position.inEpoch;
    begin.samples = position.samples;
    begin.batch = position.batch;
    begin.total = total;
    begin.seed = position.seed;
    begin.isShuffled = position.isShuffled;
    begin.isResumed = resumed;
  }
  if (!share(bytesOf(begin)) ||
      !isSame("samples", position.samples, begin.samples) ||
      !isSame("samples in the batch of all ranks", position.batch,
              begin.batch) ||
      !isSame("steps", total, begin.total))
    return false;
  position.steps = begin.steps;
  position.epoch = begin.epoch;
  position.inEpoch = begin.inEpoch;
  position.seed = begin.seed;
  position.isShuffled = begin.isShuffled;
  resumed = begin.isResumed;
  // A rank whose settings do not match has ended instead.
  std::vector<uint64_t> ready;
  if (!check(ranks.gather(1, ready)))
    return false;
  bool hasJoined = false;
  Fault fault = ranks.whileAllRun([&] { hasJoined = model.join(begin.group); },
                                  [&](uint32_t rank) {
                                    if (isFirst())
                                      complain("rank " + std::to_string(rank) +
                                               " has ended");
                                  });
  if (fault)
    return model.failed(fault);
  return hasJoined;
}

bool Team::checkEqual() {
  if (isAlone())
    return true;
  std::vector<TensorView> state;
  if (!model.readState(state))
    return false;
  uint64_t digest = 0xcbf29ce484222325ull; // FNV-1a
  for (const TensorView &tensor : state)
    for (uint8_t byte : tensor.data)
      digest = (digest ^ byte) * 0x100000001b3ull;
  std::vector<uint64_t> all;
  if (!check(ranks.gather(digest, all)))
    return false;
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != digest)
      return model.failed("rank " + std::to_string(rank) +
                          " begins with other weights than rank 0: is its '" +
                          options.model + "' another file?");
  double seed = 0;
  if (isFirst() || !model.hasState(FRIT_STATE_RANDOM_SEED))
    return true;
  return model.readNumber(FRIT_STATE_RANDOM_SEED, seed) &&
         model.writeNumber(FRIT_STATE_RANDOM_SEED,
                           seed + double(options.place.rank) * 4294967296.);
}

/// Sends an order from rank 0 to the other ranks.
bool Team::tell(Order order) {
  return isAlone() || !isFirst() || share(bytesOf(order));
}

/// Follows the orders of rank 0 on the other ranks, up to a step or the end of
/// the run, whichever is the `last`.
bool Team::obey(Order &last) {
  do {
    if (!share(bytesOf(last)))
      return false;
    if (last == Order::read && !model.giveState())
      return false;
  } while (last == Order::read);
  return true;
}

bool Team::goesOn() {
  if (isFirst())
    return tell(Order::step);
  Order last = Order::end;
  if (!obey(last))
    return false;
  ended = last == Order::end;
  return true;
}

bool Team::end() {
  Order last = Order::end;
  return isFirst() ? tell(last) : ended || obey(last);
}

bool Team::readState(std::vector<TensorView> &state) {
  return tell(Order::read) && model.readState(state);
}

std::string Team::text() const {
  if (isAlone())
    return "";
  return " (" + std::to_string(options.place.size) + " ranks of " +
         std::to_string(model.train.batch()) + " samples)";
}

int Team::stopSignal() {
  int signal = StopSignals::received();
  if (isAlone())
    return signal;
  if (isFirst())
    return signal ? signal : ranks.askedToStop();
  if (signal && !std::exchange(hasAsked, true))
    ranks.askToStop(signal);
  return 0;
}
