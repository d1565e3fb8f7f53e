//===- Message.cpp - A tool's messages on standard error ------------------===//

#include "tools/support/Message.h"
#include "compiler/support/Progress.h"
#include "frit/printable.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

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

int frit::tools::finishOutput(int status) {
  // Without a failure of stdout, errno is stale.
  if (!ferror(stdout))
    errno = 0;
  bool written = fflush(stdout) == 0 && !ferror(stdout);
  if (written)
    return status;
  complain(std::string("cannot write to the standard output") +
           (errno ? std::string(": ") + strerror(errno) : ""));
  return kMachine;
}
