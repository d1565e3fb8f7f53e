//===- Serialize.cpp - Serialize a plan for the runtime -------------------===//

#include "codegen/artifact/Serialize.h"

#include "codegen/artifact/Elements.h"
#include "codegen/artifact/Safetensors.h"
#include "codegen/artifact/Steps.h"
#include "codegen/artifact/Strings.h"
#include "dialects/nn/NN.h"

#include "frit/role_names.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace frit;
using namespace frit::artifact;

/// Returns whether `arch` is a CPU.
static bool isHostArch(StringRef arch) { return !arch.starts_with("sm_"); }

std::string frit::artifact::hostKernelName(plan::TargetOp target,
                                           StringRef kernel) {
  std::string name = ("frit_" + target.getArch() + "_" + kernel).str();
  llvm::replace(name, '-', '_');
  return name;
}

static_assert(kShardRow == nn::kShardRow);

static LogicalResult checkShard(plan::LaunchOp launch) {
  auto target = launch->getParentOfType<plan::TargetOp>();
  auto kernel = cast<plan::KernelOp>(
      SymbolTable::lookupSymbolIn(target, launch.getKernelAttr()));
  int64_t count = *launch.getShardRows() * nn::kShardRow;
  if (kernel.getScalars() && *kernel.getScalars() == ArrayRef(count))
    return success();
  return launch.emitError("its kernel '")
         << kernel.getSymName() << "' cannot run on a part of its elements";
}

/// Checks that only launches of shards use sharded states and that their
/// kernels take an element count. CPU targets do not shard.
static LogicalResult checkShards(ModuleOp module) {
  DenseSet<StringAttr> sharded;
  for (auto state : module.getOps<plan::StateOp>())
    if (state.getSharded())
      sharded.insert(state.getSymNameAttr());
  auto isDivided = [&](Value value) {
    plan::BufferOp root = plan::rootOf(value);
    return root && root.getSpace() == plan::Space::state &&
           sharded.contains(root.getSymbolAttr());
  };
  WalkResult result = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto target = dyn_cast<plan::TargetOp>(op);
        target && isHostArch(target.getArch()))
      return WalkResult::skip();
    if (!plan::isStep(op))
      return WalkResult::advance();
    auto launch = dyn_cast<plan::LaunchOp>(op);
    if (launch && launch.getShardRows())
      return WalkResult(checkShard(launch));
    if (llvm::none_of(op->getOperands(), isDivided))
      return WalkResult::advance();
    op->emitError("uses what other ranks have of a state");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

namespace {

class Serializer {
public:
  Serializer(ModuleOp module, const llvm::StringMap<TargetCode> &code,
             StringRef weightsFile, const plan::FunctionShapes &shapes)
      : module(module), code(code), weightsFile(weightsFile),
        allShapes(shapes) {}

  FailureOr<Image> run(StringRef model) {
    if (failed(addConstants()) || failed(checkShards(module)))
      return failure();
    Header header;
    if (failed(addStates(header.stateBytes)))
      return failure();
    auto targets = llvm::to_vector(module.getOps<plan::TargetOp>());
    for (auto function : module.getOps<plan::FunctionOp>())
      if (failed(addFunction(function, targets)))
        return failure();
    for (plan::TargetOp target : targets)
      addTarget(target);
    header.model = tables.text(model);
    header.producer = tables.text("frit " FRIT_VERSION);
    header.weightBytes = image.embeddedBytes();
    image.plan = tables.write(header);
    return std::move(image);
  }

private:
  LogicalResult addConstants() {
    SmallVector<NamedTensor> named;
    for (auto constant : module.getOps<plan::ConstantOp>()) {
      auto type = cast<RankedTensorType>(constant.getValue().getType());
      if (!weightsFile.empty() && !llvm::json::isUTF8(constant.getSymName()))
        return constant.emitError("weight '")
               << constant.getSymName()
               << "': its name is not UTF-8, as names in a safetensors file "
                  "are; without -fexternal-weights it may be anything";
      std::optional<ArrayRef<char>> bytes =
          bytesOf(cast<ElementsAttr>(constant.getValue()), image.spelledOut);
      if (!bytes)
        return constant.emitError("the bytes of weight '")
               << constant.getSymName() << "' are missing";
      Constant entry;
      entry.name = tables.text(constant.getSymName());
      entry.type = plan::dtypeOf(type.getElementType());
      entry.dims = tables.shape(type.getShape());
      entry.bytes = bytes->size();
      steps.constants[constant.getSymNameAttr()] = tables.constants.size();
      tables.constants.push_back(entry);
      image.weights.push_back({0, *bytes});
      named.push_back({constant.getSymName().str(), entry.type,
                       llvm::to_vector(type.getShape()), entry.bytes});
    }
    if (!named.empty() && !weightsFile.empty())
      addToFile(named);
    else
      embed();
    return success();
  }

