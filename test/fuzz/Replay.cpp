//===- Replay.cpp - Run a target on kept inputs ---------------------------===//
//
//   fuzz_TARGET FOLDER|FILE...
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/Target.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace fs = std::filesystem;

int main(int argc, char **argv) {
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i]))
      files.emplace_back(argv[i]);
    else
      for (const auto &entry : fs::recursive_directory_iterator(argv[i]))
        if (entry.is_regular_file())
          files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path &path : files) {
    // Print the name first, because a crash prints nothing.
    if (files.size() == 1 || getenv("FRIT_REPLAY_NAMES"))
      fprintf(stderr, "%s\n", path.c_str());
    std::ifstream file(path, std::ios::binary);
    std::vector<char> read{std::istreambuf_iterator<char>(file), {}};
    // A copy of exactly that size, so that a sanitizer sees its end.
    std::vector<uint8_t> bytes(read.begin(), read.end());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  printf("%zu inputs\n", files.size());
  return files.empty();
}
