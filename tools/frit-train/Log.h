//===- Log.h - What a run reports -----------------------------------------===//

#ifndef FRIT_TRAIN_LOG_H
#define FRIT_TRAIN_LOG_H

#include "tools/support/Fault.h"

#include <nlohmann/json.hpp>
#include <string>

namespace frit::train {

using namespace tools;

using Json = nlohmann::ordered_json;

/// A file of JSON lines that grows, each of which is whole: it is written at
/// once and nothing is buffered.
class Log {
public:
  Log() = default;
  Log(const Log &) = delete;
  ~Log();

  /// Appends to `path`, which is made if it does not exist. An input of this
  /// program is refused (see OutputFile.h).
  Fault open(const std::string &path);

  /// Appends a line, if a file is open.
  Fault write(const Json &line);

private:
  Fault systemFault() const;

  std::string path;
  int file = -1;
};

} // namespace frit::train

#endif // FRIT_TRAIN_LOG_H
