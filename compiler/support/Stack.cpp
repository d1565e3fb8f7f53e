//===- Stack.cpp - Enough stack for a program -----------------------------===//

#include "compiler/support/Stack.h"

#include <csignal>
#include <pthread.h>
#include <sys/resource.h>

/// What Linux gives a program, and what is too little for one.
static constexpr size_t kUsual = 8 << 20, kLittle = 2 << 20;

namespace {
struct Call {
  const std::function<int()> &work;
  int result = 0;
};
} // namespace

static void *run(void *argument) {
  auto *call = static_cast<Call *>(argument);
  call->result = call->work();
  return nullptr;
}

int frit::runOnLargeStack(const std::function<int()> &work) {
  rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kLittle)
    return work();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kUsual);
  // Threads get the limit as of the program's start.
  pthread_setattr_default_np(&attributes);
  Call call{work};
  pthread_t thread;
  bool runs = pthread_create(&thread, &attributes, run, &call) == 0;
  pthread_attr_destroy(&attributes);
  if (!runs)
    return work();
  // Signals are for the thread that works, and for those that it lets wait.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  pthread_join(thread, nullptr);
  return call.result;
}
