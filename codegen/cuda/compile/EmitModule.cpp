//===- EmitModule.cpp - Kernels as translation units ----------------------===//

#include "codegen/cuda/compile/EmitModule.h"

#include "codegen/cuda/target/CudaDialect.h"

#include <cmath>
#include <map>
#include <set>

using namespace llvm;
using namespace frit;
using namespace frit::cuda;

/// Minimum time to compile a module; parsing headers and starting NVRTC's
/// optimizer take 60 ms of it.
static constexpr double kLeastMilliseconds = 200;
/// Up to this many modules, which a machine compiles concurrently, splitting
/// pays even if they are short. Modules that would take longer than
/// kLongMilliseconds are split further.
static constexpr double kWorthModules = 16, kLongMilliseconds = 700;
/// Approximate maximum of modules per target: the runtime loads each
/// separately.
static constexpr double kMostModules = 48;

double frit::cuda::estimateMilliseconds(const KernelText &kernel) {
  return kernel.headerMilliseconds + 2.5 * double(kernel.sums) +
         double(kernel.source.size()) / 100;
}

/// Joins kernels, given as pairs of header and source, after the headers and
/// users' texts that they need. Sets `starts` to the offsets of the sources.
static std::string joinTexts(ArrayRef<std::pair<StringRef, StringRef>> kernels,
                             ArrayRef<StringRef> preludes,
                             SmallVectorImpl<size_t> &starts) {
  std::string text;
  std::set<StringRef> headers;
  for (auto [header, source] : kernels)
    if (!header.empty())
      headers.insert(header);
  for (StringRef header : headers)
    text += ("#include \"frit/" + header + ".cuh\"\n").str();
  for (StringRef prelude : preludes)
    text += prelude;
  // Line numbers count from the start of this text again.
  if (!preludes.empty())
    text += "#line " + std::to_string(StringRef(text).count('\n') + 2) +
            " \"frit.cu\"\n";
  for (auto [header, source] : kernels) {
    text += "\n";
    starts.push_back(text.size());
    text += source;
  }
  return text;
}

/// Returns the users' texts that precede the kernels, each once.
static SmallVector<StringRef> preludesOf(ArrayRef<KernelText> kernels) {
  SmallVector<StringRef> preludes;
  for (const KernelText &kernel : kernels)
    for (StringRef prelude : kernel.preludes)
      if (!is_contained(preludes, prelude))
        preludes.push_back(prelude);
  return preludes;
}

std::string frit::cuda::joinKernels(ArrayRef<KernelText> kernels) {
  SmallVector<size_t> starts;
  return joinTexts(map_to_vector(kernels,
                                 [](const KernelText &kernel) {
                                   return std::pair<StringRef, StringRef>(
                                       kernel.header, kernel.source);
                                 }),
                   preludesOf(kernels), starts);
}

/// Adds the elements of `more`, strings or null, that `all` lacks.
template <typename List> static void addNew(List &all, mlir::ArrayAttr more) {
  if (more)
    for (auto entry : more.getAsRange<mlir::StringAttr>())
      if (!is_contained(all, entry.getValue()))
        all.emplace_back(entry.getValue());
}

/// Returns whether a kernel has a second body for architectures without WGMMA.
static bool hasFloor(const KernelText &kernel) {
  return kernel.hasFloor || !kernel.tensorMaps.empty();
}
static bool hasFloor(plan::KernelOp kernel) {
  auto integer = dyn_cast_if_present<IntegerGemmAttr>(
      cast<nn::FusionOp>(kernel.getFusion()).getScheduleAttr());
  return kernel.getTensorMaps() || (integer && integer.getWgmma());
}

/// Creates a module of kernels that have a text of their own.
static ModuleText makeModule(SmallVector<plan::KernelOp> kernels) {
  ModuleText module;
  SmallVector<std::pair<StringRef, StringRef>> texts;
  SmallVector<StringRef> preludes;
  for (plan::KernelOp kernel : kernels) {
    plan::SourceAttr source = kernel.getSourceAttr();
    addNew(preludes, source.getPreludes());
    addNew(module.folders, source.getFolders());
    texts.push_back({source.getHeader(), source.getText()});
    module.milliseconds += source.getMilliseconds();
    module.hasFloor |= hasFloor(kernel);
  }
  module.text = joinTexts(texts, preludes, module.starts);
  module.kernels = std::move(kernels);
  return module;
}

ModuleText frit::cuda::joinKernels(plan::TargetOp target) {
  SmallVector<plan::KernelOp> kernels;
  for (auto kernel : target.getBody().getOps<plan::KernelOp>())
    if (kernel.getSource())
      kernels.push_back(kernel);
  return makeModule(std::move(kernels));
}

std::vector<ModuleText> frit::cuda::splitIntoModules(plan::TargetOp target) {
  std::vector<SmallVector<plan::KernelOp>> groups;
  for (plan::KernelOp kernel : joinKernels(target).kernels) {
    size_t number = *kernel.getModule();
    if (number >= groups.size())
      groups.resize(number + 1);
    groups[number].push_back(kernel);
  }
  std::vector<ModuleText> modules;
  for (SmallVector<plan::KernelOp> &kernels : groups) {
    // Put kernels of one skeleton next to each other.
    stable_sort(kernels, [](plan::KernelOp a, plan::KernelOp b) {
      return a.getSourceAttr().getHeader() < b.getSourceAttr().getHeader();
    });
    modules.push_back(makeModule(std::move(kernels)));
  }
  return modules;
}

SmallVector<size_t> frit::cuda::groupKernels(ArrayRef<KernelText> kernels) {
  SmallVector<size_t> modules(kernels.size());
  size_t module = 0;
  // Kernels with a second body for other architectures are compiled twice, the
  // others once; so a module has one kind only.
  for (bool twice : {false, true}) {
    SmallVector<size_t> numbers;
    double total = 0;
    for (auto [number, kernel] : enumerate(kernels))
      if (kernel.preludes.empty() && hasFloor(kernel) == twice) {
        numbers.push_back(number);
        total += estimateMilliseconds(kernel);
      }
    // Kernels of one skeleton share a header.
    stable_sort(numbers, [&](size_t a, size_t b) {
      return kernels[a].header < kernels[b].header;
    });
    double share = std::min(total / kWorthModules, kLongMilliseconds);
    share = std::max({share, kLeastMilliseconds, total / kMostModules});
    share = total / std::max(1.0, std::round(total / share));
    double done = 0, shares = 0;
    for (auto [i, number] : enumerate(numbers)) {
      double cost = estimateMilliseconds(kernels[number]);
      // A kernel belongs to the module's share that contains its midpoint.
      double place = std::floor((done + cost / 2) / share);
      module += i && place != shares;
      shares = place;
      done += cost;
      modules[number] = module;
    }
    module += !numbers.empty();
  }
  // Files of different users may define the same names.
  std::map<std::vector<std::string>, size_t> users;
  for (auto [number, kernel] : enumerate(kernels))
    if (!kernel.preludes.empty()) {
      auto [it, isNew] = users.try_emplace(kernel.preludes, module);
      module += isNew;
      modules[number] = it->second;
    }
  return modules;
}

plan::KernelOp ModuleText::kernelAt(size_t line) const {
  size_t at = 0;
  for (; line > 1 && at != std::string::npos; --line)
    at = text.find('\n', at) + 1;
  auto next = upper_bound(starts, at);
  if (next == starts.begin())
    return {};
  return kernels[next - starts.begin() - 1];
}
