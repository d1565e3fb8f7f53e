//===- CpuKernels.cpp - Compile CPU kernels to LLVM IR --------------------===//
//
// A kernel's fusion becomes linalg on tensors. The passes of Passes.h tile and
// fuse it, bufferize it, and lower it to the LLVM dialect. LLVM's loop
// vectorizer does the rest.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/CpuKernels.h"

#include "codegen/artifact/Serialize.h"
#include "codegen/cpu/CodedProducts.h"
#include "codegen/cpu/CpuDialect.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/attention/RangedAttention.h"
#include "dialects/nn/lowering/Lowering.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

#include <mutex>

using namespace mlir;
using namespace frit;

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
cpu::createMachine(StringRef arch, HostSystem system) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
  });
  const HostArch *known = findHostArch(arch);
  if (!known)
    return llvm::createStringError("no CPU target is called " + arch);
  bool isArm = known->machine == HostMachine::aarch64;
  llvm::Triple triple(system == HostSystem::windows ? "x86_64-w64-windows-gnu"
                      : isArm ? "aarch64-unknown-linux-gnu"
                              : "x86_64-unknown-linux-gnu");
  // LLVM's name of Arm's first 64-bit instruction set.
  if (arch == "aarch64")
    arch = "generic";
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return llvm::createStringError(error);
  // With AVX-512, LLVM would vectorise an outer loop over pixels by gathers and
  // scatters if the inner one, over few channels, is unrolled. Both take longer
  // than scalar accesses on AMD's processors, and hardly less on Intel's.
  StringRef features =
      arch == "x86-64-v4" ? "+prefer-no-gather,+prefer-no-scatter" : "";
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, arch, features, {}, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Default));
}

/// LLVM dialect operations per module; a core compiles that many in about 0.2
/// s.
static constexpr int64_t kModuleOperations = 2500;

/// Functions of this many tensors are not inlined into their entry: LLVM would
/// write down for each access which of them it does not alias, and read it
/// again in each pass. Kernels of ordinary models have up to 11 tensors.
static constexpr size_t kManyTensors = 16;

/// Before bufferization, rewrites a function on tensors to read memrefs and
/// write its results to further memrefs:
///   func @k(tensor) -> tensor  ==>  func @k(memref, memref, index, index)
/// Rows that replace a part of a state get the whole of its memref.
static void useBuffers(func::FuncOp function, nn::FusionOp fusion) {
  ImplicitLocOpBuilder b(function.getLoc(), function.getContext());
  Block &body = function.getBody().front();
  auto buffer = [](Type tensor) -> Type {
    auto type = cast<RankedTensorType>(tensor);
    return MemRefType::get(type.getShape(), type.getElementType());
  };
  b.setInsertionPointToStart(&body);
  for (BlockArgument argument : body.getArguments()) {
    Type tensor = argument.getType();
    argument.setType(buffer(tensor));
    auto value = bufferization::ToTensorOp::create(b, tensor, argument,
                                                   /*restrict=*/true);
    argument.replaceAllUsesExcept(value, value);
  }
  Operation *terminator = body.getTerminator();
  SmallVector<Value> results(terminator->getOperands());
  SmallVector<std::pair<unsigned, Attribute>> updates;
  for (auto [result, yielded] : llvm::zip_equal(
           results, fusion.getBody().front().getTerminator()->getOperands())) {
    if (nn::storedValueOf(yielded) != yielded) {
      auto update = yielded.getDefiningOp<nn::UpdateOp>();
      auto offset = cast<BlockArgument>(update.getOffset());
      updates.push_back({body.getNumArguments(),
                         b.getDenseI64ArrayAttr({int64_t(update.getAxis()),
                                                 offset.getArgNumber()})});
    }
    body.addArgument(buffer(nn::signlessType(yielded.getType())),
                     function.getLoc());
  }
  body.addArgument(b.getIndexType(), function.getLoc());
  body.addArgument(b.getIndexType(), function.getLoc());
  function.setFunctionType(b.getFunctionType(body.getArgumentTypes(),
                                             TypeRange(ValueRange(results))));
  for (auto [argument, update] : updates)
    function.setArgAttr(argument, cpu::kUpdate, update);
}

