//===- Loader.h - Load batches ahead of their use -------------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_DATA_LOADER_H
#define FRIT_TOOLS_FRIT_TRAIN_DATA_LOADER_H

#include "compiler/support/Thread.h"
#include "tools/frit-train/data/Dataset.h"

#include <condition_variable>
#include <functional>
#include <mutex>

namespace frit::train {

/// Checks the class numbers of one input.
struct LabelCheck {
  size_t input = 0;
  int64_t classes = 0;
  int64_t ignored = -100; ///< a label that means none
};

/// One step's inputs, in the dataset's order.
struct Batch {
  std::vector<std::span<uint8_t>> inputs;
  Fault fault; ///< what is wrong with the samples
};

/// Assembles batches on its own threads, ahead of the one in use.
class Loader {
public:
  struct Settings {
    uint64_t batch = 0;   ///< samples of a batch
    uint64_t first = 0;   ///< number of the first batch
    uint64_t end = 0;     ///< number after the last one
    unsigned workers = 1; ///< threads
    std::optional<LabelCheck> labels;
    /// Returns the sample in row `row` of batch `number`. Called on any thread.
    std::function<uint64_t(uint64_t number, uint64_t row)> sample;
    /// Allocates the batches' memory, which outlives the loader; returns null
    /// on failure. Empty: the loader uses its own.
    std::function<uint8_t *(uint64_t bytes)> allocate = {};
  };

  /// Keeps a reference to `data`, which must outlive this.
  Loader(const Dataset &data, Settings settings);
  Loader(const Loader &) = delete;
  ~Loader();

  /// Returns whether there was memory for all batches. Otherwise no other
  /// function may be called.
  bool isOpen() const { return hasRing; }

  /// Waits for the next batch, of `end - first` in all. It stays valid until
  /// the next call but one.
  const Batch &next();

  /// Returns whether next() has a batch ready.
  bool isReady();

  /// Returns the time that calls of next() have waited, in seconds.
  double waited() const { return seconds; }

private:
  struct Slot {
    Batch batch;
    std::vector<Storage> memory; ///< if the batch lies here
    bool isReady = false;
  };

  bool makeRing();
  void work();
  void fill(uint64_t number, Batch &batch) const;

  const Dataset &data;
  const Settings settings;
  std::vector<Slot> ring;
  bool hasRing = false;
  /// Fewer than `workers` if the system has no more. Without any, next() fills
  /// the batch itself.
  std::vector<Thread> threads;
  double seconds = 0;

  std::mutex mutex; ///< guards the members below and slots' readiness
  std::condition_variable filled, freed;
  uint64_t assigned; ///< number of the batch that a worker takes next
  uint64_t used;     ///< number of the batch that the caller takes next
  bool isEnding = false;
};

/// Checks labels, the elements of `input`, `perSample` for each sample.
/// `sample` returns the sample in a row.
Fault checkLabels(const LabelCheck &check, const Input &input,
                  std::span<const uint8_t> data, uint64_t perSample,
                  const std::function<uint64_t(uint64_t)> &sample);

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_DATA_LOADER_H
