//===- Files.cpp - Read and write tensors in files ------------------------===//

#include "tools/support/Files.h"
#include "compiler/support/OutputFile.h"
#include "tools/support/Bytes.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <sys/stat.h>

using namespace frit;
using namespace frit::tools;

static Fault readBytes(const std::string &path, Storage &bytes) {
  std::unique_ptr<FILE, int (*)(FILE *)> file(fopen(path.c_str(), "rb"),
                                              fclose);
  struct stat facts;
  if (!file || fstat(fileno(file.get()), &facts) != 0)
    return Fault(strerror(errno));
  if (!S_ISREG(facts.st_mode))
    return Fault("it is not a regular file");
  protectInput(path);
  bytes = Storage(size_t(facts.st_size));
  if (fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size())
    return Fault("it could not be read to its end");
  return {};
}

Fault frit::tools::readTensors(const std::string &path,
                               std::vector<Tensor> &tensors, bool *isArchive) {
  Storage bytes;
  bool isNamed = false;
  tensors.clear();
  Fault fault = readBytes(path, bytes);
  if (!fault) {
    std::string_view start =
        asText(Bytes(bytes).first(std::min<size_t>(bytes.size(), 9)));
    if (start.starts_with(kNpyMagic)) {
      tensors.emplace_back();
      fault = readNpy(bytes, tensors.back());
    } else if (start.starts_with("PK")) {
      isNamed = true;
      fault = readNpz(bytes, tensors);
    } else if (start.size() == 9 && start[8] == '{') {
      isNamed = true;
      fault = readSafetensors(bytes, tensors);
    } else {
      tensors.emplace_back();
      fault = readOnnxTensor(bytes, tensors.back());
    }
  }
  if (isArchive)
    *isArchive = isNamed;
  return fault ? fault.within("cannot read '" + path + "'") : fault;
}

void frit::tools::protectModel(const std::string &path,
                               const frit_module *module) {
  protectInput(path);
  // The default name of external weights: the model may get them again.
  protectInput(path.substr(0, path.rfind('.')) + ".safetensors");
  for (uint32_t i = 0; i < frit_module_weight_file_count(module); ++i)
    protectInput(frit_module_weight_file(module, i));
}

Fault frit::tools::checkOutputs(std::vector<OutputName> outputs) {
  std::erase_if(outputs,
                [](const OutputName &output) { return output.path.empty(); });
  OutputRefusal refusal = frit::checkOutputs(outputs);
  if (!refusal.code)
    return {};
  return Fault(refusal.message,
               isOutputFault(refusal.code) ? kBadUsage : kMachine);
}

Fault frit::tools::writeTensors(const std::string &path,
                                const std::vector<Tensor> &tensors) {
  std::vector<uint8_t> bytes;
  if (path.ends_with(".npy")) {
    if (tensors.size() != 1)
      return Fault("a .npy file holds one tensor and there are " +
                   std::to_string(tensors.size()) + "; write an .npz");
    bytes = makeNpy(tensors[0]);
  } else if (Fault fault = makeNpz(tensors, bytes)) {
    return fault;
  }
  std::string_view all(reinterpret_cast<const char *>(bytes.data()),
                       bytes.size());
  return writingFault(path, writeFile(path, all));
}

Fault frit::tools::writingFault(const std::string &path, std::error_code code) {
  if (!code)
    return {};
  return Fault(describeOutputError(path, code),
               isOutputFault(code) ? kBadUsage : kMachine);
}
