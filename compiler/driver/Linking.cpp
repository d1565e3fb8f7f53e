//===- Linking.cpp - Commands of linkers and C compilers ------------------===//

#include "compiler/driver/Linking.h"

#include "compiler/driver/LibraryStub.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

using namespace llvm;
using namespace frit;

namespace {
/// What makes code for a kind of machine.
struct Toolchain {
  LinkedFor place;
  /// Compilers, and linkers of this machine or of several.
  ArrayRef<const char *> compilers, linkers;
  const char *emulation; ///< of linkers
  const char *install;   ///< what to install without a compiler
};
} // namespace

static constexpr const char *kCompilers[] = {"cc", "gcc", "clang"};
static constexpr const char *kLinkers[] = {"ld.lld", "ld.mold", "ld"};
static constexpr const char *kArmCompilers[] = {"aarch64-linux-gnu-gcc"};
static constexpr const char *kArmLinkers[] = {"ld.lld", "ld.mold",
                                              "aarch64-linux-gnu-ld"};

static constexpr const char *kWindowsCompilers[] = {"x86_64-w64-mingw32-gcc"};
static constexpr const char *kWindowsLinkers[] = {"x86_64-w64-mingw32-ld"};

static constexpr LinkedFor kHere{kThisMachine};

static const Toolchain &toolchainOf(LinkedFor place) {
  static const Toolchain kToolchains[] = {
      {{HostMachine::x86_64},
       kCompilers,
       kLinkers,
       "elf_x86_64",
       "cc, gcc or clang"},
      {{HostMachine::aarch64},
       kArmCompilers,
       kArmLinkers,
       "aarch64linux",
       "gcc-aarch64-linux-gnu"},
      {{HostMachine::x86_64, HostSystem::windows},
       kWindowsCompilers,
       kWindowsLinkers,
       "i386pep",
       "gcc-mingw-w64-x86-64"}};
  return *llvm::find_if(kToolchains, [&](const Toolchain &toolchain) {
    return toolchain.place == place;
  });
}

/// Returns the path of the first of `names` that is installed, or "".
static std::string findProgram(ArrayRef<const char *> names) {
  for (const char *name : names)
    if (ErrorOr<std::string> path = sys::findProgramByName(name))
      return *path;
  return "";
}

/// Returns the file that the loader opens for `name`, a library of the system;
/// "" if there is none. The names that linkers look for come with packages for
/// development.
static std::string findLibrary(const char *name) {
  std::string path;
  void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  link_map *map = nullptr;
  if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
    path = map->l_name;
  if (library)
    dlclose(library);
  return path;
}

/// Returns the path of this program, also where /proc is not mounted.
static std::string ownProgram() {
  std::string path = sys::fs::getMainExecutable(nullptr, nullptr);
  return path.empty() ? reinterpret_cast<const char *>(getauxval(AT_EXECFN))
                      : path;
}

/// Returns the start of a command of a linker itself: the one inside fritc, or
/// one that is installed. Empty if there is none.
static Command linkerOf(const Toolchain &toolchain) {
  Command command;
  if (FRIT_LLD && toolchain.place.system == HostSystem::gnuLinux)
    command = {ownProgram(), kLinkFlag.str()};
  else if (std::string path = findProgram(toolchain.linkers); !path.empty())
    command = {path};
  if (!command.empty() && toolchain.place != kHere)
    command.append({"-m", toolchain.emulation});
  return command;
}

/// Completes a command of a linker itself.
static Expected<Command> linkDirectly(Command command, LinkedFor place,
                                      ArrayRef<std::string> objects,
                                      StringRef output,
                                      TemporaryFolder *folder) {
  command.append({"-shared", "-o", output.str()});
  append_range(command, objects);
  command.append({"-Bsymbolic", "--build-id=none", "--as-needed"});
  if (place == kHere) {
    for (const char *name : {"libm.so.6", "libc.so.6"})
      if (std::string library = findLibrary(name); !library.empty())
        command.push_back(library);
    return command;
  }
  // It needs libc.so.6 itself, so the loader finds the symbols of both.
  constexpr StringLiteral library = "libm.so.6";
  if (!folder)
    return command;
  std::string stub = folder->file(library.str());
  if (Error error = writeLibraryStub(place.machine, library, objects, stub))
    return error;
  command.push_back(stub);
  return command;
}

