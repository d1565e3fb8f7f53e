//===- EmbedWeights.cpp - Append weights to an ELF file -------------------===//
//
// In a relocatable object a section may lie anywhere in the file, so changing
// its section header is enough.
//
// A shared library needs one more program header, but the contents after that
// table cannot move. So the placeholder section is a note, for which every
// linker creates a program header, PT_NOTE. That one is turned into the PT_LOAD
// of the weights, above all other addresses. Only the image points to the
// weights, by one relocation.
//
//===----------------------------------------------------------------------===//

#include "codegen/artifact/EmbedWeights.h"

#include "frit/artifact.h"
#include "frit/image.h"

#include "llvm/Object/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"

#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <unistd.h>

using namespace llvm;
using namespace frit;

using Elf = object::ELF64LE;
using ElfFile = object::ELFFile<Elf>;

/// Returns the largest page of a kind of machine. Weights start at a page, so
/// that they are mapped and released without affecting their neighbours. Arm's
/// servers, Grace among them, may have pages of 64 KiB.
static constexpr uint64_t pageOf(bool isArm) { return isArm ? 65536 : 4096; }
/// Alignment of the note. Linkers merge adjacent notes of equal alignment into
/// one segment; no other note has this one.
static constexpr uint64_t kNoteAlignment = 16;

/// Section names. On x86-64, `.lrodata` may lie beyond the 2 GiB that code
/// addresses reach; on Arm they reach 4 GiB, and only the image refers to the
/// weights, by a whole address.
static constexpr StringLiteral kObjectSection = ".lrodata.frit";
static constexpr StringLiteral kArmObjectSection = ".rodata.frit";
static constexpr StringLiteral kSharedSection = ".frit.weights";

std::string artifact::weightSection(Form form, const Triple &triple,
                                    StringRef label, uint64_t bytes) {
  std::string text;
  raw_string_ostream os(text);
  bool shared = form == Form::shared;
  if (shared)
    os << "\t.section " << kSharedSection << ",\"a\",@note\n\t.balign "
       << kNoteAlignment << "\n";
  else
    os << "\t.section "
       << (triple.isAArch64() ? kArmObjectSection : kObjectSection)
       << (triple.isAArch64() ? ",\"a\"" : ",\"al\"")
       << ",@progbits\n\t.balign " << pageOf(triple.isAArch64()) << "\n";
  os << "\t.type " << label << ",@object\n\t.size " << label << "," << bytes
     << "\n"
     << label << ":\n";
  if (shared) // an empty note header
    os << "\t.zero " << kNoteAlignment << "\n";
  os << "\t.text\n";
  return text;
}

//===----------------------------------------------------------------------===//
// Headers
//===----------------------------------------------------------------------===//

/// Returns a header for writing. ELFFile's accessors check bounds but return
/// constants; the bytes are writable.
template <typename T> static T &writable(const T &header) {
  return const_cast<T &>(header);
}

static Expected<Elf::Shdr *> findSection(const ElfFile &file, StringRef name) {
  auto sections = file.sections();
  if (!sections)
    return sections.takeError();
  for (const Elf::Shdr &section : *sections) {
    Expected<StringRef> found = file.getSectionName(section);
    if (!found)
      return found.takeError();
    if (*found == name)
      return &writable(section);
  }
  return createStringError("the file has no section " + name);
}

/// Finds the first symbol `name` in the symbol tables of `type`.
static Expected<Elf::Sym *> findSymbol(const ElfFile &file, unsigned type,
                                       StringRef name) {
  auto sections = file.sections();
  if (!sections)
    return sections.takeError();
  for (const Elf::Shdr &section : *sections) {
    if (section.sh_type != type)
      continue;
    auto symbols = file.symbols(&section);
    if (!symbols)
      return symbols.takeError();
    auto strings = file.getStringTableForSymtab(section);
    if (!strings)
      return strings.takeError();
    for (const Elf::Sym &symbol : *symbols) {
      Expected<StringRef> found = symbol.getName(*strings);
      if (!found)
        return found.takeError();
      if (*found == name)
        return &writable(symbol);
    }
  }
  return createStringError("the file has no symbol " + name);
}

