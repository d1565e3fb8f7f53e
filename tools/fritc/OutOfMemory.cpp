//===- OutOfMemory.cpp - End when memory runs out -------------------------===//

#include "OutOfMemory.h"
#include "compiler/driver/Status.h"
#include "compiler/support/Interrupts.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cxxabi.h>
#include <exception>
#include <sys/mman.h>
#include <typeinfo>

using namespace frit;

[[noreturn]] static void endWithout(std::string_view what) {
  endAtFault(kMachine, {"error: out of ", what, "\n"});
}

//===----------------------------------------------------------------------===//
// Allocations
//===----------------------------------------------------------------------===//

// The C library's functions under the names by which it lets programs replace
// them. All libraries of the process call these, C++'s operator new included.
// Sanitizers have their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
}

/// Returns `memory`, unless it is null for want of memory. A size that no
/// machine has is a bug of the caller's.
static void *checked(void *memory, size_t size) {
  if (!memory && size && size <= PTRDIFF_MAX && errno == ENOMEM)
    endWithout("memory");
  return memory;
}

extern "C" {

void *malloc(size_t size) { return checked(__libc_malloc(size), size); }

void *calloc(size_t count, size_t size) {
  size_t bytes;
  bool isHuge = __builtin_mul_overflow(count, size, &bytes);
  return checked(__libc_calloc(count, size), isHuge ? SIZE_MAX : bytes);
}

void *realloc(void *old, size_t size) {
  return checked(__libc_realloc(old, size), size);
}

void *memalign(size_t alignment, size_t size) {
  return checked(__libc_memalign(alignment, size), size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  if (alignment % sizeof(void *) || !std::has_single_bit(alignment))
    return EINVAL;
  void *allocated = memalign(alignment, size);
  if (!allocated)
    return ENOMEM;
  *memory = allocated;
  return 0;
}
}

#endif

//===----------------------------------------------------------------------===//
// Stacks and threads
//===----------------------------------------------------------------------===//

/// Returns whether there is no memory for the stack of a thread. Safe in a
/// signal handler.
static bool isMemoryExhausted() {
  constexpr size_t kStack = 16 << 20;
  void *stack = mmap(nullptr, kStack, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED)
    return true;
  munmap(stack, kStack);
  return false;
}

/// Ends the program because a thread cannot be started.
[[noreturn]] static void endWithoutThread() {
  endWithout(isMemoryExhausted() ? "memory" : "threads");
}

/// Handles std::terminate: std::thread reports a failure by an exception.
[[noreturn]] static void terminate() {
  if (const std::type_info *type = abi::__cxa_current_exception_type())
    if (type->name() == llvm::StringRef("St12system_error"))
      endWithoutThread();
  abort();
}

/// Handles errors that LLVM does not return from.
static void handleFatalError(void *, const char *reason, bool) {
  if (llvm::StringRef(reason).starts_with("pthread_create failed"))
    endWithoutThread();
  llvm::errs() << "LLVM ERROR: " << reason << "\n";
}

void frit::handleOutOfMemory() {
  std::set_terminate(terminate);
  llvm::install_fatal_error_handler(handleFatalError);
  // Stacks that cannot grow, and libraries that map memory themselves.
  llvm::sys::AddSignalHandler(
      [](void *) {
        if (isMemoryExhausted())
          endWithout("memory");
      },
      nullptr);
}
