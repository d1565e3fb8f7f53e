//===- ResidentMemory.h - Memory that this process occupies ---------------===//

#ifndef FRIT_TEST_RUNTIME_RESIDENTMEMORY_H
#define FRIT_TEST_RUNTIME_RESIDENTMEMORY_H

#include <cstddef>
#include <cstdio>
#include <unistd.h>

namespace frit::test {

/// Returns the bytes of this process's resident memory; 0 if they are not
/// known.
inline size_t residentBytes() {
  size_t total = 0, resident = 0;
  if (FILE *file = fopen("/proc/self/statm", "re")) {
    if (fscanf(file, "%zu %zu", &total, &resident) != 2)
      resident = 0;
    fclose(file);
  }
  return resident * size_t(sysconf(_SC_PAGESIZE));
}

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_RESIDENTMEMORY_H
