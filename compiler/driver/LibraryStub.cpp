//===- LibraryStub.cpp - Stand-ins of another machine's libraries ---------===//

#include "compiler/driver/LibraryStub.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/InterfaceStub/ELFObjHandler.h"
#include "llvm/InterfaceStub/IFSStub.h"
#include "llvm/Object/ObjectFile.h"

using namespace llvm;
using namespace frit;

namespace {
struct SymbolNames {
  StringSet<> defined, used;

  Error add(StringRef path) {
    auto file = object::ObjectFile::createObjectFile(path);
    if (!file)
      return createFileError(path, file.takeError());
    for (const object::SymbolRef &symbol : file->getBinary()->symbols()) {
      auto flags = symbol.getFlags();
      if (!flags)
        return createFileError(path, flags.takeError());
      if (*flags & object::SymbolRef::SF_FormatSpecific)
        continue;
      auto name = symbol.getName();
      if (!name)
        return createFileError(path, name.takeError());
      bool isUsed = *flags & object::SymbolRef::SF_Undefined;
      if (!name->empty())
        (isUsed ? used : defined).insert(*name);
    }
    return Error::success();
  }
};
} // namespace

Error frit::writeLibraryStub(HostMachine machine, StringRef name,
                             ArrayRef<std::string> objects, StringRef path) {
  SymbolNames names;
  for (const std::string &object : objects)
    if (Error error = names.add(object))
      return error;
  ifs::IFSStub stub;
  stub.SoName = name.str();
  stub.Target.Arch =
      machine == HostMachine::aarch64 ? ELF::EM_AARCH64 : ELF::EM_X86_64;
  stub.Target.BitWidth = ifs::IFSBitWidthType::IFS64;
  stub.Target.Endianness = ifs::IFSEndiannessType::Little;
  for (StringRef used : names.used.keys())
    if (!names.defined.contains(used)) {
      ifs::IFSSymbol &symbol = stub.Symbols.emplace_back(used.str());
      symbol.Type = ifs::IFSSymbolType::Func;
    }
  llvm::sort(stub.Symbols);
  return ifs::writeBinaryStub(path, stub);
}
