//===- InputFile.cpp - Files that can be read to their end ----------------===//

#include "compiler/support/InputFile.h"

#include <sys/stat.h>

namespace {
class DeviceCategory final : public std::error_category {
public:
  const char *name() const noexcept override { return "input"; }
  std::string message(int) const override { return "it is a device"; }
};
} // namespace

std::error_code frit::checkInput(const std::string &path) {
  static const DeviceCategory category;
  struct stat file, null;
  if (stat(path.c_str(), &file) != 0 ||
      (!S_ISCHR(file.st_mode) && !S_ISBLK(file.st_mode)))
    return {};
  bool isNull = stat("/dev/null", &null) == 0 && S_ISCHR(file.st_mode) &&
                null.st_rdev == file.st_rdev;
  return isNull ? std::error_code() : std::error_code(1, category);
}
