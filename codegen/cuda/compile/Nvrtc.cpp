//===- Nvrtc.cpp - CUDA C++ to machine code -------------------------------===//

#include "codegen/cuda/compile/Nvrtc.h"

#include "codegen/cuda/compile/Headers.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <dlfcn.h>

using namespace llvm;
using namespace frit::cuda;

namespace {
// The parts of nvrtc.h that are used; its functions have C linkage and a
// stable interface since CUDA 11.
using Program = struct NvrtcProgram *;
using Result = int;
constexpr Result kSuccess = 0;

struct Library {
  std::string path;
  int major = 0, minor = 0;
  Result (*version)(int *, int *) = nullptr;
  const char *(*errorString)(Result) = nullptr;
  Result (*createProgram)(Program *, const char *, const char *, int,
                          const char *const *, const char *const *) = nullptr;
  Result (*destroyProgram)(Program *) = nullptr;
  Result (*compileProgram)(Program, int, const char *const *) = nullptr;
  Result (*logSize)(Program, size_t *) = nullptr;
  Result (*log)(Program, char *) = nullptr;
  Result (*cubinSize)(Program, size_t *) = nullptr;
  Result (*cubin)(Program, char *) = nullptr;
  Result (*ptxSize)(Program, size_t *) = nullptr;
  Result (*ptx)(Program, char *) = nullptr;
};
} // namespace

//===----------------------------------------------------------------------===//
// Finding the library
//===----------------------------------------------------------------------===//

/// What in `parent` starts with `prefix`, newest version last.
static SmallVector<std::string> entriesOf(const Twine &parent,
                                          StringRef prefix) {
  SmallVector<std::string> found;
  std::error_code error;
  for (sys::fs::directory_iterator it(parent, error), end; !error && it != end;
       it.increment(error))
    if (sys::path::filename(it->path()).starts_with(prefix))
      found.push_back(it->path());
  llvm::sort(found);
  return found;
}

