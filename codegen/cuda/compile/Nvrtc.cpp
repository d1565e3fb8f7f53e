//===- Nvrtc.cpp - CUDA C++ to machine code -------------------------------===//

#include "codegen/cuda/compile/Nvrtc.h"

#include "codegen/cuda/compile/Headers.h"
#include "runtime/cuda/library/Library.h"

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
// The subset of nvrtc.h in use. Its functions have C linkage and a stable
// interface since CUDA 11.
using Program = struct NvrtcProgram *;
using Result = int;
constexpr Result kSuccess = 0;

struct Nvrtc {
  Library library;
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

/// Opens NVRTC's second library. NVRTC itself asks the loader for it by name
/// only, and the loader does not search a wheel's folder but finds libraries
/// that are already open.
static void openBuiltinsBeside(StringRef library) {
  std::error_code error;
  for (sys::fs::directory_iterator it(sys::path::parent_path(library), error),
       end;
       !error && it != end; it.increment(error))
    if (sys::path::filename(it->path()).starts_with("libnvrtc-builtins.so"))
      (void)dlopen(it->path().c_str(), RTLD_NOW | RTLD_LOCAL);
}

static Error openLibrary(Nvrtc &lib) {
  auto given = sys::Process::GetEnv(kNvrtc.variable);
  if (!lib.library.open(kNvrtc))
    return createStringError(
        given ? "no NVRTC found: FRIT_NVRTC names '" + *given +
                    "', which cannot be opened" + lib.library.refused()
              : "no NVRTC found: a CUDA target needs it and it is not in the "
                "loader's path, /usr/local/cuda*/lib64 or a Python "
                "environment" +
                    lib.library.refused() +
                    "; install the CUDA toolkit or 'pip install "
                    "nvidia-cuda-nvrtc', activate the environment that has "
                    "it, set FRIT_NVRTC to libnvrtc.so, or pass "
                    "-march=x86-64");
  if (!lib.library.find({{lib.version, "nvrtcVersion"},
                         {lib.errorString, "nvrtcGetErrorString"},
                         {lib.createProgram, "nvrtcCreateProgram"},
                         {lib.destroyProgram, "nvrtcDestroyProgram"},
                         {lib.compileProgram, "nvrtcCompileProgram"},
                         {lib.logSize, "nvrtcGetProgramLogSize"},
                         {lib.log, "nvrtcGetProgramLog"},
                         {lib.cubinSize, "nvrtcGetCUBINSize"},
                         {lib.cubin, "nvrtcGetCUBIN"},
                         {lib.ptxSize, "nvrtcGetPTXSize"},
                         {lib.ptx, "nvrtcGetPTX"}}) ||
      lib.version(&lib.major, &lib.minor) != kSuccess)
    return createStringError(
        lib.library.path() +
        " is not a usable NVRTC; FRIT_NVRTC names another");
  openBuiltinsBeside(lib.library.path());
  return Error::success();
}

/// Opens the library once. Keeps the message of a failure too.
static Expected<const Nvrtc &> library() {
  static std::string failure;
  static const Nvrtc *lib = [] {
    auto *opened = new Nvrtc;
    failure = toString(openLibrary(*opened));
    return opened;
  }();
  if (failure.empty())
    return *lib;
  return createStringError(failure);
}

Expected<std::string> frit::cuda::describeNvrtc() {
  auto lib = library();
  if (!lib)
    return lib.takeError();
  return "NVRTC " + std::to_string(lib->major) + "." +
         std::to_string(lib->minor) + " (" + lib->library.path() + ")";
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

/// Writes the text to a file for debugging. Returns its name; empty on failure.
static std::string keepText(const std::string &text) {
  SmallString<128> path;
  int fd;
  if (sys::fs::createTemporaryFile("frit", "cu", fd, path))
    return "";
  raw_fd_ostream(fd, /*shouldClose=*/true) << text;
  return path.str().str();
}

/// Calls a pair of NVRTC's functions that return a size and then the bytes.
/// Returns the bytes; empty on failure.
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

/// Returns the folder of the toolkit's headers that belongs to an NVRTC, in the
/// toolkit or in a wheel. Empty if there is none, as in wheels of NVRTC alone.
static std::string toolkitHeaders(StringRef library) {
  // lib64, targets/x86_64-linux/lib, nvidia/cu13/lib; wheels up to CUDA 12 have
  // a folder for each library.
  for (const char *place :
       {"../include", "../../include", "../../cuda_runtime/include"}) {
    SmallString<128> folder(library);
    sys::fs::real_path(library, folder);
    sys::path::remove_filename(folder);
    sys::path::append(folder, place);
    SmallString<128> header(folder);
    sys::path::append(header, "cuda_fp16.h");
    if (sys::fs::exists(header))
      return folder.str().str();
  }
  return "";
}

/// Returns an error that no text is at fault for.
static Error machineError(const Twine &message) {
  return createStringError(std::make_error_code(std::errc::not_supported),
                           message);
}

Expected<DeviceCode> frit::cuda::compileCuda(const std::string &text,
                                             StringRef arch,
                                             ArrayRef<std::string> folders) {
  auto lib = library();
  if (!lib)
    return machineError(toString(lib.takeError()));
  SmallVector<const char *> names, texts;
  for (const DeviceHeader &header : deviceHeaders()) {
    names.push_back(header.name);
    texts.push_back(header.text);
  }
  Program program = nullptr;
  Result result = lib->createProgram(&program, text.c_str(), "frit.cu",
                                     names.size(), texts.data(), names.data());
  if (result != kSuccess)
    return machineError("NVRTC: " + Twine(lib->errorString(result)));

  bool isVirtual = arch.starts_with("compute_");
  std::string archOption = ("-arch=" + arch).str();
  SmallVector<std::string> words = {archOption, "-std=c++20",
                                    "-default-device"};
  for (const std::string &folder : folders)
    words.push_back("-I" + folder);
  if (!folders.empty())
    if (std::string headers = toolkitHeaders(lib->library.path());
        !headers.empty())
      words.push_back("-I" + headers);
  SmallVector<const char *> options;
  for (const std::string &word : words)
    options.push_back(word.c_str());
  result = lib->compileProgram(program, int(options.size()), options.data());
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
  // If NVRTC does not know the architecture, the text is not at fault, so none
  // is kept.
  if (StringRef(log).contains("--gpu-architecture"))
    return machineError(message + "\n" + log);
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