  void embed() {
    for (auto [run, entry] : llvm::zip(image.weights, tables.constants)) {
      // Empty weights get no space, so the file ends with the last byte of a
      // weight.
      if (!entry.bytes)
        continue;
      image.weightBytes = llvm::alignTo(image.weightBytes, kAlignment);
      run.offset = entry.offset = image.weightBytes;
      image.weightBytes += entry.bytes;
    }
  }

  /// Adds weights in the order of a safetensors file: widest elements first,
  /// which aligns all of them without gaps. The runtime finds the tensors by
  /// name.
  void addToFile(ArrayRef<NamedTensor> named) {
    auto order = llvm::to_vector(llvm::seq<size_t>(0, named.size()));
    auto width = [&](size_t i) {
      return named[i].bytes ? llvm::MinAlign(named[i].bytes, 8) : 8;
    };
    llvm::stable_sort(order,
                      [&](size_t a, size_t b) { return width(a) > width(b); });
    SmallVector<NamedTensor> sorted;
    for (size_t i : order) {
      sorted.push_back(named[i]);
      image.weights[i].offset = image.weightBytes;
      image.weightBytes += named[i].bytes;
      tables.constants[i].file = tables.text(weightsFile);
    }
    image.weightsHead = safetensorsHead(sorted);
  }

  /// Adds the members of the states, and which are derived. Sets `bytes` to the
  /// size of the state memory.
  LogicalResult addStates(uint64_t &bytes) {
    llvm::StringMap<plan::StateOp> owners;
    for (auto state : module.getOps<plan::StateOp>()) {
      uint64_t begin = *state.getOffset();
      if (state.getSharded())
        tables.shards.push_back(
            {begin, state.getType().getNumElements() / kShardRow});
      if (FlatSymbolRefAttr from = state.getDerivedFromAttr()) {
        auto source = module.lookupSymbol<plan::StateOp>(from.getAttr());
        tables.derived.push_back({begin, plan::byteSize(state.getType()),
                                  uint64_t(*source.getOffset()),
                                  plan::byteSize(source.getType())});
      }
      steps.states[state.getSymNameAttr()] = begin;
      bytes = std::max(bytes, begin + plan::byteSize(state.getType()));
      for (auto member : state.getMembers().getAsRange<plan::MemberAttr>()) {
        auto [owner, isNew] = owners.try_emplace(member.getName(), state);
        if (!isNew)
          return state.emitError("states '")
                 << owner->second.getSymName() << "' and '"
                 << state.getSymName() << "' both have a member '"
                 << member.getName() << "'";
        if (!llvm::json::isUTF8(member.getName()))
          return state.emitError("weight '")
                 << member.getName()
                 << "' trains, and its name is not UTF-8, as names in a "
                    "checkpoint are";
        ShapedType type = member.getType();
        State entry;
        entry.name = tables.text(member.getName());
        entry.role = *stateRoleNamed(state.getRole());
        entry.type = plan::dtypeOf(type.getElementType());
        entry.dims = tables.shape(type.getShape());
        entry.bytes = plan::byteSize(type);
        auto element = RankedTensorType::get({}, type.getElementType());
        entry.offset = begin + member.getOffset() * plan::byteSize(element);
        if (member.getInitial())
          entry.constant =
              steps.constants.lookup(member.getInitial().getAttr());
        tables.states.push_back(entry);
      }
    }
    return success();
  }

