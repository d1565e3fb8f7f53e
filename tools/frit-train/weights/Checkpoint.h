//===- Checkpoint.h - Checkpoints of the state ----------------------------===//
//
// A checkpoint is a safetensors file with the whole state, named by its step:
// step-000100.safetensors, or best.safetensors. It is written under another
// name, synced and then renamed. So a file with that name is complete, whenever
// the program or the machine stops.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_WEIGHTS_CHECKPOINT_H
#define FRIT_TOOLS_FRIT_TRAIN_WEIGHTS_CHECKPOINT_H

#include "tools/frit-train/weights/Best.h"
#include "tools/support/SafetensorsFile.h"

#include <optional>
#include <string>
#include <vector>

namespace frit::train {

using namespace tools;

/// Progress of a run, and the properties that determine its order of samples.
struct Position {
  std::string model;    ///< name of the artifact's model
  uint64_t steps = 0;   ///< done
  uint64_t epoch = 0;   ///< of the next step, counted from 0
  uint64_t inEpoch = 0; ///< batches done in that epoch
  uint64_t samples = 0, batch = 0;
  uint64_t seed = 0;
  bool isShuffled = true;
  Best best; ///< of the evaluations so far
};

/// The state in a checkpoint.
struct Checkpoint {
  std::string path;
  Position position;
  std::vector<TensorView> state;
};

/// A folder of checkpoints, locked against other programs.
class CheckpointFolder {
public:
  CheckpointFolder() = default;
  CheckpointFolder(const CheckpointFolder &) = delete;
  ~CheckpointFolder();

  /// Creates the folder if there is none, locks it, and keeps its names from
  /// other outputs (see OwnedFiles.h). Fails if an input has such a name, for
  /// checkpoints are replaced and removed.
  Fault open(const std::string &path);
  bool isOpen() const { return !folder.empty(); }

  /// Removes files of an interrupted write.
  void removePartial() const;

  /// Returns the paths of the checkpoints, the newest first.
  std::vector<std::string> list() const;

  /// Writes a checkpoint and then removes all but the newest `keep` - 1 of the
  /// earlier ones. On failure keeps the others.
  Fault write(const Position &position, const std::vector<TensorView> &state,
              uint64_t keep);

  /// Writes a checkpoint over the best one.
  Fault writeBest(const Position &position,
                  const std::vector<TensorView> &state);
  std::string bestPath() const;
  bool hasBest() const;

  const std::string &path() const { return folder; }
  /// Returns the path of the checkpoint of a step.
  std::string pathOf(uint64_t steps) const;

private:
  Fault writeFile(const std::string &path, const Position &position,
                  const std::vector<TensorView> &state);

  std::string folder;
  int lock = -1;
  bool isNew = false; ///< it did not exist
};

/// A fault of a checkpoint.
class CheckpointFault : public Fault {
public:
  enum Kind {
    damaged, ///< it is truncated, corrupt or unreadable
    foreign  ///< it belongs to another model or program
  };

  CheckpointFault() = default;
  CheckpointFault(Kind kind, std::string message)
      : Fault(std::move(message)), kind(kind) {}

  bool isDamaged() const { return *this && kind == damaged; }
  bool isForeign() const { return *this && kind == foreign; }

private:
  Kind kind = damaged;
};

/// Reads the checkpoint at `path`. Its tensors must have the names, types and
/// shapes of `expected`, whose elements are not read, and the position must be
/// of that model.
CheckpointFault readCheckpoint(const std::string &path,
                               const std::vector<TensorView> &expected,
                               const std::string &model,
                               Checkpoint &checkpoint);

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_WEIGHTS_CHECKPOINT_H
