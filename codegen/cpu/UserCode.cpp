//===- UserCode.cpp - Users' C for host kernels ---------------------------===//

#include "codegen/cpu/UserCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace frit;
using namespace frit::cpu;

/// Returns the C type of a tensor's elements. C has no bf16.
static std::string elementName(Type type) {
  if (type.isF16())
    return "_Float16";
  if (type.isBF16())
    return "uint16_t";
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  if (type.isInteger(1))
    return "_Bool";
  return (type.isUnsignedInteger() ? "uint" : "int") +
         std::to_string(type.getIntOrFloatBitWidth()) + "_t";
}

/// Returns the source of a user's function and of an entry that passes
/// `parameters` to it and returns `result`. `defines` are its macros; `check`
/// is C at the beginning of the entry.
static UserSource makeSource(nn::CustomAttr custom, StringRef arch,
                             const std::string &defines,
                             const std::string &result,
                             ArrayRef<std::string> parameters,
                             const std::string &check) {
  nn::UserFunctionAttr function = custom.getHost();
  std::string declared, passed;
  for (auto [i, type] : llvm::enumerate(parameters)) {
    std::string name = "p" + std::to_string(i);
    declared += (i ? ", " : "") + type;
    declared += " " + name;
    passed += (i ? ", " : "") + name;
  }
  auto textWith = [&](StringRef unique) {
    return ("#include <stdint.h>\n" + defines + nn::textOf(function) +
            nn::callDirective(custom, function) + "#pragma weak " + unique +
            "\n" + result + " " + unique + "(" + declared + ") { " + check +
            (result == "void" ? "" : "return ") + function.getName() + "(" +
            passed + "); }\n")
        .str();
  };
  std::string key = (arch + textWith("")).str();
  UserSource source;
  source.symbol =
      "frit_user_" + llvm::utohexstr(llvm::xxh3_64bits(key), true, 16);
  source.text = textWith(source.symbol);
  source.folder = nn::folderOf(function);
  source.arch = arch.str();
  return source;
}

/// Returns C that compiles only if a function of single elements has exactly
/// this type, since a call would silently convert numbers. Integers may be
/// unsigned.
static std::string checkType(StringRef function, const std::string &result,
                             ArrayRef<std::string> parameters) {
  auto typeOf = [&](const std::string &name, StringRef sign) {
    auto withSign = [&](const std::string &type) {
      return (StringRef(type).starts_with("int") ? sign : "").str() + type;
    };
    return withSign(result) + " (*" + name + ")(" +
           llvm::join(llvm::map_range(parameters, withSign), ", ") + ")";
  };
  std::string type = typeOf("", ""), other = typeOf("", "u");
  std::string address = ("&" + function).str();
  if (type != other)
    address = "_Generic(" + address + ", " + other + ": (" + type +
              ")0, default: " + address + ")";
  return typeOf("typed", "") + " = " + address + "; (void)typed; ";
}

static UserSource sourceOf(nn::ScalarCallOp call, StringRef arch) {
  SmallVector<std::string> parameters;
  for (Type type : call.getInputs().getTypes())
    parameters.push_back(elementName(type));
  std::string result = elementName(call.getY().getType());
  // The function may take and return integers of fewer than 32 bits; no float
  // may become an integer.
  bool isExact =
      result != "int32_t" && !llvm::is_contained(parameters, "int32_t");
  std::string check =
      isExact
          ? checkType(call.getCustom().getHost().getName(), result, parameters)
          : "_Pragma(\"GCC diagnostic error \\\"-Wfloat-conversion\\\"\") ";
  return makeSource(call.getCustom(), arch, "", result, parameters, check);
}