  LogicalResult addFunction(plan::FunctionOp op,
                            ArrayRef<plan::TargetOp> targets) {
    static const plan::OpenShapes fixed;
    auto known = allShapes.find(op.getName());
    shapes = known == allShapes.end() ? &fixed : &known->second;
    Function function;
    function.name = tables.text(op.getName());
    function.role = *functionRoleNamed(op.getRole());
    function.counts = shapes->counts;
    function.sizes = shapes->sizes.size();
    function.symbols.first = tables.symbols.size();
    for (const plan::OpenSymbol &symbol : shapes->symbols)
      tables.symbols.push_back({tables.text(symbol.name), symbol.padded,
                                uint32_t(symbol.multiple), symbol.least,
                                symbol.most});
    function.symbols.count = shapes->symbols.size();
    // Inputs and outputs are the same on every target.
    SmallVector<plan::CommandListOp> lists;
    if (!targets.empty())
      lists = plan::TargetOp(targets.front()).getMains(op.getName());
    if (lists.empty())
      return op.emitOpError("has no command list");
    function.variants = {uint32_t(tables.variants.size()),
                         uint32_t(lists.size())};
    for (auto [i, list] : llvm::enumerate(lists))
      addVariant(op, list,
                 shapes->variants.empty() ? plan::OpenVariant()
                                          : shapes->variants[i]);
    tables.functions.push_back(function);
    if (shapes->strings.empty())
      return success();
    if (!llvm::hasSingleElement(module.getOps<plan::FunctionOp>()))
      return op.emitError("function '")
             << op.getName()
             << "' takes or gives strings, so it is the only one of its "
                "artifact";
    addStrings(tables, shapes->strings);
    return success();
  }

  void addVariant(plan::FunctionOp function, plan::CommandListOp list,
                  const plan::OpenVariant &open) {
    Variant variant;
    variant.sizes = tables.shape(open.sizes);
    variant.inputs =
        addTensors(tables.inputs, function.getInputs(), *list.getInputTypes(),
                   open.inputs, open.inputIndices);
    // The true sizes are the last inputs.
    for (auto [i, symbol] : llvm::enumerate(shapes->sizes))
      tables.inputs[tables.inputs.size() - shapes->sizes.size() + i].symbol =
          symbol;
    variant.outputs =
        addTensors(tables.outputs, function.getOutputs(),
                   *list.getOutputTypes(), open.outputs, open.outputIndices);
    tables.variants.push_back(variant);
  }

  static artifact::Extent convert(const plan::Extent &extent) {
    return {extent.symbol.value_or(kNone),
            extent.count.value_or(kNone),
            extent.factor,
            extent.offset,
            extent.divisor,
            extent.shift};
  }

  artifact::Range addExtents(ArrayRef<plan::Extent> extents) {
    artifact::Range range{uint32_t(tables.extents.size()),
                          uint32_t(extents.size())};
    for (const plan::Extent &extent : extents)
      tables.extents.push_back(convert(extent));
    return range;
  }

  artifact::Range addIndices(ArrayRef<plan::IndexRange> indices) {
    artifact::Range range{uint32_t(tables.indices.size()),
                          uint32_t(indices.size())};
    for (const plan::IndexRange &box : indices)
      tables.indices.push_back({tables.text(box.use), tables.shape(box.first),
                                tables.shape(box.sizes), box.least, box.most,
                                box.other, convert(box.leastOf),
                                convert(box.mostOf)});
    return range;
  }

