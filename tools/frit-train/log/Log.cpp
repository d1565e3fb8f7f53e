//===- Log.cpp - The log of a run -----------------------------------------===//

#include "tools/frit-train/log/Log.h"
#include "compiler/support/OutputFile.h"
#include "tools/support/Files.h"
#include "tools/support/JsonText.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

using namespace frit::train;

Log::~Log() {
  if (file >= 0)
    close(file);
}

/// Returns a fault with the reason of the last system call's failure.
Fault Log::systemFault() const {
  return writingFault(path, {errno, std::generic_category()});
}

Fault Log::open(const std::string &name) {
  path = name;
  if (Fault fault = writingFault(path, frit::checkOutput(path)))
    return fault;
  file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  return file < 0 ? systemFault() : Fault();
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
      return systemFault();
    }
  }
  return {};
}
