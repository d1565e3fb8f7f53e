//===- FencedArguments.cpp - Arguments that end at a guard page -----------===//

#include "test/emulator/FencedArguments.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace frit::emulation;

/// Bytes of the widest vector. A kernel may read the whole vector that contains
/// the last element.
static constexpr uint64_t kVectorBytes = 16;

/// Byte of memory before an argument: NaN in every float type.
static constexpr uint8_t kPoison = 0xFF;

FencedArguments::~FencedArguments() {
  for (const Part &part : parts)
    if (part.mapping)
      munmap(part.mapping, part.mapped);
}

void FencedArguments::add(void *original, uint64_t bytes, bool written) {
  if (!bytes)
    return;
  auto *begin = static_cast<uint8_t *>(original);
  Part part = {begin, begin + bytes, written};
  std::erase_if(parts, [&](const Part &other) {
    if (other.end <= part.begin || part.end <= other.begin)
      return false;
    part.begin = std::min(part.begin, other.begin);
    part.end = std::max(part.end, other.end);
    part.written |= other.written;
    return true;
  });
  parts.push_back(part);
}

bool FencedArguments::copyIn() {
  const auto page = uint64_t(sysconf(_SC_PAGESIZE));
  for (Part &part : parts) {
    const uint64_t bytes = part.end - part.begin;
    const uint64_t aligned =
        (bytes + kVectorBytes - 1) / kVectorBytes * kVectorBytes;
    part.mapped = (aligned + page - 1) / page * page + page;
    void *mapping = mmap(nullptr, part.mapped, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
      return false;
    part.mapping = static_cast<uint8_t *>(mapping);
    uint8_t *fence = part.mapping + part.mapped - page;
    mprotect(fence, page, PROT_NONE);
    part.copy = fence - aligned;
    memset(part.mapping, kPoison, fence - part.mapping);
    memcpy(part.copy, part.begin, bytes);
  }
  return true;
}

void *FencedArguments::addressOf(void *original, uint64_t bytes) const {
  auto *address = static_cast<uint8_t *>(original);
  for (const Part &part : parts)
    if (bytes && address >= part.begin && address < part.end)
      return part.copy + (address - part.begin);
  return original;
}

void FencedArguments::copyOut() const {
  for (const Part &part : parts)
    if (part.written)
      memcpy(part.begin, part.copy, part.end - part.begin);
}

/// The kernel that is running, for the message of reportAccess.
static char runningKernel[256];

static void reportAccess(int) {
  static constexpr char before[] = "emulator: '";
  static constexpr char after[] =
      "' accesses memory beyond the end of its arguments\n";
  (void)!write(STDERR_FILENO, before, sizeof before - 1);
  (void)!write(STDERR_FILENO, runningKernel, strlen(runningKernel));
  (void)!write(STDERR_FILENO, after, sizeof after - 1);
  _exit(2);
}

KernelRun::KernelRun(const std::string &kernel) {
  snprintf(runningKernel, sizeof runningKernel, "%s", kernel.c_str());
  struct sigaction action = {};
  action.sa_handler = reportAccess;
  sigaction(SIGSEGV, &action, nullptr);
}

KernelRun::~KernelRun() { signal(SIGSEGV, SIG_DFL); }
