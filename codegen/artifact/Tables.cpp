//===- Tables.cpp - Build the tables of a plan ----------------------------===//

#include "codegen/artifact/Tables.h"

#include <cstring>

using namespace frit::artifact;

std::string Tables::write(Header header) {
  std::string out(sizeof(Header), '\0');
  auto align = [&] { out.resize(llvm::alignTo(out.size(), 16)); };
  auto table = [&](const auto &entries) {
    align();
    Table result{out.size(), entries.size()};
    out.append(reinterpret_cast<const char *>(entries.data()),
               entries.size() * sizeof(entries[0]));
    return result;
  };
  place(header, table);
  align();
  header.strings = {out.size(), strings.size()};
  out += strings;
  align();
  // Blob offsets were relative to the first blob.
  uint64_t base = out.size();
  for (size_t i = 0; i < modules.size(); ++i) {
    DeviceModule module = modules[i];
    for (Blob *blob : {&module.cubin, &module.ptx})
      if (blob->size)
        blob->offset += base;
    std::memcpy(out.data() + header.modules.offset + i * sizeof(DeviceModule),
                &module, sizeof(DeviceModule));
  }
  for (size_t i = 0; i < stringSteps.size(); ++i) {
    StringStep step = stringSteps[i];
    if (step.automaton.size)
      step.automaton.offset += base;
    std::memcpy(out.data() + header.stringSteps.offset + i * sizeof(StringStep),
                &step, sizeof(StringStep));
  }
  out += blobs;
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.headerBytes = sizeof(Header);
  header.bytes = out.size();
  std::memcpy(out.data(), &header, sizeof(Header));
  return out;
}
