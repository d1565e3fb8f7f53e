//===- Files.cpp - Read and write tensors in files ------------------------===//

#include "tools/support/Files.h"
#include "compiler/driver/OutputFile.h"
#include "tools/support/Bytes.h"
#include "tools/support/Message.h"

#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <memory>
#include <sys/stat.h>

using namespace frit;
using namespace frit::tools;

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
    error = "it is not a regular file";
    return false;
  }
  protectInput(path);
  bytes = Storage(size_t(facts.st_size));
  if (fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) {
    error = "it could not be read to its end";
    return false;
  }
  return true;
}

bool frit::tools::readTensors(const std::string &path,
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

void frit::tools::protectModel(const std::string &model,
                               const std::string &weights) {
  protectInput(model);
  size_t slash = model.rfind('/');
  std::string folder = !weights.empty()      ? weights
                       : slash != model.npos ? model.substr(0, slash + 1)
                                             : ".";
  std::unique_ptr<DIR, int (*)(DIR *)> list(opendir(folder.c_str()), closedir);
  while (dirent *entry = list ? readdir(list.get()) : nullptr)
    if (std::string_view(entry->d_name).ends_with(".safetensors"))
      protectInput(folder + "/" + entry->d_name);
}

ExitStatus frit::tools::writeTensors(const std::string &path,
                                     const std::vector<Tensor> &tensors,
                                     std::string &error) {
  std::vector<uint8_t> bytes;
  if (path.ends_with(".npy")) {
    if (tensors.size() != 1) {
      error = "a .npy file holds one tensor and there are " +
              std::to_string(tensors.size()) + "; write an .npz";
      return kBadInput;
    }
    bytes = makeNpy(tensors[0]);
  } else if (!makeNpz(tensors, bytes, error)) {
    return kBadInput;
  }
  std::string_view all(reinterpret_cast<const char *>(bytes.data()),
                       bytes.size());
  std::error_code code = writeFile(path, all);
  if (code)
    error = "cannot write '" + path + "': " + code.message();
  return !code ? kDone : isOutputFault(code) ? kBadUsage : kMachine;
}

ExitStatus frit::tools::writtenStatus(const std::string &path,
                                      std::error_code error) {
  if (!error)
    return kDone;
  complain("cannot write '" + path + "': " + error.message());
  return isOutputFault(error) ? kBadUsage : kMachine;
}