/// Adds `void name(ptr arguments, ptr workspace, i64 begin, i64 end)`, which
/// calls `inner` with the pointers in `arguments`, the bounds, and pointers to
/// its temporaries in the workspace.
static void addEntry(llvm::Module &module, StringRef name,
                     llvm::Function *inner, const cpu::Workspace &workspace) {
  llvm::LLVMContext &context = module.getContext();
  auto *ptr = llvm::PointerType::getUnqual(context);
  auto *i64 = llvm::Type::getInt64Ty(context);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                       {ptr, ptr, i64, i64}, false);
  auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                       name, module);
  entry->setVisibility(llvm::GlobalValue::HiddenVisibility);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", entry));
  SmallVector<llvm::Value *> values;
  size_t pointers = inner->arg_size() - 2 - workspace.offsets.size();
  for (size_t i = 0; i < pointers; ++i) {
    llvm::Value *slot = b.CreateConstGEP1_64(ptr, entry->getArg(0), i);
    values.push_back(b.CreateLoad(ptr, slot));
    // The planner guarantees that a step's outputs do not overlap its inputs.
    inner->addParamAttr(i, llvm::Attribute::NoAlias);
  }
  values.push_back(entry->getArg(2));
  values.push_back(entry->getArg(3));
  for (int64_t offset : workspace.offsets) {
    inner->addParamAttr(values.size(), llvm::Attribute::NoAlias);
    values.push_back(
        b.CreateConstGEP1_64(b.getInt8Ty(), entry->getArg(1), offset));
  }
  b.CreateCall(inner, values);
  b.CreateRetVoid();
  inner->setLinkage(llvm::GlobalValue::InternalLinkage);
  if (pointers >= kManyTensors)
    inner->addFnAttr(llvm::Attribute::NoInline);
}

/// Defines the function that the x86 backend calls to round f32 to bf16; libgcc
/// before 13 lacks it. It rounds to nearest even on the bits and keeps NaN.
/// Kernels for all CPU targets share it, so it uses baseline instructions.
static void addBFloatRounding(llvm::Module &module) {
  llvm::LLVMContext &context = module.getContext();
  auto *bfloat = llvm::Type::getBFloatTy(context);
  auto *type =
      llvm::FunctionType::get(bfloat, {llvm::Type::getFloatTy(context)}, false);
  auto *function = llvm::Function::Create(
      type, llvm::GlobalValue::LinkOnceODRLinkage, "__truncsfbf2", module);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  // COFF's linkers keep one of several definitions only by a group.
  if (module.getTargetTriple().isOSBinFormatCOFF())
    function->setComdat(module.getOrInsertComdat("__truncsfbf2"));
  function->addFnAttr("target-cpu", "x86-64");
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", function));
  llvm::Value *x = function->getArg(0);
  llvm::Value *bits = b.CreateBitCast(x, b.getInt32Ty());
  llvm::Value *odd = b.CreateAnd(b.CreateLShr(bits, 16), 1);
  llvm::Value *rounded =
      b.CreateAdd(bits, b.CreateAdd(odd, b.getInt32(0x7fff)));
  llvm::Value *nan = b.CreateFCmpUNO(x, x);
  llvm::Value *high =
      b.CreateLShr(b.CreateSelect(nan, b.getInt32(0x7fc00000), rounded), 16);
  b.CreateRet(b.CreateBitCast(b.CreateTrunc(high, b.getInt16Ty()), bfloat));
  // Keep it: only the backend calls it.
  llvm::appendToUsed(module, {function});
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
      .run(module, modules);
}

/// Returns the bytes that a kernel reads and writes.
static int64_t tensorBytes(plan::KernelOp kernel) {
  int64_t bytes = 0;
  for (Type type : kernel.getFusion()->getOperandTypes())
    bytes += plan::byteSize(type);
  for (Type type : kernel.getFusion()->getResultTypes())
    bytes += plan::byteSize(type);
  return bytes;
}

cpu::LoweredKernels cpu::lowerFusions(plan::TargetOp target) {
  LoweredKernels lowered;
  lowered.module = ModuleOp::create(target.getLoc());
  OpBuilder b = OpBuilder::atBlockEnd(lowered.module->getBody());
  UserSources users(target.getArch());
  for (auto kernel : target.getBody().getOps<plan::KernelOp>()) {
    std::string name = ("body_" + kernel.getSymName()).str();
    auto fusion = cast<nn::FusionOp>(kernel.getFusion());
    lowered.kernels.push_back({kernel, name, {}});
    if (auto custom =
            dyn_cast<nn::CustomOp>(fusion.getBody().front().front())) {
      users.createKernel(custom, name, b);
      continue;
    }
    if (isa_and_nonnull<CodedGemmAttr>(fusion.getScheduleAttr())) {
      createCodedProduct(fusion, name, target.getArch(), b);
      continue;
    }
    if (isa_and_nonnull<RangedAttentionAttr>(fusion.getScheduleAttr())) {
      createRangedAttention(fusion, name, target.getArch(), b);
      continue;
    }
    auto function = nn::lowerFusion(fusion, name, b);
    function.setPublic();
    users.addCalls(function);
    useBuffers(function, fusion);
  }
  lowered.sources = std::move(users.all);
  return lowered;
}

