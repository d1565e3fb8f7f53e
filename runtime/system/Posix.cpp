//===- Posix.cpp - The runtime on Linux -----------------------------------===//

#include "runtime/system/System.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace frit;

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

void *system::openLibrary(const std::string &file, bool stays,
                          std::string &reason) {
  void *library =
      dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | (stays ? RTLD_NODELETE : 0));
  const char *error = library ? nullptr : dlerror();
  reason = error ? error : "";
  return library;
}

void system::closeLibrary(void *library) { dlclose(library); }

void *system::findSymbol(void *library, const char *name) {
  return dlsym(library, name);
}

std::string system::pathOf(void *library) {
  link_map *map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name)
    return map->l_name;
  return "";
}

std::string system::ownFile() {
  Dl_info own = {};
  char program[4096];
  std::string file;
  if (dladdr(reinterpret_cast<const void *>(&system::ownFile), &own) &&
      own.dli_fname)
    file = own.dli_fname;
  // A program may have been started by its name in PATH.
  ssize_t length = readlink("/proc/self/exe", program, sizeof program);
  if (file.find('/') == file.npos && length > 0)
    file.assign(program, size_t(length));
  return file;
}

//===----------------------------------------------------------------------===//
// Files and memory
//===----------------------------------------------------------------------===//

system::FileView system::mapFile(const std::string &path) {
  FileView view;
  auto failed = [&](FileView::Fault fault) {
    view.fault = fault;
    view.reason = strerror(errno);
    return view;
  };
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return failed(FileView::Fault::open);
  struct stat facts;
  if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    close(file);
    return failed(FileView::Fault::irregular);
  }
  view.bytes = uint64_t(facts.st_size);
  if (view.bytes) {
    void *data = mmap(nullptr, view.bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED)
      failed(FileView::Fault::map);
    else
      view.data = data;
  }
  close(file);
  return view;
}

void system::unmapFile(void *data, uint64_t bytes) { munmap(data, bytes); }

/// Asks for transparent huge pages.
static void preferHugePages(void *memory, uint64_t bytes) {
  constexpr uint64_t kHugePage = 2 << 20;
  if (bytes >= 2 * kHugePage)
    madvise(memory, bytes, MADV_HUGEPAGE);
}

void *system::allocateAligned(uint64_t bytes, uint64_t alignment) {
  void *memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes))
    return nullptr;
  preferHugePages(memory, bytes);
  return memory;
}

void system::freeAligned(void *memory) { free(memory); }

void *system::allocatePages(uint64_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  preferHugePages(memory, bytes);
  return memory;
}

void system::freePages(void *memory, uint64_t bytes) { munmap(memory, bytes); }

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void system::waitOn(const std::atomic<uint32_t> &word, uint32_t seen) {
  word.wait(seen, std::memory_order_acquire);
}

void system::wakeAll(std::atomic<uint32_t> &word) { word.notify_all(); }

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

system::MemoryFacts system::memoryFacts() {
  uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
  return {page * uint64_t(sysconf(_SC_PHYS_PAGES)),
          page * uint64_t(sysconf(_SC_AVPHYS_PAGES))};
}
