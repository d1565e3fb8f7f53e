//===- EmitKernels.cpp - The CUDA C++ of a plan's kernels -----------------===//
//
//   plan.kernel @relu_0 { nn.fusion ... }
//   plan.kernel @relu_1 { nn.fusion ... }   // the same text
// ==>
//   plan.kernel @relu_0 attributes {
//     grid = array<i64: 1, 1, 1>, block = array<i64: 256, 1, 1>,
//     shared_bytes = 0 : i64, module = 0 : i64, waits,
//     source = #plan.source<header = "map", text = "...", ...>} { ... }
//   plan.kernel @relu_1 attributes {..., module = 0, symbol = "relu_0"} { ... }
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/compile/EmitKernels.h"

#include "codegen/cuda/compile/EmitModule.h"
#include "codegen/cuda/compile/Nvrtc.h"
#include "frit/printable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace frit::cuda {
#define GEN_PASS_DEF_EMITKERNELS
#include "codegen/cuda/compile/Passes.h.inc"
} // namespace frit::cuda

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Placeholder of a kernel's name while texts are compared: a character that
/// C++ does not have.
static constexpr StringLiteral kAnyName = "@";

/// Returns the text of a kernel, emitted as kAnyName, with its name set.
static std::string named(StringRef text, StringRef name) {
  SmallVector<StringRef> parts;
  text.split(parts, kAnyName);
  return llvm::join(parts, name);
}

static void setLaunch(plan::KernelOp kernel, const KernelText &text,
                      const GpuArch &arch) {
  Builder b(kernel.getContext());
  kernel.setGridAttr(b.getDenseI64ArrayAttr(text.grid));
  kernel.setBlockAttr(b.getDenseI64ArrayAttr(text.block));
  kernel.setSharedBytesAttr(b.getI64IntegerAttr(text.sharedBytes));
  kernel.setWaits(arch.hasPdl && text.waits);
  if (!text.symbol.empty())
    kernel.setSymbol(text.symbol);
  if (!text.tensorMaps.empty())
    kernel.setTensorMapsAttr(b.getArrayAttr(llvm::map_to_vector(
        text.tensorMaps, [&](const artifact::TensorMap &map) -> Attribute {
          return plan::TensorMapAttr::get(b.getContext(), map);
        })));
  if (!text.scalars.empty())
    kernel.setScalars(text.scalars);
}

/// Returns the names of the model's nodes at `loc`. Long lists are truncated.
static std::string nodesText(Location loc) {
  constexpr size_t longest = 1000;
  std::string names = plan::nodeNames(loc);
  if (names.size() > longest)
    names = names.substr(0, std::min(names.rfind(", ", longest), longest)) +
            ", ...";
  return commentText(names.empty() ? "no node of the model" : names);
}

static std::string typesText(plan::KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "(";
  llvm::interleaveComma(kernel.getFusion()->getOperandTypes(), os);
  os << ") -> (";
  llvm::interleaveComma(kernel.getFusion()->getResultTypes(), os);
  os << ")";
  return text;
}

/// The launches of kernels that share a text: nodes and shapes of each, without
/// duplicates.
using Launches = std::vector<std::string>;

static std::string launchText(Location loc, plan::KernelOp kernel) {
  return nodesText(loc) + ": " + typesText(kernel);
}

/// Returns comments for readers of the text: the model's nodes, the shapes and
/// the schedule of `kernel`, and the other launches of its text. They are added
/// after texts have been compared, so that they do not keep equal texts apart.
static std::string describe(plan::KernelOp kernel, Launches launches) {
  constexpr size_t most = 4;
  Location loc = kernel.getFusion()->getLoc();
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "// " << nodesText(loc) << "\n// " << typesText(kernel) << "\n";
  llvm::erase(launches, launchText(loc, kernel));
  for (const std::string &launch : ArrayRef(launches).take_front(most))
    os << "// also " << launch << "\n";
  if (launches.size() > most) {
    size_t more = launches.size() - most;
    os << "// and " << more << " more launch" << (more == 1 ? "" : "es")
       << "\n";
  }
  os << "// " << cast<nn::FusionOp>(kernel.getFusion()).getScheduleAttr()
     << "\n";
  return text;
}

namespace {
class EmitKernels : public frit::cuda::impl::EmitKernelsBase<EmitKernels> {
public:
  explicit EmitKernels(CudaOptions options) : options(std::move(options)) {}

  void runOnOperation() override {
    plan::TargetOp op = getOperation();
    if (!isCudaArch(op.getArch()))
      return;
    options.arch = op.getArch();
    CudaTarget target(options);
    SmallVector<KernelText, 0> texts;
    SmallVector<plan::KernelOp> first; // the first one with each text
    llvm::StringMap<size_t> known;     // index in `texts`, by text
    SmallVector<std::pair<plan::KernelOp, size_t>> uses;
    for (auto kernel : op.getBody().getOps<plan::KernelOp>()) {
      FailureOr<KernelText> text =
          emitKernel(cast<nn::FusionOp>(kernel.getFusion()), kAnyName, target);
      if (failed(text))
        return signalPassFailure();
      setLaunch(kernel, *text, target.machine().arch);
      // A user's kernel has no text but preludes.
      auto [it, isNew] = known.try_emplace(llvm::join(text->preludes, "\0") +
                                               text->symbol + text->source,
                                           texts.size());
      uses.push_back({kernel, it->second});
      if (!isNew) {
        if (text->symbol.empty())
          kernel.setSymbol(first[it->second].getSymName());
        continue;
      }
      text->source = named(text->source, kernel.getSymName());
      texts.push_back(std::move(*text));
      first.push_back(kernel);
    }
    SmallVector<size_t> modules = groupKernels(texts);
    llvm::StringMap<std::pair<plan::KernelOp, size_t>> byName;
    for (auto [kernel, number] : uses) {
      kernel.setModule(modules[number]);
      byName[kernel.getSymName()] = {kernel, number};
    }
    // A library's call launches its fallback if the library declines.
    std::vector<Launches> launches(texts.size());
    std::vector<llvm::StringSet<>> listed(texts.size());
    op.walk([&](Operation *step) {
      FlatSymbolRefAttr symbol = plan::kernelOf(step);
      if (!symbol)
        return;
      auto [kernel, number] = byName.lookup(symbol.getValue());
      if (!kernel)
        return;
      std::string text = launchText(step->getLoc(), kernel);
      if (listed[number].insert(text).second)
        launches[number].push_back(std::move(text));
    });
    for (auto [kernel, text, steps] : llvm::zip_equal(first, texts, launches))
      kernel.setSourceAttr(plan::SourceAttr::get(
          &getContext(), text.header, describe(kernel, steps) + text.source,
          int64_t(estimateMilliseconds(text)), listOf(text.preludes),
          listOf(text.folders)));
  }

private:
  /// Returns an array of strings; null if there are none.
  ArrayAttr listOf(ArrayRef<std::string> texts) {
    if (texts.empty())
      return nullptr;
    Builder b(&getContext());
    return b.getArrayAttr(
        llvm::map_to_vector(texts, [&](StringRef text) -> Attribute {
          return b.getStringAttr(text);
        }));
  }

  CudaOptions options;
};
} // namespace

std::unique_ptr<Pass>
frit::cuda::createEmitKernelsPass(const CudaOptions &options) {
  return std::make_unique<EmitKernels>(options);
}

void frit::cuda::registerEmitKernelsPass() {
  registerPass([] { return createEmitKernelsPass(CudaOptions()); });
}
