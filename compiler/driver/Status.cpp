//===- Status.cpp - Exit statuses of fritc --------------------------------===//

#include "compiler/driver/Status.h"

using namespace llvm;
using namespace frit;

char StatusError::ID;

ExitStatus frit::statusOf(const Error &error) {
  ExitStatus status = kDone;
  visitErrors(error, [&](const ErrorInfoBase &info) {
    status = info.isA<StatusError>()
                 ? static_cast<const StatusError &>(info).status
                 : kBadInput;
  });
  return status;
}

Error frit::ofMachine(Error error) {
  return error ? make_error<StatusError>(kMachine, toString(std::move(error)))
               : Error::success();
}