static UserSource sourceOf(nn::CustomOp custom, StringRef arch) {
  std::string defines;
  for (auto [variable, type] : nn::boundVariables(custom))
    defines +=
        ("#define FRIT_" + variable.getValue() + " " + elementName(type) + "\n")
            .str();
  SmallVector<std::string> parameters;
  for (Value x : custom.getXs())
    parameters.push_back(
        "const " + elementName(nn::tensorType(x).getElementType()) + " *");
  for (Value y : custom.getYs())
    parameters.push_back(elementName(nn::tensorType(y).getElementType()) +
                         " *");
  if (custom.getWorkspace())
    parameters.back() = "void *";
  for (Attribute constant : custom.getConstants())
    parameters.push_back(elementName(cast<TypedAttr>(constant).getType()));
  return makeSource(custom.getCustom(), arch, defines, "void", parameters, "");
}

std::string UserSources::add(UserSource source) {
  std::string symbol = source.symbol;
  if (llvm::none_of(
          all, [&](const UserSource &known) { return known.symbol == symbol; }))
    all.push_back(std::move(source));
  return symbol;
}

void UserSources::addCalls(func::FuncOp function) {
  function.walk([&](nn::ScalarCallOp call) { add(sourceOf(call, arch)); });
}

/// Returns the declaration of `symbol` in `module`; adds it if absent.
static func::FuncOp declare(ModuleOp module, StringRef symbol,
                            FunctionType type) {
  if (auto known = module.lookupSymbol<func::FuncOp>(symbol))
    return known;
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto function = func::FuncOp::create(b, module.getLoc(), symbol, type);
  function.setPrivate();
  return function;
}

func::FuncOp UserSources::createKernel(nn::CustomOp custom, StringRef name,
                                       OpBuilder &builder) {
  std::string symbol = add(sourceOf(custom, arch));
  SmallVector<Type> types;
  for (TypeRange tensors : {TypeRange(custom->getOperandTypes()),
                            TypeRange(custom->getResultTypes())})
    for (Type tensor : tensors) {
      auto type = cast<RankedTensorType>(nn::signlessType(tensor));
      types.push_back(MemRefType::get(type.getShape(), type.getElementType()));
    }
  size_t buffers = types.size();
  types.append(2, builder.getIndexType());
  Location loc = custom.getLoc();
  auto function = func::FuncOp::create(builder, loc, name,
                                       builder.getFunctionType(types, {}));
  OpBuilder b = OpBuilder::atBlockEnd(function.addEntryBlock());
  // Buffers of all shapes are passed as pointers.
  SmallVector<Value> operands;
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  for (Value buffer : function.getArguments().take_front(buffers)) {
    Value address =
        memref::ExtractAlignedPointerAsIndexOp::create(b, loc, buffer);
    address = arith::IndexCastOp::create(b, loc, b.getI64Type(), address);
    operands.push_back(LLVM::IntToPtrOp::create(b, loc, pointer, address));
  }
  for (Attribute constant : custom.getConstants())
    operands.push_back(
        arith::ConstantOp::create(b, loc, cast<TypedAttr>(constant)));
  func::FuncOp callee =
      declare(function->getParentOfType<ModuleOp>(), symbol,
              b.getFunctionType(TypeRange(ValueRange(operands)), {}));
  func::CallOp::create(b, loc, callee, operands);
  func::ReturnOp::create(b, loc);
  return function;
}

namespace {
struct CallUserFunctions
    : PassWrapper<CallUserFunctions, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CallUserFunctions)
  explicit CallUserFunctions(StringRef arch) : arch(arch) {}

  void runOnOperation() override {
    getOperation().walk([&](nn::ScalarCallOp call) {
      OpBuilder b(call);
      func::FuncOp callee = declare(
          getOperation(), sourceOf(call, arch).symbol,
          b.getFunctionType(call->getOperandTypes(), call->getResultTypes()));
      auto made =
          func::CallOp::create(b, call.getLoc(), callee, call.getInputs());
      call.replaceAllUsesWith(made.getResult(0));
      call.erase();
    });
  }

  std::string arch;
};
} // namespace

std::unique_ptr<Pass> cpu::createCallUserFunctionsPass(StringRef arch) {
  return std::make_unique<CallUserFunctions>(arch);
}
