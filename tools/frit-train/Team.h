//===- Team.h - Coordination of a run's ranks -----------------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_TEAM_H
#define FRIT_TOOLS_FRIT_TRAIN_TEAM_H

#include "tools/frit-train/Model.h"
#include "tools/frit-train/ranks/Ranks.h"
#include "tools/frit-train/weights/Checkpoint.h"

namespace frit::train {

/// The ranks of a run, of which rank 0 decides for all. With a single rank, all
/// of this does nothing. Functions that return bool print an error before they
/// return false.
class Team {
public:
  Team(const Options &options, Model &model) : options(options), model(model) {}

  bool isAlone() const { return options.place.size == 1; }
  bool isFirst() const { return !options.place.rank; }

  /// Connects the ranks.
  bool connect();
  /// Sends the batch that rank 0 has chosen to the others.
  bool shareBatch(uint64_t &batch);
  /// Joins the ranks: gives all the position of rank 0, and whether it has
  /// `resumed`. Ranks whose data or `total` of steps differ fail.
  bool join(Position &position, uint64_t total, bool &resumed);
  /// Broadcasts bytes of rank 0.
  bool share(std::span<uint8_t> bytes) { return check(ranks.share(bytes)); }
  /// Checks that all ranks begin with the same state. Then gives each rank its
  /// own seed.
  bool checkEqual();

  /// Lets all ranks continue with a step.
  bool goesOn();
  /// Ends the run: rank 0 tells the others, which follow it until then.
  bool end();
  /// Returns whether rank 0 has ended the run, on other ranks.
  bool hasEnded() const { return ended; }
  /// Reads the state on rank 0; the others send their parts.
  bool readState(std::vector<TensorView> &state);
  /// Returns the signal at which the run should stop, or 0. Rank 0 decides for
  /// all; the others send it their signals.
  int stopSignal();

  /// Returns the number of ranks as text, if there are several.
  std::string text() const;

private:
  /// Orders that rank 0 sends to the other ranks.
  enum class Order : uint8_t { end, step, read };

  bool check(const Fault &fault);
  bool isSame(const char *of, uint64_t own, uint64_t first);
  bool tell(Order order);
  bool obey(Order &last);

  const Options &options;
  Model &model;
  Ranks ranks;
  bool ended = false;    ///< rank 0 has ended the run
  bool hasAsked = false; ///< whether rank 0 was told of a signal
};

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_TEAM_H
