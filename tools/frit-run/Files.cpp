//===- Files.cpp - Tensors in files ---------------------------------------===//

#include "Files.h"
#include "Bytes.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

using namespace frit::run;

static bool readBytes(const std::string &path, Storage &bytes,
                      std::string &error) {
  std::unique_ptr<FILE, int (*)(FILE *)> file(fopen(path.c_str(), "rb"),
                                              fclose);
  struct stat facts;
  if (!file || fstat(fileno(file.get()), &facts) != 0) {
    error = strerror(errno);
    return false;
  }
  if (!S_ISREG(facts.st_mode)) {
    error = "it is no file";
    return false;
  }
  bytes = Storage(size_t(facts.st_size));
  if (fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) {
    error = "it could not be read to its end";
    return false;
  }
  return true;
}

bool frit::run::readTensors(const std::string &path,
                            std::vector<Tensor> &tensors, std::string &error,
                            bool *isArchive) {
  Storage bytes;
  bool isNamed = false;
  tensors.clear();
  bool good = readBytes(path, bytes, error);
  if (good) {
    std::string_view start =
        asText(Bytes(bytes).first(std::min<size_t>(bytes.size(), 9)));
    if (start.starts_with("\x93NUMPY")) {
      tensors.emplace_back();
      good = readNpy(bytes, tensors.back(), error);
    } else if (start.starts_with("PK")) {
      isNamed = true;
      good = readNpz(bytes, tensors, error);
    } else if (start.size() == 9 && start[8] == '{') {
      isNamed = true;
      good = readSafetensors(bytes, tensors, error);
    } else {
      tensors.emplace_back();
      good = readOnnxTensor(bytes, tensors.back(), error);
    }
  }
  if (isArchive)
    *isArchive = isNamed;
  if (!good)
    error = "cannot read '" + path + "': " + error;
  return good;
}

bool frit::run::writeTensors(const std::string &path,
                             const std::vector<Tensor> &tensors,
                             std::string &error) {
  std::vector<uint8_t> bytes;
  if (path.ends_with(".npy")) {
    if (tensors.size() != 1) {
      error = "a .npy file holds one tensor and there are " +
              std::to_string(tensors.size()) + "; write an .npz";
      return false;
    }
    bytes = makeNpy(tensors[0]);
  } else if (!makeNpz(tensors, bytes, error)) {
    return false;
  }
  // Under another name first, so that a failure leaves no half of a file.
  std::string partial = path + ".part";
  FILE *file = fopen(partial.c_str(), "wb");
  bool good =
      file && fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (file && fclose(file) != 0)
    good = false;
  if (good && rename(partial.c_str(), path.c_str()) == 0)
    return true;
  error = "cannot write '" + path + "': " + strerror(errno);
  if (file)
    unlink(partial.c_str());
  return false;
}
