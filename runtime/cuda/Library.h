//===- Library.h - NVIDIA's libraries, opened where they are found --------===//

#ifndef FRIT_CUDA_LIBRARY_H
#define FRIT_CUDA_LIBRARY_H

#include "runtime/cuda/CudaApi.h"
#include "runtime/exec/Status.h"

#include <dlfcn.h>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace frit::cuda {

/// A shared library that is open while this lives.
class Library {
public:
  Library() = default;
  Library(const Library &) = delete;
  ~Library() {
    if (handle)
      dlclose(handle);
  }

  /// Tries each of `names`, best first: what the environment variable names (a
  /// file or a folder), the loader's path, the toolkit's folder, the folders of
  /// Python wheels.
  bool open(const char *variable, std::initializer_list<const char *> names);

  template <typename Pointer> bool find(Pointer &pointer, const char *name) {
    pointer = reinterpret_cast<Pointer>(dlsym(handle, name));
    return pointer != nullptr;
  }

private:
  bool tryOpen(const std::string &path);

  void *handle = nullptr;
};

/// One step's call into a library: its descriptors and the algorithm it uses.
class LibraryCall {
public:
  virtual ~LibraryCall() = default;

  /// Puts the call on `stream`. False: the library declined.
  virtual bool enqueue(std::span<const DevicePointer> arguments,
                       Stream stream) = 0;

  /// Turns to the next algorithm after a decline. False: there is none.
  virtual bool nextAlgorithm() = 0;

  /// The algorithms that the call may use, the library's favourite first, by
  /// numbers that say what they are rather than where they stand: what was
  /// timed with one library is found again in another, or is not there.
  virtual std::vector<uint32_t> algorithms() const = 0;

  /// The library and its algorithm, for people.
  virtual std::string name() const = 0;
};

} // namespace frit::cuda

#endif // FRIT_CUDA_LIBRARY_H
