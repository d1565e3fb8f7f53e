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

bool Log::open(const std::string &name, std::string &error) {
  path = name;
  std::error_code fault = frit::checkOutput(path);
  if (!fault) {
    file =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0)
      fault = std::error_code(errno, std::generic_category());
  }
  if (fault)
    error = "cannot write the log '" + path + "': " + fault.message();
  return !fault;
}

bool Log::write(const Json &line, std::string &error) {
  if (file < 0)
    return true;
  std::string text = tools::jsonText(line) + "\n";
  size_t done = 0;
  while (done < text.size()) {
    ssize_t count = ::write(file, text.data() + done, text.size() - done);
    if (count >= 0) {
      done += size_t(count);
    } else if (errno != EINTR) {
      error = "cannot write the log '" + path + "': " + strerror(errno);
      return false;
    }
  }
  return true;
}
