//===- UserText.cpp - Users' CUDA C++ before emitted kernels --------------===//

#include "codegen/cuda/custom/UserText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Returns CUDA's name of a tensor's element type in C++.
static StringRef elementName(Type type) {
  if (type.isF16())
    return "__half";
  if (type.isBF16())
    return "__nv_bfloat16";
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return "bool";
  case 8:
    return isUnsigned ? "unsigned char" : "signed char";
  case 16:
    return isUnsigned ? "unsigned short" : "short";
  case 32:
    return isUnsigned ? "unsigned" : "int";
  default:
    return isUnsigned ? "unsigned long long" : "long long";
  }
}

bool frit::cuda::namesFile(StringRef log, nn::UserFunctionAttr function) {
  std::string path = nn::printablePath(function.getPath());
  return log.contains(path + "(") || log.contains(path + ", as ");
}

static void addFolder(KernelText &text, nn::UserFunctionAttr function) {
  std::string folder = nn::folderOf(function);
  if (!llvm::is_contained(text.folders, folder))
    text.folders.push_back(folder);
}

/// Includes the templates of checkType before any user's text.
static void addTypeChecks(KernelText &text) {
  StringRef include = "#include \"frit/parameters.cuh\"\n";
  if (!llvm::is_contained(text.preludes, include))
    text.preludes.insert(text.preludes.begin(), include.str());
}

/// Returns a line that compiles only if a function has this type.
static std::string checkType(nn::UserFunctionAttr function,
                             const std::string &result,
                             ArrayRef<std::string> parameters) {
  return "static_assert(sizeof(frit::user::Function<" + result + "(" +
         llvm::join(parameters, ", ") + ")>::check(" +
         function.getName().str() + ")) > 0, \"\");\n";
}

/// Returns a line that compiles only if a user's kernel takes the tensors and
/// numbers of its node.
static std::string checkKernelType(nn::CustomOp custom) {
  SmallVector<std::string> parameters;
  auto add = [&](StringRef qualifier, Value tensor) {
    Type type = nn::tensorType(tensor).getElementType();
    parameters.push_back((qualifier + elementName(type) + " *").str());
  };
  for (Value x : custom.getXs())
    add("const ", x);
  for (Value y : custom.getYs())
    add("", y);
  if (custom.getWorkspace())
    parameters.back() = "frit::user::Workspace";
  parameters.append(custom.getConstants().size(), "frit::user::Number");
  nn::UserFunctionAttr function = custom.getCustom().getDevice();
  return nn::callDirective(custom.getCustom(), function) +
         checkType(function, "void", parameters);
}

void frit::cuda::addUserKernel(KernelText &text, nn::CustomOp custom) {
  nn::UserFunctionAttr function = custom.getCustom().getDevice();
  addTypeChecks(text);
  std::string defines, undefines;
  for (auto [variable, type] : nn::boundVariables(custom)) {
    std::string macro = ("FRIT_" + variable.getValue()).str();
    defines += ("#define " + macro + " " + elementName(type) + "\n").str();
    undefines += "#undef " + macro + "\n";
  }
  text.preludes.push_back(defines + nn::textOf(function) + undefines +
                          checkKernelType(custom));
  addFolder(text, function);
}

void frit::cuda::addUserFunctions(KernelText &text, nn::FusionOp fusion) {
  for (auto custom :
       fusion.getBody().front().getOps<nn::CustomElementwiseOp>()) {
    nn::UserFunctionAttr function = custom.getCustom().getDevice();
    SmallVector<std::string> types, arguments;
    // Narrow integers are passed as 32 bits, which the function may narrow.
    auto nameOf = [](Value tensor) {
      Type element = nn::tensorType(tensor).getElementType();
      std::string passed =
          elementName(nn::callType(nn::bodyType(element))).str();
      unsigned bits = element.getIntOrFloatBitWidth();
      return isa<IntegerType>(element) && bits < 32
                 ? "frit::user::Narrow<" + passed + ", " +
                       std::to_string((bits + 7) / 8) + ">"
                 : passed;
    };
    for (Value x : custom.getXs()) {
      Type element = nn::tensorType(x).getElementType();
      Type type = nn::callType(nn::bodyType(element));
      arguments.push_back(("(" + elementName(type) + ")0").str());
      types.push_back(nameOf(x));
    }
    for (Attribute constant : custom.getConstants()) {
      types.push_back(elementName(cast<TypedAttr>(constant).getType()).str());
      arguments.push_back("(" + types.back() + ")0");
    }
    std::string check = nn::callDirective(custom.getCustom(), function) +
                        "static_assert(sizeof(" + function.getName().str() +
                        "(" + llvm::join(arguments, ", ") + ")) > 0, \"\");\n" +
                        checkType(function, nameOf(custom.getY()), types);
    addTypeChecks(text);
    for (const std::string &part : {nn::textOf(function), check})
      if (!llvm::is_contained(text.preludes, part))
        text.preludes.push_back(part);
    addFolder(text, function);
  }
}

