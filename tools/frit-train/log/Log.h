//===- Log.h - The log of a run -------------------------------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_LOG_LOG_H
#define FRIT_TOOLS_FRIT_TRAIN_LOG_LOG_H

#include "tools/support/Fault.h"

#include <nlohmann/json.hpp>
#include <string>

namespace frit::train {

using namespace tools;

using Json = nlohmann::ordered_json;

/// A file of JSON lines to append to. Every line in it is complete: it is
/// written at once, without buffering.
class Log {
public:
  Log() = default;
  Log(const Log &) = delete;
  ~Log();

  /// Appends to `path`, which is created if it does not exist. Rejects an input
  /// of this program (see OutputFile.h).
  Fault open(const std::string &path);

  /// Appends a line, if a file is open.
  Fault write(const Json &line);

private:
  Fault systemFault() const;

  std::string path;
  int file = -1;
};

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_LOG_LOG_H
