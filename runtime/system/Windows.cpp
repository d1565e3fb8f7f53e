//===- Windows.cpp - The runtime on Windows -------------------------------===//

#include "runtime/system/System.h"

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

#include <malloc.h>

using namespace frit;

/// Converts UTF-8, in which all of frit's paths are.
static std::wstring wide(const std::string &text) {
  int length = MultiByteToWideChar(CP_UTF8, 0, text.data(), int(text.size()),
                                   nullptr, 0);
  std::wstring result(size_t(length), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), int(text.size()), result.data(),
                      length);
  return result;
}

static std::string narrow(const wchar_t *text, size_t size) {
  int length = WideCharToMultiByte(CP_UTF8, 0, text, int(size), nullptr, 0,
                                   nullptr, nullptr);
  std::string result(size_t(length), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text, int(size), result.data(), length,
                      nullptr, nullptr);
  return result;
}

/// Returns the system's words for its last error.
static std::string systemError() {
  DWORD code = GetLastError();
  wchar_t *text = nullptr;
  DWORD length = FormatMessageW(
      FORMAT_MESSAGE_ALLOCATE_BUFFER | FORMAT_MESSAGE_FROM_SYSTEM |
          FORMAT_MESSAGE_IGNORE_INSERTS,
      nullptr, code, 0, reinterpret_cast<wchar_t *>(&text), 0, nullptr);
  while (length && (text[length - 1] == L'\n' || text[length - 1] == L'\r' ||
                    text[length - 1] == L'.'))
    --length;
  std::string result =
      length ? narrow(text, length) : "error " + std::to_string(code);
  LocalFree(text);
  return result;
}

static std::string fileOf(HMODULE module) {
  wchar_t path[4096];
  DWORD length = GetModuleFileNameW(module, path, 4096);
  return narrow(path, length);
}

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

void *system::openLibrary(const std::string &file, bool stays,
                          std::string &reason) {
  // Libraries beside one that is named by its whole path are found too.
  bool isPath = file.find_first_of("/\\") != file.npos;
  HMODULE library = LoadLibraryExW(wide(file).c_str(), nullptr,
                                   isPath ? LOAD_WITH_ALTERED_SEARCH_PATH : 0);
  reason = library ? "" : systemError();
  HMODULE pinned;
  if (library && stays)
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN |
                           GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                       reinterpret_cast<const wchar_t *>(library), &pinned);
  return library;
}

void system::closeLibrary(void *library) {
  FreeLibrary(static_cast<HMODULE>(library));
}

void *system::findSymbol(void *library, const char *name) {
  return reinterpret_cast<void *>(
      GetProcAddress(static_cast<HMODULE>(library), name));
}

std::string system::pathOf(void *library) {
  return fileOf(static_cast<HMODULE>(library));
}

std::string system::ownFile() {
  HMODULE own = nullptr;
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                         GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                     reinterpret_cast<const wchar_t *>(&system::ownFile), &own);
  return fileOf(own);
}

//===----------------------------------------------------------------------===//
// Files and memory
//===----------------------------------------------------------------------===//

system::FileView system::mapFile(const std::string &path) {
  FileView view;
  auto failed = [&](FileView::Fault fault) {
    view.fault = fault;
    view.reason = systemError();
    return view;
  };
  HANDLE file = CreateFileW(wide(path).c_str(), GENERIC_READ,
                            FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr,
                            OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE)
    return failed(FileView::Fault::open);
  LARGE_INTEGER size;
  if (GetFileType(file) != FILE_TYPE_DISK || !GetFileSizeEx(file, &size)) {
    CloseHandle(file);
    return failed(FileView::Fault::irregular);
  }
  view.bytes = uint64_t(size.QuadPart);
  if (view.bytes) {
    HANDLE mapping =
        CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
    if (mapping) {
      view.data = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
      if (!view.data)
        failed(FileView::Fault::map);
      CloseHandle(mapping);
    } else {
      failed(FileView::Fault::map);
    }
  }
  CloseHandle(file);
  return view;
}

void system::unmapFile(void *data, uint64_t) { UnmapViewOfFile(data); }

void *system::allocateAligned(uint64_t bytes, uint64_t alignment) {
  return _aligned_malloc(bytes, alignment);
}

void system::freeAligned(void *memory) { _aligned_free(memory); }

void *system::allocatePages(uint64_t bytes) {
  return VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void system::freePages(void *memory, uint64_t) {
  VirtualFree(memory, 0, MEM_RELEASE);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

namespace {
/// Windows' own functions, since 8. MinGW's std::atomic::wait lets threads
/// share condition variables, and in Wine some never woke. Found at run time,
/// so that programs need no further import library.
struct WaitFunctions {
  using Wait = BOOL(WINAPI *)(volatile void *, void *, SIZE_T, DWORD);
  using Wake = void(WINAPI *)(void *);
  Wait wait = nullptr;
  Wake wake = nullptr;

  WaitFunctions() {
    HMODULE library = LoadLibraryW(L"api-ms-win-core-synch-l1-2-0.dll");
    if (!library)
      return;
    wait = reinterpret_cast<Wait>(
        reinterpret_cast<void *>(GetProcAddress(library, "WaitOnAddress")));
    wake = reinterpret_cast<Wake>(
        reinterpret_cast<void *>(GetProcAddress(library, "WakeByAddressAll")));
  }
};
} // namespace

static const WaitFunctions &waitFunctions() {
  static const WaitFunctions functions;
  return functions;
}

void system::waitOn(const std::atomic<uint32_t> &word, uint32_t seen) {
  const WaitFunctions &functions = waitFunctions();
  if (!functions.wait || !functions.wake)
    return Sleep(1);
  functions.wait(const_cast<std::atomic<uint32_t> *>(&word), &seen, sizeof seen,
                 INFINITE);
}

void system::wakeAll(std::atomic<uint32_t> &word) {
  if (waitFunctions().wake)
    waitFunctions().wake(&word);
}

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

system::MemoryFacts system::memoryFacts() {
  MEMORYSTATUSEX status;
  status.dwLength = sizeof status;
  if (!GlobalMemoryStatusEx(&status))
    return {};
  return {status.ullTotalPhys, status.ullAvailPhys};
}