//===----------------------------------------------------------------------===//
// Kernels' parameters
//===----------------------------------------------------------------------===//

namespace {
/// A kernel's parameter: its bytes, and whether it is a floating-point number.
struct Parameter {
  unsigned bytes = 0;
  bool isReal = false;
  bool operator==(const Parameter &) const = default;
};
} // namespace

/// Reads ".param .u64 .ptr .align 1 name_param_0", ".param .f32 name_param_3"
/// or ".param .align 8 .b8 name_param_4[16]".
static Parameter readParameter(StringRef text) {
  Parameter parameter;
  SmallVector<StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    unsigned bits;
    StringRef digits = word;
    if (digits.consume_front(".") && !digits.empty() &&
        StringRef("usbf").contains(digits[0]) &&
        !digits.drop_front().getAsInteger(10, bits)) {
      parameter.bytes = bits / 8;
      parameter.isReal = digits[0] == 'f';
      break;
    }
  }
  unsigned count;
  StringRef array = text.split('[').second;
  if (!array.consumeInteger(10, count))
    parameter.bytes *= count;
  return parameter;
}

std::string frit::cuda::checkUserKernel(Operation *op, StringRef ptx) {
  auto custom = cast<nn::CustomOp>(op);
  nn::UserFunctionAttr function = custom.getCustom().getDevice();
  // The emulator has no PTX.
  if (!ptx.contains(".version"))
    return "";
  std::string entry = (".entry " + function.getName() + "(").str();
  size_t at = ptx.find(entry);
  if (at == StringRef::npos)
    return ("'" + function.getPath() + "' has no kernel '" +
            function.getName() + "'; it must be extern \"C\" __global__")
        .str();
  StringRef list = ptx.substr(at + entry.size());
  list = list.take_front(list.find(')'));
  SmallVector<StringRef> texts;
  list.split(texts, ',', -1, /*KeepEmpty=*/false);
  SmallVector<Parameter> has, wants;
  for (StringRef text : texts)
    if (text.contains(".param"))
      has.push_back(readParameter(text));
  wants.resize(op->getNumOperands() + op->getNumResults(), {sizeof(void *)});
  for (Attribute constant : custom.getConstants()) {
    Type type = cast<TypedAttr>(constant).getType();
    wants.push_back({type.getIntOrFloatBitWidth() / 8, isa<FloatType>(type)});
  }
  if (has.size() != wants.size())
    return ("kernel '" + function.getName() + "' in '" + function.getPath() +
            "' has " + Twine(has.size()) + " parameters, and " +
            Twine(wants.size()) +
            " are passed: " + Twine(op->getNumOperands()) + " inputs, " +
            Twine(op->getNumResults() - custom.getWorkspace()) + " outputs, " +
            (custom.getWorkspace() ? "the workspace, " : "") +
            Twine(custom.getConstants().size()) + " numbers")
        .str();
  for (auto [i, parameter] : llvm::enumerate(wants))
    if (has[i] != parameter)
      return ("parameter " + Twine(i) + " of kernel '" + function.getName() +
              "' in '" + function.getPath() + "' is " +
              Twine(has[i].bytes * 8) + " bits wide" +
              (has[i].isReal ? ", a float" : "") + ", and what is passed is " +
              Twine(parameter.bytes * 8) + " bits wide" +
              (parameter.isReal ? ", a float" : ""))
          .str();
  return "";
}
