//===- SharedLibrary.cpp - Open a compiled model's file -------------------===//

#include "runtime/exec/SharedLibrary.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <map>
#include <memory>
#include <mutex>
#include <sys/stat.h>
#include <vector>

using namespace frit;

static Status refuse(const std::string &path, const char *why) {
  return Status(FRIT_BAD_MODEL, format("'%s' %s", path.c_str(), why));
}

/// ELF's number of this machine, and its byte order.
#if defined(__x86_64__)
static constexpr uint16_t kHost = EM_X86_64;
#elif defined(__aarch64__)
static constexpr uint16_t kHost = EM_AARCH64;
#else
#error "name this machine: its number is in elf.h"
#endif
static constexpr unsigned char kHostOrder = ELFDATA2LSB;

/// Returns what machines with ELF's number `machine` are called.
static std::string machineName(uint16_t machine) {
  static constexpr std::pair<uint16_t, const char *> kNames[] = {
      {EM_X86_64, "x86-64"},  {EM_AARCH64, "aarch64"},
      {EM_386, "32-bit x86"}, {EM_ARM, "32-bit Arm"},
      {EM_RISCV, "RISC-V"},   {EM_PPC64, "64-bit PowerPC"},
      {EM_S390, "IBM Z"},     {EM_LOONGARCH, "LoongArch"},
  };
  for (auto [number, name] : kNames)
    if (number == machine)
      return name;
  return format("machine %u of ELF", machine);
}

/// Fails if the file with this header is for another kind of machine. All
/// classes and byte orders of ELF have the first 20 bytes in the same places.
static Status checkMachine(const std::string &path, const Elf64_Ehdr &header) {
  bool swapped = header.e_ident[EI_DATA] != kHostOrder;
  uint16_t machine =
      swapped ? __builtin_bswap16(header.e_machine) : header.e_machine;
  if (machine == kHost && !swapped && header.e_ident[EI_CLASS] == ELFCLASS64)
    return Status();
  // The x32 ABI has x86-64's number.
  if (machine == kHost)
    return refuse(path, "is damaged: its ELF header is no 64-bit one in this "
                        "machine's byte order");
  std::string host = machineName(kHost);
  return refuse(path,
                format("is made for %s, and this machine is %s; compile "
                       "the model for %s",
                       machineName(machine).c_str(), host.c_str(), host.c_str())
                    .c_str());
}

/// Fails if the file is for another kind of machine, or if a segment that the
/// loader would map does not lie inside it. Sets `facts` to the file's status.
static Status checkElf(const std::string &path, struct stat &facts) {
  std::unique_ptr<FILE, int (*)(FILE *)> file(fopen(path.c_str(), "rbe"),
                                              fclose);
  if (!file || fstat(fileno(file.get()), &facts) != 0)
    return Status(FRIT_IO_ERROR, format("cannot open '%s': %s", path.c_str(),
                                        strerror(errno)));
  if (!S_ISREG(facts.st_mode))
    return Status(
        FRIT_IO_ERROR,
        format("cannot open '%s': it is not a regular file", path.c_str()));
  uint64_t size = uint64_t(facts.st_size);
  Elf64_Ehdr header;
  bool isWhole = fread(&header, sizeof header, 1, file.get()) == 1;
  if (isWhole && !memcmp(header.e_ident, "MZ", 2))
    return refuse(path, "is made for Windows, and this machine runs Linux; "
                        "compile the model without --os=windows");
  if (!isWhole || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return refuse(path, "is no shared library; give the .so that fritc wrote");
  FRIT_TRY(checkMachine(path, header));
  if (header.e_type != ET_DYN)
    return refuse(path, "is an object file but no shared library; link it, or "
                        "compile the model with fritc -o model.so");
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > size ||
      header.e_phnum * sizeof(Elf64_Phdr) > size - header.e_phoff)
    return refuse(path, "is damaged: it is cut off");
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  if (fseek(file.get(), long(header.e_phoff), SEEK_SET) != 0 ||
      fread(segments.data(), sizeof(Elf64_Phdr), segments.size(), file.get()) !=
          segments.size())
    return refuse(path, "is damaged: it is cut off");
  for (const Elf64_Phdr &segment : segments)
    if (segment.p_type == PT_LOAD &&
        (segment.p_offset > size || segment.p_filesz > size - segment.p_offset))
      return refuse(path, "is damaged: it is cut off");
  return Status();
}

/// Returns `dlopen` of the file that is at `path` now. The loader identifies a
/// library by its name. If another file has replaced one that the process still
/// has open, the loader would return the old one, so this uses another spelling
/// of the path.
static void *openNewest(const std::string &path, const struct stat &facts) {
  static std::mutex mutex;
  static std::map<std::string, std::pair<dev_t, ino_t>> files;
  std::pair<dev_t, ino_t> file(facts.st_dev, facts.st_ino);
  // dlopen searches the system's folders for a name without a slash.
  std::string name = path.find('/') == std::string::npos ? "./" + path : path;
  std::lock_guard lock(mutex);
  for (;; name.insert(name.rfind('/'), "/.")) {
    void *open = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (open)
      dlclose(open);
    auto known = files.find(name);
    if (!open || known == files.end() || known->second == file)
      break;
  }
  files[name] = file;
  return dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
}

Status frit::openModelLibrary(const std::string &path, void *&library,
                              const frit_image *&image) {
  struct stat facts;
  FRIT_TRY(checkElf(path, facts));
  void *handle = openNewest(path, facts);
  if (!handle)
    return Status(FRIT_BAD_MODEL,
                  format("cannot load '%s': %s", path.c_str(), dlerror()));
  void *symbol = dlsym(handle, "frit_model_image");
  if (!symbol) {
    dlclose(handle);
    return refuse(path, "is no compiled model: it has no frit_model_image");
  }
  library = handle;
  image = static_cast<const frit_image *>(symbol);
  return Status();
}