  artifact::Range addTensors(std::vector<Tensor> &table, ArrayAttr names,
                             ArrayAttr types,
                             ArrayRef<SmallVector<plan::Extent>> extents,
                             ArrayRef<plan::IndexRanges> indices) {
    artifact::Range range{uint32_t(table.size()), uint32_t(types.size())};
    for (auto [i, name, typeAttr] : llvm::enumerate(names, types)) {
      auto type = cast<RankedTensorType>(cast<TypeAttr>(typeAttr).getValue());
      Tensor entry;
      entry.name = tables.text(cast<StringAttr>(name).getValue());
      entry.type = plan::dtypeOf(type.getElementType());
      entry.dims = tables.shape(type.getShape());
      entry.bytes = plan::byteSize(type);
      if (i < extents.size())
        entry.extents = addExtents(extents[i]);
      if (i < indices.size())
        entry.indices = addIndices(indices[i]);
      table.push_back(entry);
    }
    return range;
  }

  void addTarget(plan::TargetOp op) {
    Target target;
    target.arch = tables.text(op.getArch());
    target.prepareArenaBytes = op.getPrepareBytes().value_or(0);
    target.preparedBytes = op.getPreparedBytes().value_or(0);
    target.modules.first = tables.modules.size();
    auto it = code.find(op.getArch());
    if (it != code.end())
      for (const TargetCode::Module &module : it->second.modules)
        tables.modules.push_back(
            {tables.blob(module.cubin), tables.blob(module.ptx)});
    target.modules.count = tables.modules.size() - target.modules.first;
    steps.kernels.clear();
    target.kernels.first = tables.kernels.size();
    for (auto kernel : op.getBody().getOps<plan::KernelOp>())
      addKernel(kernel, op, target.modules);
    target.kernels.count = tables.kernels.size() - target.kernels.first;
    target.prepare = steps.addList(op.getPrepare(), /*isMain=*/false);
    target.derive = steps.addList(op.getDerive(), /*isMain=*/true);
    // In the order of the variants.
    target.programs.first = tables.programs.size();
    for (auto function : module.getOps<plan::FunctionOp>())
      for (plan::CommandListOp list : op.getMains(function.getName()))
        tables.programs.push_back({steps.addList(list, /*isMain=*/true),
                                   uint64_t(list.getArenaBytes().value_or(0)),
                                   uint64_t(list.getLowerBound().value_or(0))});
    target.programs.count = tables.programs.size() - target.programs.first;
    tables.targets.push_back(target);
  }

  void addKernel(plan::KernelOp kernel, plan::TargetOp target,
                 artifact::Range modules) {
    steps.kernels[kernel.getSymNameAttr()] = {tables.kernels.size(), kernel};
    Kernel entry;
    entry.name = tables.text(kernel.getSymbol().value_or(kernel.getSymName()));
    if (kernel.getScalars())
      entry.scalars = tables.shape(*kernel.getScalars());
    entry.waits = kernel.getWaits();
    entry.flops = kernel.getFlops().value_or(0);
    entry.skipped = kernel.getSkipped().value_or(0);
    entry.workspaceBytes = kernel.getWorkspaceBytes().value_or(0);
    entry.tensorMaps.first = tables.tensorMaps.size();
    if (kernel.getTensorMaps())
      for (auto map : kernel.getTensorMaps()->getAsRange<plan::TensorMapAttr>())
        tables.tensorMaps.push_back(map.getValue());
    entry.tensorMaps.count = tables.tensorMaps.size() - entry.tensorMaps.first;
    if (kernel.getModule())
      entry.module = modules.first + *kernel.getModule();
    if (isHostArch(target.getArch())) {
      entry.host = image.hostKernels.size();
      image.hostKernels.push_back(hostKernelName(target, kernel.getSymName()));
    }
    tables.kernels.push_back(entry);
  }

  ModuleOp module;
  const llvm::StringMap<TargetCode> &code;
  StringRef weightsFile;
  const plan::FunctionShapes &allShapes;
  const plan::OpenShapes *shapes = nullptr; ///< of the current function
  Tables tables;
  StepWriter steps{tables};
  Image image;
};

} // namespace

FailureOr<Image> frit::artifact::serialize(
    ModuleOp module, StringRef model, const llvm::StringMap<TargetCode> &code,
    StringRef weightsFile, const plan::FunctionShapes &shapes) {
  return Serializer(module, code, weightsFile, shapes).run(model);
}
