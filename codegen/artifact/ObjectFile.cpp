//===- ObjectFile.cpp - Write the object file -----------------------------===//

#include "codegen/artifact/ObjectFile.h"

#include "dialects/nn/NN.h"
#include "frit/artifact.h"
#include "frit/image.h"
#include "frit/printable.h"
#include "frit/signature.h"
#include "frit/units.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace llvm;
using namespace frit;

/// Makes all symbols of `module` local, so that several models can be linked.
static void makeAllLocal(Module &module) {
  for (Function &function : module)
    if (!function.isDeclaration())
      function.setLinkage(GlobalValue::InternalLinkage);
  for (GlobalVariable &variable : module.globals())
    if (!variable.isDeclaration() && !variable.hasAppendingLinkage() &&
        !variable.hasLocalLinkage())
      variable.setLinkage(GlobalValue::InternalLinkage);
}

void artifact::copyInto(Module &module, const Module &from) {
  SmallVector<char, 0> bytes;
  raw_svector_ostream os(bytes);
  WriteBitcodeToFile(from, os);
  auto copy = cantFail(parseBitcodeFile(
      MemoryBufferRef(toStringRef(bytes), "kernels"), module.getContext()));
  if (Linker::linkModules(module, std::move(copy)))
    report_fatal_error("kernels of two modules have one name");
}

/// Returns a kernel, declaring it if another object defines it.
static Function *getKernel(Module &module, StringRef name) {
  if (Function *known = module.getFunction(name))
    return known;
  auto *type = FunctionType::get(Type::getVoidTy(module.getContext()), false);
  auto *kernel =
      Function::Create(type, GlobalValue::ExternalLinkage, name, module);
  kernel->setVisibility(GlobalValue::HiddenVisibility);
  return kernel;
}

void artifact::addImage(Module &module, const Image &image, StringRef symbol,
                        Form form) {
  makeAllLocal(module);
  LLVMContext &context = module.getContext();
  Type *i32 = Type::getInt32Ty(context), *i64 = Type::getInt64Ty(context);
  auto *ptr = PointerType::getUnqual(context);
  auto global = [&](llvm::Constant *value, const Twine &name,
                    GlobalValue::LinkageTypes linkage) {
    auto *g = new GlobalVariable(module, value->getType(), true, linkage, value,
                                 name);
    g->setAlignment(Align(64));
    return g;
  };

  auto *plan = global(ConstantDataArray::getRaw(image.plan, image.plan.size(),
                                                Type::getInt8Ty(context)),
                      "frit_plan", GlobalValue::PrivateLinkage);

  SmallVector<llvm::Constant *> kernels;
  for (const std::string &name : image.hostKernels)
    kernels.push_back(getKernel(module, name));
  llvm::Constant *table = ConstantPointerNull::get(ptr);
  if (!kernels.empty())
    table =
        global(ConstantArray::get(ArrayType::get(ptr, kernels.size()), kernels),
               "frit_kernels", GlobalValue::PrivateLinkage);

  bool isCoff = module.getTargetTriple().isOSBinFormatCOFF();
  llvm::Constant *weights = ConstantPointerNull::get(ptr);
  if (image.embeddedBytes() && isCoff) {
    std::string bytes(image.embeddedBytes(), '\0');
    for (const WeightRun &run : image.weights)
      std::copy(run.bytes.begin(), run.bytes.end(), bytes.begin() + run.offset);
    weights = global(ConstantDataArray::getRaw(bytes, bytes.size(),
                                               Type::getInt8Ty(context)),
                     "frit_weights", GlobalValue::PrivateLinkage);
  } else if (image.embeddedBytes()) {
    std::string label = (symbol + "_weights").str();
    module.appendModuleInlineAsm(weightSection(form, module.getTargetTriple(),
                                               label, image.embeddedBytes()));
    auto *declared =
        new GlobalVariable(module, Type::getInt8Ty(context), true,
                           GlobalValue::ExternalLinkage, nullptr, label);
    declared->setVisibility(GlobalValue::HiddenVisibility);
    weights = declared;
  }

  llvm::Constant *fields[] = {
      ConstantInt::get(i32, FRIT_IMAGE_ABI),
      ConstantInt::get(i32, kernels.size()),
      table,
      plan,
      ConstantInt::get(i64, image.plan.size()),
      weights,
      ConstantInt::get(i64, image.embeddedBytes()),
  };
  auto *entry = global(ConstantStruct::getAnon(fields), symbol,
                       GlobalValue::ExternalLinkage);
  if (form == Form::shared) {
    auto *alias = GlobalAlias::create(GlobalValue::ExternalLinkage,
                                      kLibrarySymbol, entry);
    if (isCoff)
      alias->setDLLStorageClass(GlobalValue::DLLExportStorageClass);
  }
}

SmallVector<char, 0> artifact::compileObject(Module &module,
                                             TargetMachine &machine) {
  SmallVector<char, 0> bytes;
  raw_svector_ostream os(bytes);
  legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr,
                                  CodeGenFileType::ObjectFile))
    report_fatal_error("this target writes no object files");
  passes.run(module);
  return bytes;
}

