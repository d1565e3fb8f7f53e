//===- Preparation.cpp - Divide the prepare steps by memory ---------------===//

#include "runtime/cuda/Preparation.h"

#include <algorithm>

using namespace frit;
using namespace frit::cuda;
using artifact::Buffer;
using artifact::Constant;
using artifact::Space;
using artifact::Step;

std::vector<Window> cuda::windowsOf(const PlanView &plan,
                                    std::span<const Step> list, uint64_t most) {
  std::span<const Constant> all = plan.constants();
  std::vector<Window> windows;
  std::vector<size_t> seenIn(
      all.size(), 0); // number (from 1) of the last window that reads each
  std::vector<uint32_t> added;
  for (size_t index = 0; index < list.size(); ++index) {
    // Collects the constants that the step reads and the last window lacks.
    auto collect = [&] {
      added.clear();
      uint64_t bytes = 0;
      for (const Buffer &buffer : plan.arguments(list[index])) {
        if (buffer.space != Space::constant || all[buffer.index].resident ||
            !all[buffer.index].bytes || seenIn[buffer.index] == windows.size())
          continue;
        seenIn[buffer.index] = windows.size();
        added.push_back(buffer.index);
        bytes += alignedBytes(all[buffer.index].bytes);
      }
      return bytes;
    };
    auto begin = [&] { windows.push_back({index, 0, {}, 0}); };
    if (windows.empty())
      begin();
    uint64_t bytes = collect();
    if (bytes && windows.back().bytes && windows.back().bytes + bytes > most) {
      begin();
      bytes = collect();
    }
    Window &window = windows.back();
    ++window.count;
    window.bytes += bytes;
    window.constants.insert(window.constants.end(), added.begin(), added.end());
  }
  return windows;
}
