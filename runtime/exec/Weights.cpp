//===- Weights.cpp - Map files of external weights ------------------------===//

#include "runtime/exec/Weights.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace frit;

Status Weights::map(const std::string &path, Mapping &mapping) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return Status(FRIT_IO_ERROR, format("cannot open the weights in '%s': %s",
                                        path.c_str(), strerror(errno)));
  struct stat facts;
  if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    close(file);
    return Status(FRIT_IO_ERROR,
                  format("the weights in '%s' are no file", path.c_str()));
  }
  mapping.bytes = uint64_t(facts.st_size);
  if (mapping.bytes) {
    mapping.data =
        mmap(nullptr, mapping.bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapping.data == MAP_FAILED) {
      int error = errno;
      mapping.data = nullptr;
      close(file);
      return Status(FRIT_IO_ERROR, format("cannot map the weights in '%s': %s",
                                          path.c_str(), strerror(error)));
    }
  }
  close(file);
  return Status();
}

Status Weights::open(const PlanView &plan, const frit_image &image,
                     const std::string &folder) {
  release();
  for (const artifact::Constant &constant : plan.constants()) {
    if (!constant.file.size) {
      pointers.push_back(static_cast<const uint8_t *>(image.weights) +
                         constant.offset);
      continue;
    }
    std::string path(plan.text(constant.file));
    if (path[0] != '/' && !folder.empty())
      path = folder + "/" + path;
    auto [entry, added] = files.try_emplace(path);
    if (added)
      FRIT_TRY(map(path, entry->second));
    const Mapping &mapping = entry->second;
    if (constant.offset > mapping.bytes ||
        constant.bytes > mapping.bytes - constant.offset)
      return Status(
          FRIT_IO_ERROR,
          format(
              "the file '%s' is too short: weight '%s' ends at byte %llu of "
              "%llu",
              path.c_str(), std::string(plan.text(constant.name)).c_str(),
              static_cast<unsigned long long>(constant.offset + constant.bytes),
              static_cast<unsigned long long>(mapping.bytes)));
    pointers.push_back(static_cast<const uint8_t *>(mapping.data) +
                       constant.offset);
  }
  return Status();
}

void Weights::release() {
  for (auto &[path, mapping] : files)
    if (mapping.data)
      munmap(mapping.data, mapping.bytes);
  files.clear();
  pointers.clear();
}
