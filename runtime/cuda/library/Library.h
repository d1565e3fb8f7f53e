//===- Library.h - Find and open NVIDIA's libraries -----------------------===//
//
// The search for libraries in the compiler, the runtime and frit-doctor.
// Includes no other header of the runtime, so that the compiler may include it.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_CUDA_LIBRARY_LIBRARY_H
#define FRIT_RUNTIME_CUDA_LIBRARY_LIBRARY_H

#include <initializer_list>
#include <string>

namespace frit::cuda {

/// A library and its file names, the preferred one first.
struct LibraryName {
  const char *title;
  const char *variable; ///< environment variable that names a file or folder
  const char *files[3]; ///< null after the last
};

#ifdef _WIN32
inline constexpr const char *kDriverFile = "nvcuda.dll";
inline constexpr LibraryName kNvrtc = {
    "NVRTC", "FRIT_NVRTC", {"nvrtc64_130_0.dll", "nvrtc64_120_0.dll"}};
inline constexpr LibraryName kCublasLt = {
    "cuBLAS", "FRIT_CUBLASLT", {"cublasLt64_13.dll", "cublasLt64_12.dll"}};
inline constexpr LibraryName kCudnn = {
    "cuDNN", "FRIT_CUDNN", {"cudnn64_9.dll"}};
/// NVIDIA has none for Windows.
inline constexpr LibraryName kNccl = {"NCCL", "FRIT_NCCL", {"nccl.dll"}};
#else
inline constexpr const char *kDriverFile = "libcuda.so.1";
inline constexpr LibraryName kNvrtc = {
    "NVRTC", "FRIT_NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}};
inline constexpr LibraryName kCublasLt = {
    "cuBLAS", "FRIT_CUBLASLT", {"libcublasLt.so.13", "libcublasLt.so.12"}};
inline constexpr LibraryName kCudnn = {
    "cuDNN", "FRIT_CUDNN", {"libcudnn.so.9"}};
inline constexpr LibraryName kNccl = {"NCCL", "FRIT_NCCL", {"libnccl.so.2"}};
#endif

/// Returns "13.0" for 130001, a version as cuBLAS and cuDNN encode it.
inline std::string versionText(size_t version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100);
}

/// A function to find: its name, and the pointer that receives its address.
struct LibraryFunction {
  template <typename Result, typename... Parameters>
  LibraryFunction(Result (*&pointer)(Parameters...), const char *name)
      : pointer(&pointer), name(name) {}

  void *pointer;
  const char *name;
};

/// Finds functions in an open library. Pointers to missing functions
/// become null. Returns whether all were found.
bool findFunctions(void *library,
                   std::initializer_list<LibraryFunction> functions);

/// A shared library that is open while this lives.
class Library {
public:
  Library() = default;
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;
  ~Library();

  /// Opens the first file of `name` that can be opened. Searches the loader's
  /// path, the toolkit's folders (CUDA_HOME, CUDA_PATH, /usr/local/cuda*) and,
  /// on Linux, Python wheels. If the environment variable is set, it tries only
  /// that file or folder; an empty value disables the library.
  bool open(const LibraryName &name);

  /// Returns the path of the open library.
  std::string path() const;

  /// Returns the files that exist but did not open, each with the loader's
  /// reason: "; FILE: REASON". Empty if there were none.
  const std::string &refused() const { return refusals; }

  /// See findFunctions.
  bool find(std::initializer_list<LibraryFunction> functions) const {
    return findFunctions(handle, functions);
  }

private:
  bool tryOpen(const std::string &file);
  bool tryFolder(const LibraryName &name, const std::string &folder);
  bool tryPattern(const LibraryName &name, const std::string &folders);

  void *handle = nullptr;
  std::string refusals;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_LIBRARY_LIBRARY_H
