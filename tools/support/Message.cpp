//===- Message.cpp - A tool's messages on standard error ------------------===//

#include "tools/support/Message.h"
#include "compiler/support/Progress.h"
#include "frit/printable.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace frit::tools;

bool frit::tools::complain(const std::string &message) {
  Progress::hide();
  fprintf(stderr, "%s: %s\n", program_invocation_short_name,
          printable(message).c_str());
  return false;
}

bool frit::tools::complain(const Fault &fault) {
  return complain(fault.message());
}

ExitStatus frit::tools::report(const Fault &fault) {
  if (fault)
    complain(fault);
  return fault.status();
}

/// Returns why stdout cannot be written, as an errno, or 0 if it is not known.
/// That of a write which failed long ago is lost; the next one tells.
static int findOutputError() {
  signal(SIGPIPE, SIG_IGN);
  return write(STDOUT_FILENO, "\n", 1) < 0 ? errno : 0;
}

int frit::tools::finishOutput(int status) {
  bool failed = ferror(stdout);
  int error = fflush(stdout) == 0 ? 0 : errno;
  if (!failed && !error)
    return status;
  if (!error)
    error = findOutputError();
  complain(std::string("cannot write to the standard output") +
           (error ? std::string(": ") + strerror(error) : ""));
  return status ? status : kMachine;
}
