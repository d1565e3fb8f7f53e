//===- ImageFolder.cpp - Images in folders of their classes ---------------===//

#include "tools/frit-train/data/ImageFolder.h"
#include "compiler/support/OwnedFiles.h"
#include "tools/frit-train/data/Image.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

using namespace frit::train;
namespace fs = std::filesystem;

/// Bytes of a file at most.
static constexpr uint64_t kMostFileBytes = uint64_t(1) << 30;

static bool isHidden(const fs::path &path) {
  return path.filename().native().starts_with('.');
}

static bool isImage(const fs::path &path) {
  std::string ending = path.extension().native();
  std::ranges::transform(ending, ending.begin(),
                         [](unsigned char c) { return char(tolower(c)); });
  return !isHidden(path) &&
         (ending == ".jpg" || ending == ".jpeg" || ending == ".png");
}

bool ImageFolder::isOne(const std::string &folder) {
  std::error_code code;
  bool hasFolders = false;
  for (fs::directory_iterator at(folder, code), end; !code && at != end;
       at.increment(code)) {
    if (at->path().extension() == ".npy")
      return false;
    std::error_code ignored;
    hasFolders |= !isHidden(at->path()) && at->is_directory(ignored);
  }
  return hasFolders;
}

static Fault cannotRead(const std::string &path, const std::string &why) {
  return Fault("cannot read '" + path + "': " + why);
}

/// Lists a class's images, also those in folders within its folder, and links
/// to nothing, which cannot be read then.
Fault ImageFolder::addClass(const std::string &name) {
  std::error_code code;
  std::vector<std::string> paths;
  std::string place = folder + "/" + name;
  for (fs::recursive_directory_iterator at(place, code), end;
       !code && at != end; at.increment(code)) {
    std::error_code ignored;
    if (isImage(at->path()) && !at->is_directory(ignored))
      paths.push_back(at->path().native().substr(folder.size() + 1));
  }
  if (code)
    return cannotRead(place, code.message());
  if (paths.empty())
    return Fault("the folder '" + place +
                 "' of a class has no image: .jpg, .jpeg or .png");
  std::ranges::sort(paths);
  for (std::string &path : paths) {
    frit::protectInput(folder + "/" + path);
    images.push_back({std::move(path), int64_t(names.size())});
  }
  names.push_back(name);
  return {};
}

Fault ImageFolder::open(const std::string &path) {
  folder = path;
  while (folder.size() > 1 && folder.ends_with('/'))
    folder.pop_back();
  std::error_code code;
  std::vector<std::string> found;
  for (fs::directory_iterator at(folder, code), end; !code && at != end;
       at.increment(code)) {
    std::error_code ignored;
    if (isHidden(at->path()))
      continue;
    if (!at->exists(code))
      return cannotRead(at->path().native(), "it is a link to nothing");
    if (at->is_directory(ignored))
      found.push_back(at->path().filename().native());
  }
  if (code)
    return cannotRead(folder, code.message());
  std::ranges::sort(found);
  for (const std::string &name : found)
    if (Fault fault = addClass(name))
      return fault;
  return {};
}

/// Reads a regular file of at most kMostFileBytes.
static Fault readFile(const std::string &path, Storage &bytes) {
  struct Closer {
    int file;
    ~Closer() {
      if (file >= 0)
        close(file);
    }
  } opened{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat facts;
  if (opened.file < 0 || fstat(opened.file, &facts) != 0)
    return cannotRead(path, strerror(errno));
  if (!S_ISREG(facts.st_mode))
    return cannotRead(path, "it is not a regular file");
  if (uint64_t(facts.st_size) > kMostFileBytes)
    return cannotRead(path, "it has more than 1 GiB");
  bytes = Storage(size_t(facts.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t count =
        ::read(opened.file, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno != EINTR)
      return cannotRead(path, strerror(errno));
    if (count == 0)
      return cannotRead(path, "it has become shorter");
    done += count > 0 ? size_t(count) : 0;
  }
  return {};
}

Fault ImageFolder::read(uint64_t number, uint64_t height, uint64_t width,
                        uint64_t channels, uint8_t *to) const {
  std::string path = folder + "/" + images[number].path;
  Storage bytes;
  if (Fault fault = readFile(path, bytes))
    return fault;
  Image image;
  if (Fault fault = decodeImage(bytes, image))
    return cannotRead(path, fault.message());
  fitImage(image, height, width, channels, to);
  return {};
}
