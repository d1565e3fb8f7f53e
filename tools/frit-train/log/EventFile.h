//===- EventFile.h - A log that TensorBoard shows -------------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_LOG_EVENTFILE_H
#define FRIT_TOOLS_FRIT_TRAIN_LOG_EVENTFILE_H

#include "tools/frit-train/log/Log.h"

namespace frit::train {

/// An event file of TensorBoard. Every event in it is complete: it is written
/// at once, without buffering.
class EventFile {
public:
  EventFile() = default;
  EventFile(const EventFile &) = delete;
  ~EventFile();

  /// Creates a file with a new name in `folder`, which is created if it does
  /// not exist. TensorBoard shows all files of a folder as one run.
  Fault open(const std::string &folder);

  /// Writes the numbers of a line of the log as scalars of its "step", under
  /// their names, if a file is open. Lines without a step are left out.
  Fault write(const Json &line);

private:
  Fault writeRecord(const std::string &event);

  std::string path;
  int file = -1;
};

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_LOG_EVENTFILE_H