/// In the order they are tried: the variable, what the loader finds, the
/// toolkit's folders, the wheels of a Python environment.
static SmallVector<std::string> candidates() {
  SmallVector<std::string> paths;
  constexpr StringLiteral names[] = {"libnvrtc.so.13", "libnvrtc.so.12",
                                     "libnvrtc.so"};
  if (auto path = sys::Process::GetEnv("FRIT_NVRTC")) {
    // Naming one means that one, so that a wrong name is not passed over.
    paths.push_back(*path);
    return paths;
  }
  auto addFolder = [&](const Twine &folder) {
    for (StringRef name : names)
      paths.push_back((folder + "/" + name).str());
  };
  for (StringRef name : names)
    paths.push_back(name.str());
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (auto home = sys::Process::GetEnv(variable))
      addFolder(*home + "/lib64");
  addFolder("/usr/local/cuda/lib64");
  SmallVector<std::string> toolkits = entriesOf("/usr/local", "cuda-");
  for (const std::string &folder : llvm::reverse(toolkits))
    addFolder(folder + "/lib64");
  for (const char *variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (auto home = sys::Process::GetEnv(variable))
      for (const std::string &python : entriesOf(*home + "/lib", "python"))
        for (const char *wheel : {"cu13", "cuda_nvrtc"})
          addFolder(python + "/site-packages/nvidia/" + wheel + "/lib");
  return paths;
}

template <typename Function>
static bool resolve(void *handle, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

/// NVRTC asks the loader for its second library by a plain name, which a
/// wheel's folder does not answer to; one that is already open is found.
static void openBuiltinsBeside(StringRef library) {
  for (const std::string &path :
       entriesOf(sys::path::parent_path(library), "libnvrtc-builtins.so"))
    (void)dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

static Expected<Library> openLibrary() {
  std::string tried;
  for (const std::string &path : candidates()) {
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      continue;
    Library lib;
    if (resolve(handle, "nvrtcVersion", lib.version) &&
        resolve(handle, "nvrtcGetErrorString", lib.errorString) &&
        resolve(handle, "nvrtcCreateProgram", lib.createProgram) &&
        resolve(handle, "nvrtcDestroyProgram", lib.destroyProgram) &&
        resolve(handle, "nvrtcCompileProgram", lib.compileProgram) &&
        resolve(handle, "nvrtcGetProgramLogSize", lib.logSize) &&
        resolve(handle, "nvrtcGetProgramLog", lib.log) &&
        resolve(handle, "nvrtcGetCUBINSize", lib.cubinSize) &&
        resolve(handle, "nvrtcGetCUBIN", lib.cubin) &&
        resolve(handle, "nvrtcGetPTXSize", lib.ptxSize) &&
        resolve(handle, "nvrtcGetPTX", lib.ptx) &&
        lib.version(&lib.major, &lib.minor) == kSuccess) {
      Dl_info info;
      lib.path = dladdr(reinterpret_cast<void *>(lib.version), &info)
                     ? info.dli_fname
                     : path;
      openBuiltinsBeside(lib.path);
      return lib;
    }
    tried += "; " + path + " is not a usable NVRTC";
    dlclose(handle);
  }
  if (auto path = sys::Process::GetEnv("FRIT_NVRTC"))
    return createStringError("no NVRTC found: FRIT_NVRTC names '" + *path +
                             "', which cannot be opened" + tried);
  return createStringError(
      "no NVRTC found: a CUDA target needs it and it is not in the loader's "
      "path, /usr/local/cuda*/lib64 or a Python environment" +
      tried +
      "; install the CUDA toolkit, set FRIT_NVRTC to libnvrtc.so, or pass "
      "-march=x86-64");
}

/// Opened once; the message of a failure is kept too.
static Expected<const Library &> library() {
  static std::string failure;
  static const auto *lib = [] {
    Expected<Library> opened = openLibrary();
    if (opened)
      return new Library(std::move(*opened));
    failure = toString(opened.takeError());
    return static_cast<Library *>(nullptr);
  }();
  if (lib)
    return *lib;
  return createStringError(failure);
}

Expected<std::string> frit::cuda::describeNvrtc() {
  auto lib = library();
  if (!lib)
    return lib.takeError();
  return "NVRTC " + std::to_string(lib->major) + "." +
         std::to_string(lib->minor) + " (" + lib->path + ")";
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

/// Keeps the text for whoever looks into an error; its name, or empty.
static std::string keepText(const std::string &text) {
  SmallString<128> path;
  int fd;
  if (sys::fs::createTemporaryFile("frit", "cu", fd, path))
    return "";
  raw_fd_ostream(fd, /*shouldClose=*/true) << text;
  return path.str().str();
}

/// What one of NVRTC's pairs of functions, a size and then the bytes, gives;
/// nothing where it fails.
static std::string read(Program program, Result (*size)(Program, size_t *),
                        Result (*bytes)(Program, char *)) {
  size_t count = 0;
  std::string text;
  if (size(program, &count) != kSuccess)
    return text;
  text.resize(count);
  if (bytes(program, text.data()) != kSuccess)
    text.clear();
  return text;
}

Expected<DeviceCode> frit::cuda::compileCuda(const std::string &text,
                                             StringRef arch) {
  auto lib = library();
  if (!lib)
    return lib.takeError();
  SmallVector<const char *> names, texts;
  for (const DeviceHeader &header : deviceHeaders()) {
    names.push_back(header.name);
    texts.push_back(header.text);
  }
  Program program = nullptr;
  Result result = lib->createProgram(&program, text.c_str(), "frit.cu",
                                     names.size(), texts.data(), names.data());
  if (result != kSuccess)
    return createStringError("NVRTC: " + std::string(lib->errorString(result)));

  bool isVirtual = arch.starts_with("compute_");
  std::string archOption = ("-arch=" + arch).str();
  const char *options[] = {archOption.c_str(), "-std=c++20", "-default-device"};
  result = lib->compileProgram(program, std::size(options), options);
  DeviceCode code;
  std::string log;
  if (result == kSuccess) {
    code.ptx = read(program, lib->ptxSize, lib->ptx);
    if (!isVirtual)
      code.cubin = read(program, lib->cubinSize, lib->cubin);
  } else {
    log = read(program, lib->logSize, lib->log);
    log = StringRef(log).rtrim(StringRef("\0\n", 2)).str();
  }
  lib->destroyProgram(&program);
  if (!(isVirtual ? code.ptx : code.cubin).empty())
    return code;

  std::string message = "NVRTC " + std::to_string(lib->major) + "." +
                        std::to_string(lib->minor) + " does not compile for " +
                        arch.str() + ": " + lib->errorString(result);
  // An architecture that this NVRTC does not know has no text to look into.
  if (StringRef(log).contains("--gpu-architecture"))
    return createStringError(message + "\n" + log);
  std::string kept = keepText(text);
  if (!kept.empty())
    message += " (the text is in " + kept + ")";
  return createStringError(message + "\n" + log);
}

//===----------------------------------------------------------------------===//
// Architectures
//===----------------------------------------------------------------------===//

bool frit::cuda::isCudaArch(StringRef arch) {
  if (!arch.consume_front("sm_"))
    return false;
  StringRef number = arch.take_while(isDigit);
  StringRef suffix = arch.drop_front(number.size());
  return number.size() >= 2 && number.size() <= 3 &&
         (suffix.empty() || suffix == "a" || suffix == "f");
}

std::string frit::cuda::genericArch(StringRef arch) {
  return arch.rtrim("af").str();
}

std::string frit::cuda::genericPtx(StringRef arch) {
  arch.consume_front("sm_");
  return "compute_" + genericArch(arch);
}