/// Turns the PT_NOTE of `section` into the last PT_LOAD, which holds the
/// weights. Returns its address.
static Expected<uint64_t> addSegment(const ElfFile &file,
                                     const Elf::Shdr &section, uint64_t offset,
                                     uint64_t bytes, uint64_t page) {
  auto headers = file.program_headers();
  if (!headers)
    return headers.takeError();
  SmallVector<Elf::Phdr> segments(headers->begin(), headers->end());
  Elf::Phdr *note = find_if(segments, [&](const Elf::Phdr &segment) {
    return segment.p_type == ELF::PT_NOTE &&
           segment.p_vaddr == section.sh_addr &&
           segment.p_memsz == section.sh_size;
  });
  if (note == segments.end())
    return createStringError("it gave the note of the weights no segment");
  segments.erase(note);
  uint64_t end = 0;
  size_t behind = 0;
  for (auto [i, segment] : enumerate(segments))
    if (segment.p_type == ELF::PT_LOAD) {
      end = std::max<uint64_t>(end, segment.p_vaddr + segment.p_memsz);
      behind = i + 1;
    }
  Elf::Phdr load;
  load.p_type = ELF::PT_LOAD;
  load.p_flags = ELF::PF_R;
  load.p_offset = offset;
  load.p_vaddr = alignTo(end, page);
  load.p_paddr = load.p_vaddr;
  load.p_filesz = bytes;
  load.p_memsz = bytes;
  load.p_align = page;
  segments.insert(segments.begin() + behind, load);
  for (auto [to, from] : zip(*headers, segments))
    writable(to) = from;
  return load.p_vaddr;
}

/// Sets the relocated pointer at address `place` to `address`.
static Error relocate(MutableArrayRef<char> elf, const ElfFile &file,
                      uint64_t place, uint64_t address) {
  bool found = false;
  uint32_t relative = file.getHeader().e_machine == ELF::EM_AARCH64
                          ? uint32_t(ELF::R_AARCH64_RELATIVE)
                          : uint32_t(ELF::R_X86_64_RELATIVE);
  auto sections = file.sections();
  if (!sections)
    return sections.takeError();
  for (const Elf::Shdr &section : *sections) {
    // RELR entries have no addend; the value is stored at the place itself.
    found |= section.sh_type == ELF::SHT_RELR;
    if (section.sh_type != ELF::SHT_RELA ||
        !(section.sh_flags & ELF::SHF_ALLOC))
      continue;
    auto relocations = file.relas(section);
    if (!relocations)
      return relocations.takeError();
    for (const Elf::Rela &relocation : *relocations)
      if (relocation.r_offset == place &&
          relocation.getType(false) == relative) {
        writable(relocation).r_addend = address;
        found = true;
      }
  }
  auto headers = file.program_headers();
  if (!headers)
    return headers.takeError();
  for (const Elf::Phdr &segment : *headers)
    if (segment.p_type == ELF::PT_LOAD && place >= segment.p_vaddr &&
        place - segment.p_vaddr + sizeof(address) <= segment.p_filesz) {
      uint64_t offset = place - segment.p_vaddr + segment.p_offset;
      if (found && offset <= elf.size() - sizeof(address)) {
        support::endian::write64le(elf.data() + offset, address);
        return Error::success();
      }
    }
  return createStringError("it left the image without a relocation");
}

static Expected<uint64_t> reserve(MutableArrayRef<char> elf,
                                  artifact::Form form, StringRef symbol,
                                  uint64_t bytes) {
  auto file = ElfFile::create(StringRef(elf.data(), elf.size()));
  if (!file)
    return file.takeError();
  bool isArm = file->getHeader().e_machine == ELF::EM_AARCH64;
  uint64_t page = pageOf(isArm), offset = alignTo(elf.size(), page);
  bool shared = form == artifact::Form::shared;
  auto section = findSection(*file, shared  ? kSharedSection
                                    : isArm ? kArmObjectSection
                                            : kObjectSection);
  if (!section)
    return section.takeError();
  if (shared) {
    auto address = addSegment(*file, **section, offset, bytes, page);
    if (!address)
      return address.takeError();
    auto image = findSymbol(*file, ELF::SHT_DYNSYM, symbol);
    if (!image)
      return image.takeError();
    uint64_t place = (*image)->st_value + offsetof(frit_image, weights);
    if (Error error = relocate(elf, *file, place, *address))
      return error;
    // The linker may have dropped local symbols.
    auto label =
        findSymbol(*file, ELF::SHT_SYMTAB, (symbol + "_weights").str());
    if (label)
      (*label)->st_value = *address;
    else
      consumeError(label.takeError());
    (*section)->sh_type = ELF::SHT_PROGBITS;
    (*section)->sh_addr = *address;
    (*section)->sh_addralign = page;
  }
  (*section)->sh_offset = offset;
  (*section)->sh_size = bytes;
  return offset;
}

