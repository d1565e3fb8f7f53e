//===- Log.cpp - What a run reports ---------------------------------------===//

#include "tools/frit-train/Log.h"
#include "compiler/driver/OutputFile.h"
#include "tools/support/JsonText.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace frit::train;

Log::~Log() {
  if (file >= 0)
    close(file);
}

Fault Log::fault(const std::string &why) const {
  return Fault("cannot write the log '" + path + "': " + why, kMachine);
}

Fault Log::open(const std::string &name) {
  path = name;
  if (std::error_code code = frit::checkOutput(path))
    return fault(code.message());
  file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  return file < 0 ? fault(strerror(errno)) : Fault();
}

Fault Log::write(const Json &line) {
  if (file < 0)
    return {};
  std::string text = jsonText(line) + "\n";
  size_t done = 0;
  while (done < text.size()) {
    ssize_t count = ::write(file, text.data() + done, text.size() - done);
    if (count >= 0) {
      done += size_t(count);
    } else if (errno != EINTR) {
      return fault(strerror(errno));
    }
  }
  return {};
}
