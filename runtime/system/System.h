//===- System.h - What the runtime asks of the operating system -----------===//
//
// Posix.cpp and Windows.cpp implement it. All functions may be called from any
// thread.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_SYSTEM_SYSTEM_H
#define FRIT_RUNTIME_SYSTEM_SYSTEM_H

#include <atomic>
#include <cstdint>
#include <string>

namespace frit::system {

/// What separates the folders of a path.
#ifdef _WIN32
inline constexpr char kSlashes[] = "/\\";
#else
inline constexpr char kSlashes[] = "/";
#endif

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

/// Opens a shared library; a name without a folder is searched as the system's
/// loader does. `stays` keeps it in the process after closeLibrary. Returns
/// null, and sets `reason`, on failure.
void *openLibrary(const std::string &file, bool stays, std::string &reason);
void closeLibrary(void *library);

/// Returns the address of a symbol, or null.
void *findSymbol(void *library, const char *name);

/// Returns the file of an open library, or "".
std::string pathOf(void *library);

/// Returns the file of the library or program that contains this code, or "".
std::string ownFile();

//===----------------------------------------------------------------------===//
// Files and memory
//===----------------------------------------------------------------------===//

/// A file in memory, not writable.
struct FileView {
  enum class Fault { none, open, irregular, map };

  void *data = nullptr; ///< null if the file is empty
  uint64_t bytes = 0;
  Fault fault = Fault::none;
  std::string reason; ///< of a fault other than `irregular`
};

FileView mapFile(const std::string &path);
void unmapFile(void *data, uint64_t bytes);

/// Allocates memory; null if there is not enough. `alignment` is a power of
/// two. Large memory gets large pages where the system has them for free.
void *allocateAligned(uint64_t bytes, uint64_t alignment);
void freeAligned(void *memory);

/// Allocates zeros, as pages that take no memory until they are used; null if
/// there is not enough.
void *allocatePages(uint64_t bytes);
void freePages(void *memory, uint64_t bytes);

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// Sleeps while `word` is `seen`. May return earlier.
void waitOn(const std::atomic<uint32_t> &word, uint32_t seen);

/// Wakes all threads that sleep on `word`, after it has changed.
void wakeAll(std::atomic<uint32_t> &word);

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

/// Bytes of memory.
struct MemoryFacts {
  uint64_t total = 0, free = 0;
};

MemoryFacts memoryFacts();

} // namespace frit::system

#endif // FRIT_RUNTIME_SYSTEM_SYSTEM_H