/// Formats the sizes of a symbol: "1..64", "64..512, multiples of 32", or "1,
/// 8, 64".
static std::string sizesText(const plan::OpenShapes &shapes, size_t index) {
  const plan::OpenSymbol &symbol = shapes.symbols[index];
  if (symbol.padded)
    return (Twine(symbol.least) + ".." + Twine(symbol.most) +
            (symbol.multiple == 1 ? Twine()
                                  : ", multiples of " + Twine(symbol.multiple)))
        .str();
  std::set<int64_t> sizes;
  for (const plan::OpenVariant &variant : shapes.variants)
    sizes.insert(variant.sizes[index]);
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  return text;
}

/// Formats a shape with data-dependent dimensions: "2x<=12" has at most 12
/// columns.
static std::string boundText(ArrayRef<int64_t> shape,
                             ArrayRef<plan::Extent> extents) {
  std::string text;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    bool isCounted = dim < extents.size() && extents[dim].count;
    text += (text.empty() ? "" : "x") + std::string(isCounted ? "<=" : "") +
            std::to_string(size);
  }
  return text.empty() ? nn::shapeText(shape) : text;
}

/// Lists a function's inputs, outputs and symbolic dimensions in a comment.
static void describe(plan::FunctionOp function, plan::TargetOp target,
                     const plan::OpenShapes &shapes, raw_ostream &os) {
  plan::CommandListOp largest = target.getMains(function.getName()).back();
  auto list = [&](StringRef title, mlir::ArrayAttr names, mlir::ArrayAttr types,
                  ArrayRef<SmallVector<plan::Extent>> extents) {
    os << " * " << title << ":\n";
    for (auto [i, name, type] : llvm::enumerate(names, types)) {
      auto tensor = mlir::cast<mlir::RankedTensorType>(
          mlir::cast<mlir::TypeAttr>(type).getValue());
      os << " *   "
         << commentText(mlir::cast<mlir::StringAttr>(name).getValue()) << "  "
         << tensor.getElementType() << "  "
         << boundText(tensor.getShape(),
                      i < extents.size() ? ArrayRef<plan::Extent>(extents[i])
                                         : ArrayRef<plan::Extent>())
         << "\n";
    }
  };
  plan::OpenVariant open =
      shapes.variants.empty() ? plan::OpenVariant() : shapes.variants.back();
  auto visible = [](mlir::ArrayAttr all, size_t hidden) {
    return mlir::ArrayAttr::get(all.getContext(),
                                all.getValue().drop_back(hidden));
  };
  list("inputs", visible(function.getInputs(), shapes.sizes.size()),
       visible(*largest.getInputTypes(), shapes.sizes.size()), open.inputs);
  list("outputs", visible(function.getOutputs(), shapes.counts),
       visible(*largest.getOutputTypes(), shapes.counts), open.outputs);
  if (shapes.counts)
    os << " * \"<=\" is the most there may be, which memory must have room "
          "for;\n"
          " * frit_context_output_dims tells how many there are after a "
          "call.\n";
  if (!shapes.symbols.empty())
    os << " * open, where the above are the largest shapes:\n";
  for (size_t i = 0; i < shapes.symbols.size(); ++i)
    os << " *   " << commentText(shapes.symbols[i].name) << "  "
       << sizesText(shapes, i) << "\n";
  os << " *\n";
}

std::string artifact::writeHeader(mlir::ModuleOp module, const Image &image,
                                  StringRef symbol, StringRef model,
                                  const plan::FunctionShapes &shapes) {
  std::string text;
  raw_string_ostream os(text);
  // Not upper-cased: names of models may differ in case only.
  std::string guard = ("FRIT_MODEL_" + symbol + "_H").str();
  os << "/* " << commentText(model)
     << ", compiled by frit " FRIT_VERSION ".\n *\n";
  auto functions = llvm::to_vector(module.getOps<plan::FunctionOp>());
  auto targets = llvm::to_vector(module.getOps<plan::TargetOp>());
  for (plan::FunctionOp function : functions) {
    if (functions.size() > 1)
      os << " * function " << commentText(function.getName()) << "\n";
    describe(function, targets.front(), shapes.lookup(function.getName()), os);
  }
  uint64_t states = 0, stateBytes = 0;
  for (auto state : module.getOps<plan::StateOp>()) {
    states += state.getMembers().size();
    stateBytes += plan::byteSize(state.getType());
  }
  if (states)
    os << " * state: " << states << " tensors, " << memoryText(stateBytes)
       << "; frit_module_state lists them\n *\n";
  os << " * targets:";
  for (plan::TargetOp target : targets)
    os << " " << target.getArch();
  os << "\n *\n *   frit_module *module;\n"
     << " *   frit_status status = frit_module_open(&" << symbol
     << ", NULL, &module);\n */\n";
  os << "#ifndef " << guard << "\n#define " << guard << "\n\n"
     << "#include \"frit/runtime.h\"\n\n"
     << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
     << "extern const frit_image " << symbol << ";\n\n"
     << "/* frit_module_open checks that the object has the inputs and outputs "
        "above. */\n"
     << "static const frit_image " << symbol
     << "_of_header __attribute__((unused)) = {\n    FRIT_IMAGE_REFERENCE, 0, "
        "0, &"
     << symbol << ", UINT64_C(" << signatureHash(signatureOf(image.plan.data()))
     << "), 0, 0};\n"
     << "#define " << symbol << " " << symbol << "_of_header\n\n"
     << "#ifdef __cplusplus\n}\n#endif\n\n#endif /* " << guard << " */\n";
  return text;
}
