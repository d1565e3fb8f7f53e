//===- EmitModule.cpp - Kernels as translation units ----------------------===//

#include "codegen/cuda/compile/EmitModule.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <set>

using namespace llvm;
using namespace frit::cuda;

/// What a module is to take at least: parsing headers and starting NVRTC's
/// optimizer take 40 ms of it, whatever is in it.
static constexpr double kLeastMilliseconds = 350;
/// Modules of a target at most, or nearly: a runtime loads each by itself.
static constexpr double kMostModules = 48;

/// What NVRTC takes for a kernel, from what was measured of those of the models
/// in test/bench: mostly the skeleton decides.
static double estimateMilliseconds(const KernelText &kernel) {
  double base = StringSwitch<double>(kernel.header)
                    .Case("conv_b2b", 400)
                    .Cases({"attention", "wgmma_attention", "conv"}, 300)
                    .Cases({"gemm", "wgmma_gemm", "wgmma_conv"}, 80)
                    .Cases({"row", "row_staged", "column", "depthwise"}, 50)
                    .Case("map", 5)
                    .Default(20); // transposes
  return base + 2.5 * double(kernel.sums) + double(kernel.source.size()) / 100;
}

/// The module of those `kernels` that have these `numbers`.
static ModuleText makeModule(ArrayRef<KernelText> kernels,
                             ArrayRef<size_t> numbers) {
  ModuleText module;
  std::set<std::string> headers;
  for (size_t number : numbers)
    headers.insert(kernels[number].header);
  for (const std::string &header : headers)
    module.text += "#include \"frit/" + header + ".cuh\"\n";
  for (size_t number : numbers) {
    const KernelText &kernel = kernels[number];
    module.text += "\n";
    module.kernels.push_back(number);
    module.starts.push_back(module.text.size());
    module.text += kernel.source;
    module.milliseconds += estimateMilliseconds(kernel);
    module.hasFloor |= !kernel.tensorMaps.empty();
  }
  return module;
}

ModuleText frit::cuda::joinKernels(ArrayRef<KernelText> kernels) {
  return makeModule(kernels, to_vector(seq<size_t>(0, kernels.size())));
}

std::vector<ModuleText> frit::cuda::groupKernels(ArrayRef<KernelText> kernels) {
  std::vector<ModuleText> modules;
  // Those with tensor maps have a floor. They are compiled twice, the others
  // once.
  for (bool hasFloor : {false, true}) {
    SmallVector<size_t> numbers;
    double total = 0;
    for (auto [number, kernel] : enumerate(kernels))
      if (kernel.tensorMaps.empty() != hasFloor) {
        numbers.push_back(number);
        total += estimateMilliseconds(kernel);
      }
    // Neighbours share headers.
    stable_sort(numbers, [&](size_t a, size_t b) {
      return kernels[a].header < kernels[b].header;
    });
    double share = std::max(kLeastMilliseconds, total / kMostModules);
    share = total / std::max(1.0, std::round(total / share));
    SmallVector<size_t> group;
    auto close = [&] {
      if (!group.empty())
        modules.push_back(makeModule(kernels, group));
      group.clear();
    };
    double done = 0, shares = 0;
    for (size_t number : numbers) {
      double cost = estimateMilliseconds(kernels[number]);
      // It belongs to the share that has its middle.
      double place = std::floor((done + cost / 2) / share);
      if (place != shares)
        close();
      shares = place;
      done += cost;
      group.push_back(number);
    }
    close();
  }
  return modules;
}

std::optional<size_t> ModuleText::kernelAt(size_t line) const {
  size_t at = 0;
  for (; line > 1 && at != std::string::npos; --line)
    at = text.find('\n', at) + 1;
  auto next = upper_bound(starts, at);
  if (next == starts.begin())
    return std::nullopt;
  return kernels[next - starts.begin() - 1];
}