Expected<uint64_t> artifact::reserveWeights(MutableArrayRef<char> elf,
                                            Form form, StringRef symbol,
                                            uint64_t bytes) {
  auto offset = reserve(elf, form, symbol, bytes);
  if (!offset)
    return createStringError(
        "the linker's output has no room for the weights: " +
        toString(offset.takeError()) + "; use -c to write an object file");
  return offset;
}

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

namespace {

/// A file written at given offsets. Stores the first error.
class Output {
public:
  explicit Output(StringRef path) : path(path) {
    file = ::open(this->path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                  0666);
    failed(file < 0);
  }
  ~Output() { close(); }

  void write(uint64_t at, ArrayRef<char> bytes) {
    while (!bytes.empty() && !error) {
      ssize_t done = ::pwrite(file, bytes.data(), bytes.size(), off_t(at));
      if (failed(done < 0))
        continue;
      at += done;
      bytes = bytes.drop_front(done);
    }
  }

  /// Copies with copy_file_range. Returns the bytes copied, which may be 0 if
  /// the file system does not support it.
  uint64_t copy(uint64_t at, int from, uint64_t offset, uint64_t bytes) {
    uint64_t copied = 0;
    while (copied < bytes && !error) {
      off_t in = off_t(offset + copied), out = off_t(at + copied);
      ssize_t done =
          ::copy_file_range(from, &in, file, &out, bytes - copied, 0);
      if (done <= 0)
        break;
      copied += done;
    }
    return copied;
  }

  std::error_code close() {
    if (file >= 0)
      failed(::close(file) != 0);
    file = -1;
    return error;
  }

private:
  bool failed(bool bad) {
    if (bad && errno != EINTR && !error)
      error = std::error_code(errno, std::generic_category());
    return bad;
  }

  std::string path;
  int file;
  std::error_code error;
};

/// The file of a mapping, opened again for copy_file_range.
struct Source {
  explicit Source(const artifact::MappedFile &mapped) : bytes(mapped.bytes) {
    file = ::open(mapped.path.c_str(), O_RDONLY | O_CLOEXEC);
  }
  Source(const Source &) = delete;
  ~Source() {
    if (file >= 0)
      ::close(file);
  }
  bool has(ArrayRef<char> part) const {
    return file >= 0 && part.begin() >= bytes.begin() &&
           part.end() <= bytes.end();
  }

  StringRef bytes;
  int file;
};

} // namespace

Error artifact::writeBytes(StringRef path, ArrayRef<char> bytes) {
  Output out(path);
  out.write(0, bytes);
  if (std::error_code error = out.close())
    return createFileError(path, error);
  return Error::success();
}

Error artifact::writeWithWeights(StringRef path, ArrayRef<char> head,
                                 uint64_t offset, const Image &image,
                                 ArrayRef<MappedFile> mapped) {
  std::list<Source> sources;
  for (const MappedFile &file : mapped)
    sources.emplace_back(file);
  Output out(path);
  out.write(0, head);
  for (const WeightRun &run : image.weights) {
    uint64_t at = offset + run.offset, copied = 0;
    auto source =
        find_if(sources, [&](const Source &s) { return s.has(run.bytes); });
    if (source != sources.end())
      copied =
          out.copy(at, source->file, run.bytes.data() - source->bytes.data(),
                   run.bytes.size());
    out.write(at + copied, run.bytes.drop_front(copied));
  }
  if (std::error_code error = out.close())
    return createFileError(path, error);
  return Error::success();
}
