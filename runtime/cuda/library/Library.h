//===- Library.h - Find and open NVIDIA's libraries -----------------------===//
//
// The compiler, the runtime and frit-doctor all look here. Includes nothing of
// the runtime, so that the compiler may include it.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CUDA_LIBRARY_H
#define FRIT_CUDA_LIBRARY_H

#include <dlfcn.h>
#include <string>

namespace frit::cuda {

/// A library and its file names, the preferred one first.
struct LibraryName {
  const char *title;
  const char *variable; ///< environment variable that names a file or folder
  const char *files[3]; ///< null after the last
};

inline constexpr LibraryName kNvrtc = {
    "NVRTC", "FRIT_NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}};
inline constexpr LibraryName kCublasLt = {
    "cuBLAS", "FRIT_CUBLASLT", {"libcublasLt.so.13", "libcublasLt.so.12"}};
inline constexpr LibraryName kCudnn = {
    "cuDNN", "FRIT_CUDNN", {"libcudnn.so.9"}};
inline constexpr LibraryName kNccl = {"NCCL", "FRIT_NCCL", {"libnccl.so.2"}};

/// Returns the "13.0" of a version as cuBLAS and cuDNN encode it, 130001.
inline std::string versionText(size_t version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100);
}

/// A shared library that is open while this lives.
class Library {
public:
  Library() = default;
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;
  ~Library() {
    if (handle)
      dlclose(handle);
  }

  /// Opens the first file of `name` that opens, searching: the loader's path,
  /// the toolkit's folders (CUDA_HOME, CUDA_PATH, /usr/local/cuda*), Python
  /// wheels. If the environment variable is set, only what it names is tried;
  /// an empty value disables the library.
  bool open(const LibraryName &name);

  /// Where the open library was found.
  std::string path() const;

  /// Files that exist but did not open, each with the loader's reason:
  /// "; FILE: REASON". Empty if there were none.
  const std::string &refused() const { return refusals; }

  template <typename Pointer>
  bool find(Pointer &pointer, const char *name) const {
    pointer = reinterpret_cast<Pointer>(dlsym(handle, name));
    return pointer != nullptr;
  }

private:
  bool tryOpen(const std::string &file);
  bool tryFolder(const LibraryName &name, const std::string &folder);
  bool tryPattern(const LibraryName &name, const std::string &folders);

  void *handle = nullptr;
  std::string refusals;
};

} // namespace frit::cuda

#endif // FRIT_CUDA_LIBRARY_H