void cpu::recordWork(LoweredKernels &lowered) {
  SymbolTable functions(*lowered.module);
  for (LoweredKernels::Kernel &kernel : lowered.kernels) {
    Operation *function = functions.lookup(kernel.function);
    int64_t items = cast<IntegerAttr>(function->removeAttr(kItems)).getInt();
    kernel.workspace.offsets = llvm::to_vector(
        cast<DenseI64ArrayAttr>(function->removeAttr(kOffsets)).asArrayRef());
    kernel.workspace.bytes =
        cast<IntegerAttr>(function->removeAttr(kBytes)).getInt();
    kernel.op.setGridAttr(
        Builder(function->getContext()).getDenseI64ArrayAttr({items, 1, 1}));
    int64_t count =
        countWorkspaces(kernel.workspace, items, tensorBytes(kernel.op));
    if (!count)
      continue;
    kernel.op.setWorkspaceBytes(kernel.workspace.bytes);
    kernel.op.setWorkspaces(count);
  }
}

/// Clones the declarations and constants of `module` that `part` uses to the
/// end of `part`.
static void cloneUsed(const SymbolTable &module, ModuleOp part) {
  SmallVector<Operation *> left =
      llvm::map_to_vector(part.getOps(), [](Operation &op) { return &op; });
  SymbolTable cloned(part);
  while (!left.empty()) {
    auto uses = SymbolTable::getSymbolUses(left.pop_back_val());
    for (SymbolTable::SymbolUse use : *uses) {
      StringAttr name = use.getSymbolRef().getRootReference();
      if (cloned.lookup(name))
        continue;
      Operation *copy = module.lookup(name)->clone();
      cloned.insert(copy);
      left.push_back(copy);
    }
  }
}

/// Splits kernels into modules of about kModuleOperations operations.
static std::vector<cpu::LoweredKernels> split(cpu::LoweredKernels lowered) {
  SymbolTable symbols(*lowered.module);
  std::vector<cpu::LoweredKernels> parts;
  int64_t room = 0;
  for (cpu::LoweredKernels::Kernel &kernel : lowered.kernels) {
    if (room <= 0) {
      parts.emplace_back().module = ModuleOp::create(lowered.module->getLoc());
      parts.back().module->getOperation()->setAttrs(
          lowered.module->getOperation()->getAttrs());
      room = kModuleOperations;
    }
    Operation *function = symbols.lookup(kernel.function);
    function->walk([&](Operation *) { --room; });
    function->moveBefore(parts.back().module->getBody(),
                         parts.back().module->getBody()->end());
    parts.back().kernels.push_back(std::move(kernel));
  }
  for (cpu::LoweredKernels &part : parts)
    cloneUsed(symbols, *part.module);
  return parts;
}

/// Translates kernels to a module of LLVM IR. Null after an error was reported.
static std::unique_ptr<llvm::Module> translate(cpu::LoweredKernels &lowered,
                                               llvm::TargetMachine &machine,
                                               llvm::LLVMContext &context) {
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(*lowered.module, context, "frit");
  if (!result) {
    lowered.module->emitError("has no translation to LLVM");
    return nullptr;
  }
  result->setDataLayout(machine.createDataLayout());
  result->setTargetTriple(machine.getTargetTriple());
  for (cpu::LoweredKernels::Kernel &kernel : lowered.kernels) {
    auto target = kernel.op->getParentOfType<plan::TargetOp>();
    addEntry(*result, artifact::hostKernelName(target, kernel.op.getSymName()),
             result->getFunction(kernel.function), kernel.workspace);
  }
  // The functions of several CPU targets may go into one module.
  for (llvm::Function &f : *result)
    if (!f.isDeclaration()) {
      f.addFnAttr("target-cpu", machine.getTargetCPU());
      f.addFnAttr("no-trapping-math", "true");
    }
  if (machine.getTargetTriple().isX86())
    addBFloatRounding(*result);
  optimize(*result, machine);
  return result;
}

FailureOr<std::vector<cpu::KernelModule>> cpu::translateKernels(
    LoweredKernels lowered, StringRef arch, HostSystem system,
    function_ref<void(size_t done, size_t total, StringRef next)> progress) {
  size_t done = 0, total = lowered.kernels.size();
  std::vector<LoweredKernels> parts = split(std::move(lowered));
  std::vector<KernelModule> result(parts.size());
  std::mutex mutex;
  auto report = [&](size_t finished, const LoweredKernels &part) {
    std::lock_guard lock(mutex);
    done += finished;
    plan::KernelOp next = part.kernels.front().op;
    progress(done, total, next.getSymName());
  };
  llvm::DefaultThreadPool pool;
  for (auto [part, kernels] : llvm::zip_equal(parts, result))
    pool.async([&part, &kernels, &report, arch, system] {
      report(0, part);
      // TargetMachine caches subtargets without a lock.
      auto machine = llvm::cantFail(createMachine(arch, system));
      kernels.context = std::make_unique<llvm::LLVMContext>();
      kernels.module = translate(part, *machine, *kernels.context);
      report(part.kernels.size(), part);
    });
  pool.wait();
  if (llvm::any_of(result,
                   [](KernelModule &kernels) { return !kernels.module; }))
    return failure();
  return result;
}
