//===- TrainerRanks.cpp - Coordination of a run's ranks -------------------===//

#include "tools/frit-train/Stop.h"
#include "tools/frit-train/Trainer.h"
#include "tools/support/Message.h"

#include <algorithm>
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
bool Trainer::checkRanks(const Fault &fault) {
  return !fault || (ranks.isAbandoned() ? model.leave() : model.failed(fault));
}

bool Trainer::connect() {
  Fault fault = ranks.connect(options.place, double(options.joinTimeout));
  return !fault || model.failed(fault);
}

/// Sends the batch that rank 0 has chosen to the others.
bool Trainer::shareBatch(uint64_t &batch) {
  return options.place.size == 1 || !options.largestBatch ||
         checkRanks(ranks.share(bytesOf(batch)));
}

/// Checks that a number is the same as on rank 0.
bool Trainer::isSame(const char *of, uint64_t own, uint64_t first) {
  return own == first ||
         model.failed("it has " + std::to_string(own) + " " + of +
                      ", and rank 0 has " + std::to_string(first));
}

/// Joins the ranks, at the position of rank 0.
bool Trainer::joinRanks() {
  if (options.place.size == 1)
    return true;
  bool isFirst = !options.place.rank;
  Beginning begin;
  if (isFirst) {
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
    begin.isResumed = savedAt.has_value();
  }
  if (!checkRanks(ranks.share(bytesOf(begin))) ||
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
  // A rank whose settings do not match has ended instead.
  std::vector<uint64_t> ready;
  if (!checkRanks(ranks.gather(1, ready)))
    return false;
  bool hasJoined = false;
  Fault fault = ranks.whileAllRun([&] { hasJoined = model.join(begin.group); },
                                  [&](uint32_t rank) {
                                    if (isFirst)
                                      complain("rank " + std::to_string(rank) +
                                               " has ended");
                                  });
  if (fault)
    return model.failed(fault);
  // Only now does a rank know its part of the state.
  return hasJoined && (!begin.isResumed || shareState()) && checkEqual();
}

/// Broadcasts the state of rank 0's checkpoint.
bool Trainer::shareState() {
  if (options.place.rank)
    model.allocateState(resumed);
  // Sort, because a file has its own order.
  std::ranges::sort(resumed, {}, &TensorView::name);
  for (TensorView &tensor : resumed) {
    std::span<uint8_t> bytes(const_cast<uint8_t *>(tensor.data.data()),
                             tensor.data.size());
    if (!checkRanks(ranks.share(bytes)))
      return false;
  }
  bool isWritten = model.writeState(resumed);
  resumed.clear();
  rate.reset();
  return isWritten && setRate();
}

/// Checks that all ranks begin with the same state. Then gives each rank its
/// own seed.
bool Trainer::checkEqual() {
  std::vector<TensorView> state;
  if (!model.readState(state))
    return false;
  uint64_t digest = 0xcbf29ce484222325ull; // FNV-1a
  for (const TensorView &tensor : state)
    for (uint8_t byte : tensor.data)
      digest = (digest ^ byte) * 0x100000001b3ull;
  std::vector<uint64_t> all;
  if (!checkRanks(ranks.gather(digest, all)))
    return false;
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != digest)
      return model.failed("rank " + std::to_string(rank) +
                          " begins with other weights than rank 0: is its '" +
                          options.model + "' another file?");
  double seed = 0;
  if (!options.place.rank || !model.hasState(FRIT_STATE_RANDOM_SEED))
    return true;
  return model.readNumber(FRIT_STATE_RANDOM_SEED, seed) &&
         model.writeNumber(FRIT_STATE_RANDOM_SEED,
                           seed + double(options.place.rank) * 4294967296.);
}

/// Sends an order from rank 0 to the other ranks.
bool Trainer::tell(Order order) {
  return options.place.size == 1 || options.place.rank ||
         checkRanks(ranks.share(bytesOf(order)));
}

/// Follows the orders of rank 0 on the other ranks, up to a step or the end of
/// the run, whichever is the `last`.
bool Trainer::obey(Order &last) {
  do {
    if (!checkRanks(ranks.share(bytesOf(last))))
      return false;
    if (last == Order::read && !model.giveState())
      return false;
  } while (last == Order::read);
  return true;
}

/// Lets all ranks continue. On the others, sets `hasEnded` if rank 0 has ended
/// the run instead.
bool Trainer::goesOn() {
  if (!options.place.rank)
    return tell(Order::step);
  Order last = Order::end;
  if (!obey(last))
    return false;
  hasEnded = last == Order::end;
  return true;
}

/// Reads the state on rank 0; the others send their parts.
bool Trainer::readState(std::vector<TensorView> &state) {
  return tell(Order::read) && model.readState(state);
}

/// Returns the number of ranks as text, if there are several.
std::string Trainer::ranksText() const {
  if (options.place.size == 1)
    return "";
  return " (" + std::to_string(options.place.size) + " ranks of " +
         std::to_string(model.train.batch()) + " samples)";
}

/// Returns the signal at which the run should stop, or 0. Rank 0 decides for
/// all; the others send it their signals.
int Trainer::stopSignal() {
  int signal = StopSignals::received();
  if (options.place.size == 1)
    return signal;
  if (!options.place.rank)
    return signal ? signal : ranks.askedToStop();
  if (signal && !std::exchange(hasAsked, true))
    ranks.askToStop(signal);
  return 0;
}
