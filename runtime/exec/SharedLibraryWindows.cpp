//===- SharedLibraryWindows.cpp - Open a compiled model's DLL -------------===//

#include "runtime/exec/SharedLibrary.h"
#include "runtime/system/System.h"

#include <cstring>

using namespace frit;

static Status refuse(const std::string &path, const std::string &why) {
  return Status(FRIT_BAD_MODEL, format("'%s' %s", path.c_str(), why.c_str()));
}

/// Fails if the file is no DLL for x86-64, with what it is instead. The loader
/// checks the rest of its headers.
static Status checkHeader(const std::string &path,
                          const system::FileView &file) {
  auto *bytes = static_cast<const uint8_t *>(file.data);
  auto read16 = [&](uint64_t at) {
    return at + 2 <= file.bytes ? bytes[at] | bytes[at + 1] << 8 : 0;
  };
  if (file.bytes >= 4 && !memcmp(bytes,
                                 "\x7f"
                                 "ELF",
                                 4))
    return refuse(path, "is made for Linux, and this machine runs Windows; "
                        "compile the model with --os=windows");
  constexpr uint64_t kHeaderPlace = 0x3c;
  if (file.bytes < kHeaderPlace + 4 || memcmp(bytes, "MZ", 2))
    return refuse(path, "is no DLL; give the one that fritc wrote");
  uint32_t header;
  memcpy(&header, bytes + kHeaderPlace, sizeof header);
  if (file.bytes < 24 || header > file.bytes - 24 ||
      memcmp(bytes + header, "PE\0\0", 4))
    return refuse(path, "is damaged: it is cut off");
  constexpr int kAmd64 = 0x8664, kIsDll = 0x2000;
  if (read16(header + 4) != kAmd64)
    return refuse(path, "is made for another kind of machine, and this one is "
                        "x86-64; compile the model for x86-64");
  if (!(read16(header + 22) & kIsDll))
    return refuse(path, "is a program but no DLL; give the one that fritc "
                        "wrote");
  return Status();
}

Status frit::openModelLibrary(const std::string &path, void *&library,
                              const frit_image *&image) {
  system::FileView file = system::mapFile(path);
  if (file.fault != system::FileView::Fault::none)
    return Status(FRIT_IO_ERROR,
                  format("cannot open '%s': %s", path.c_str(),
                         file.fault == system::FileView::Fault::irregular
                             ? "it is not a regular file"
                             : file.reason.c_str()));
  Status checked = checkHeader(path, file);
  system::unmapFile(file.data, file.bytes);
  FRIT_TRY(checked);
  std::string reason;
  // The loader would search its folders for a name without one.
  bool isPath = path.find_first_of("/\\") != path.npos;
  void *handle =
      system::openLibrary(isPath ? path : ".\\" + path, false, reason);
  if (!handle)
    return Status(FRIT_BAD_MODEL,
                  format("cannot load '%s': %s", path.c_str(), reason.c_str()));
  void *symbol = system::findSymbol(handle, "frit_model_image");
  if (!symbol) {
    system::closeLibrary(handle);
    return refuse(path, "is no compiled model: it has no frit_model_image");
  }
  library = handle;
  image = static_cast<const frit_image *>(symbol);
  return Status();
}