/// Returns the command that makes a DLL. Nothing of MinGW has to be beside it.
static Expected<Command> linkDll(const Toolchain &toolchain,
                                 ArrayRef<std::string> objects,
                                 StringRef output) {
  std::string path = findProgram(toolchain.compilers);
  if (path.empty())
    return make_error<StatusError>(
        kMachine, std::string("no linker for Windows found (") +
                      toolchain.install +
                      "); use -c to write an object file, or install it");
  Command command = {path, "-shared", "-static-libgcc", "-o", output.str()};
  append_range(command, objects);
  return command;
}

Expected<Command> frit::linkCommand(LinkedFor place,
                                    ArrayRef<std::string> objects,
                                    StringRef output, TemporaryFolder *folder) {
  const Toolchain &toolchain = toolchainOf(place);
  if (place.system == HostSystem::windows)
    return linkDll(toolchain, objects, output);
  // Here the compiler knows best; elsewhere LLD makes the same everywhere.
  if (place == kHere || !FRIT_LLD)
    if (std::string path = findProgram(toolchain.compilers); !path.empty()) {
      Command command = {path, "-shared", "-o", output.str()};
      append_range(command, objects);
      command.append({"-Wl,-Bsymbolic", "-Wl,--build-id=none", "-lm"});
      return command;
    }
  if (Command command = linkerOf(toolchain); !command.empty())
    return linkDirectly(command, place, objects, output, folder);
  if (place != kHere)
    return make_error<StatusError>(
        kMachine, "no linker for " + std::string(nameOf(place.machine)) +
                      " found (" + toolchain.install +
                      ", ld.lld or mold); use -c to write an object file, or "
                      "install one of them");
  return make_error<StatusError>(
      kMachine, "no linker found (cc, gcc, clang, ld.lld, mold or ld); use -c "
                "to write an object file, or install one of them");
}

Expected<Command> frit::joinCommand(LinkedFor place,
                                    ArrayRef<std::string> objects,
                                    StringRef output) {
  const Toolchain &toolchain = toolchainOf(place);
  Command command;
  if (place != kHere)
    command = linkerOf(toolchain);
  else if (std::string path = findProgram(toolchain.linkers); !path.empty())
    command = {path};
  if (command.empty())
    return make_error<StatusError>(
        kMachine, "no linker found (ld.lld, mold or ld) that joins the objects "
                  "of custom operators; install one of them");
  command.append({"-r", "-o", output.str()});
  append_range(command, objects);
  return command;
}

/// Returns the C compiler's option for a CPU target.
static std::string processorOption(const HostArch &arch) {
  if (arch.machine == HostMachine::x86_64)
    return std::string("-march=") + arch.name;
  // GCC 12 knows no neoverse-v2; these are the instructions of each.
  static constexpr const char *kLevels[] = {
      "-march=armv8-a", "-march=armv8.2-a+fp16+dotprod",
      "-march=armv8.4-a+sve+bf16+i8mm", "-march=armv9-a+bf16+i8mm"};
  return kLevels[arch.level - 1];
}

Expected<Command> frit::compileCommand(StringRef source, StringRef object,
                                       StringRef headers, StringRef folder,
                                       StringRef arch, HostSystem system) {
  const HostArch &target = *findHostArch(arch);
  LinkedFor place{target.machine, system};
  const Toolchain &toolchain = toolchainOf(place);
  std::string path = findProgram(toolchain.compilers);
  if (path.empty())
    return make_error<StatusError>(
        kMachine, "no C compiler" +
                      (place == kHere                  ? ""
                       : system == HostSystem::windows ? " for Windows"
                                                       : " for " + arch.str()) +
                      " found (" + toolchain.install +
                      ") for the host's functions of custom operators; install "
                      "one of them");
  return Command{path,
                 "-c",
                 "-O2",
                 "-fPIC",
                 "-fvisibility=hidden",
                 "-fno-math-errno",
                 processorOption(target),
                 "-Werror=implicit-function-declaration",
                 "-Werror=incompatible-pointer-types",
                 "-Werror=int-conversion",
                 "-MMD",
                 "-MF",
                 headers.str(),
                 "-iquote",
                 folder.str(),
                 "-o",
                 object.str(),
                 source.str()};
}
