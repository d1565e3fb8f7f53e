//===- Scalars.cpp - Scalar operations as C++ text ------------------------===//

#include "codegen/cuda/scalar/Scalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace mlir;
using namespace frit::cuda;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

// Left-associative operators: the second operand needs a higher precedence.
#define FRIT_INFIX(name, op, precedence)                                       \
  {name, "$0 " op " $1", precedence, precedence, Precedence(precedence + 1)}

static constexpr ScalarForm kForms[] = {
    FRIT_INFIX("arith.addf", "+", kSum),
    FRIT_INFIX("arith.addi", "+", kSum),
    FRIT_INFIX("arith.subf", "-", kSum),
    FRIT_INFIX("arith.subi", "-", kSum),
    FRIT_INFIX("arith.mulf", "*", kProduct),
    FRIT_INFIX("arith.muli", "*", kProduct),
    FRIT_INFIX("arith.divf", "/", kProduct),
    FRIT_INFIX("arith.divsi", "/", kProduct),
    FRIT_INFIX("arith.remsi", "%", kProduct),
    {"arith.divui", "$T($U($0) / $U($1))"},
    {"arith.remui", "$T($U($0) % $U($1))"},
    {"arith.remf", "frit::fmod($0, $1)"},
    {"arith.floordivsi", "frit::floorDiv<$T>($0, $1)"},
    {"arith.ceildivsi", "frit::ceilDiv<$T>($0, $1)"},
    {"arith.negf", "-$0", kUnary, kPrimary},
    {"arith.maximumf", "frit::maximum($0, $1)"},
    {"arith.minimumf", "frit::minimum($0, $1)"},
    {"arith.maxsi", "frit::maximum<$T>($0, $1)"},
    {"arith.minsi", "frit::minimum<$T>($0, $1)"},
    {"arith.maxui", "$T(frit::maximum<$U>($0, $1))"},
    {"arith.minui", "$T(frit::minimum<$U>($0, $1))"},
    FRIT_INFIX("arith.andi", "&", kBitAnd),
    FRIT_INFIX("arith.ori", "|", kBitOr),
    FRIT_INFIX("arith.xori", "^", kBitXor),
    FRIT_INFIX("bool.andi", "&&", kLogicalAnd),
    FRIT_INFIX("bool.ori", "||", kLogicalOr),
    FRIT_INFIX("bool.xori", "!=", kEquality),
    {"arith.shli", "$T($U($0) << $1)", kPrimary, kTernary, kSum},
    {"arith.shrui", "$T($U($0) >> $1)", kPrimary, kTernary, kSum},
    FRIT_INFIX("arith.shrsi", ">>", kShift),
    {"arith.select", "$0 ? $1 : $2", kTernary, kLogicalOr, kTernary},
    {"arith.extf", "$R($0)"},
    {"arith.truncf", "$R($0)"},
    {"arith.extsi", "$R($0)"},
    {"arith.extui", "$R($U($0))"},
    {"bool.extui", "$R($0)"},
    {"arith.trunci", "$R($0)"},
    {"arith.sitofp", "$R($0)"},
    {"arith.uitofp", "$R($U($0))"},
    {"bool.uitofp", "$R($0)"},
    {"arith.fptosi", "$R($0)"},
    {"arith.fptoui", "$R($V($0))"},
    {"arith.bitcast", "frit::bitCast<$R>($0)"},
    {"arith.index_cast", "$R($0)"},
    {"arith.index_castui", "$R($0)"},
    FRIT_INFIX("cmpi.eq", "==", kEquality),
    FRIT_INFIX("cmpi.ne", "!=", kEquality),
    FRIT_INFIX("cmpi.slt", "<", kRelation),
    FRIT_INFIX("cmpi.sle", "<=", kRelation),
    FRIT_INFIX("cmpi.sgt", ">", kRelation),
    FRIT_INFIX("cmpi.sge", ">=", kRelation),
    {"cmpi.ult", "$U($0) < $U($1)", kRelation},
    {"cmpi.ule", "$U($0) <= $U($1)", kRelation},
    {"cmpi.ugt", "$U($0) > $U($1)", kRelation},
    {"cmpi.uge", "$U($0) >= $U($1)", kRelation},
    FRIT_INFIX("cmpf.oeq", "==", kEquality),
    FRIT_INFIX("cmpf.une", "!=", kEquality),
    FRIT_INFIX("cmpf.olt", "<", kRelation),
    FRIT_INFIX("cmpf.ole", "<=", kRelation),
    FRIT_INFIX("cmpf.ogt", ">", kRelation),
    FRIT_INFIX("cmpf.oge", ">=", kRelation),
    {"cmpf.ult", "!($0 >= $1)", kUnary, kRelation, kShift},
    {"cmpf.ule", "!($0 > $1)", kUnary, kRelation, kShift},
    {"cmpf.ugt", "!($0 <= $1)", kUnary, kRelation, kShift},
    {"cmpf.uge", "!($0 < $1)", kUnary, kRelation, kShift},
    {"cmpf.uno", "frit::isNan($0) || frit::isNan($1)", kLogicalOr},
    {"math.absf", "frit::abs($0)"},
    {"math.absi", "frit::abs<$T>($0)"},
    {"math.exp", "frit::exp($0)"},
    {"math.exp.shifted", "frit::expShifted($0)"},
    {"logistic", "frit::logistic($0)"},
    {"quotient", "frit::quotient($0, $1, $2)"},
    {"round.quotient", "frit::roundQuotient($0, $1, $2)"},
    {"round.byte", "frit::roundToByte($0, $1, $2, $3)"},
    {"round.unit", "frit::roundUnit($0, $1, $2)"},
    {"round.clamped", "frit::roundClamped($0, $1, $2, $3)"},
    {"round.fraction", "frit::roundFraction($0, $1)"},
    {"round.tiny", "frit::roundTiny($0, $1, $2, $3)"},
    {"tiny.unsigned", "frit::unsignedTiny($0, $1, $2)"},
    {"tiny.signed", "frit::signedTiny($0, $1, $2)"},
    {"tiny.sum", "frit::addFraction($0, $1, $2, $3)"},
    {"byte.signed", "frit::signedNumber($0, $1)"},
    {"byte.unsigned", "frit::unsignedNumber($0, $1)"},
    {"byte.scaled", "frit::scaledNumber($0, $1)"},
    {"gelu.8", "frit::geluTo8Bits($0)"},
    {"gelu.16", "frit::geluTo16Bits($0)"},
    {"gelu_slope.16", "frit::geluSlopeTo16Bits($0)"},
    {"round.f16", "frit::roundTo<frit::f16>($0)"},
    {"round.bf16", "frit::roundTo<frit::bf16>($0)"},
    {"round.e4m3", "frit::toE4m3($0)"},
    {"round.e5m2", "frit::toE5m2($0)"},
    {"math.exp2", "frit::exp2($0)"},
    {"math.expm1", "frit::expm1($0)"},
    {"math.log", "frit::log($0)"},
    {"math.log2", "frit::log2($0)"},
    {"math.log1p", "frit::log1p($0)"},
    {"math.sqrt", "frit::sqrt($0)"},
    {"math.rsqrt", "frit::rsqrt($0)"},
    {"math.sin", "frit::sin($0)"},
    {"math.cos", "frit::cos($0)"},
    {"math.tan", "frit::tan($0)"},
    {"math.asin", "frit::asin($0)"},
    {"math.acos", "frit::acos($0)"},
    {"math.atan", "frit::atan($0)"},
    {"math.atan2", "frit::atan2($0, $1)"},
    {"math.sinh", "frit::sinh($0)"},
    {"math.cosh", "frit::cosh($0)"},
    {"math.tanh", "frit::tanh($0)"},
    {"math.asinh", "frit::asinh($0)"},
    {"math.acosh", "frit::acosh($0)"},
    {"math.atanh", "frit::atanh($0)"},
    {"math.erf", "frit::erf($0)"},
    {"math.floor", "frit::floor($0)"},
    {"math.ceil", "frit::ceil($0)"},
    {"math.trunc", "frit::trunc($0)"},
    {"math.round", "frit::round($0)"},
    {"math.roundeven", "frit::roundEven($0)"},
    {"math.powf", "frit::pow($0, $1)"},
    {"math.fma", "frit::fma($0, $1, $2)"},
    {"math.copysign", "frit::copysign($0, $1)"},
};
#undef FRIT_INFIX

const ScalarForm *frit::cuda::lookupForm(StringRef name) {
  static const auto table = [] {
    llvm::StringMap<const ScalarForm *> map;
    for (const ScalarForm &form : kForms)
      map[form.name] = &form;
    return map;
  }();
  return table.lookup(name);
}

const ScalarForm *frit::cuda::lookupForm(Operation *op) {
  std::string name = op->getName().getStringRef().str();
  // 16-bit floats compute as f32, which has other bits.
  if (isa<arith::BitcastOp>(op) &&
      op->getOperand(0).getType().getIntOrFloatBitWidth() == 16)
    return nullptr;
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    name =
        "cmpi." + arith::stringifyCmpIPredicate(compare.getPredicate()).str();
  else if (auto compare = dyn_cast<arith::CmpFOp>(op))
    name =
        "cmpf." + arith::stringifyCmpFPredicate(compare.getPredicate()).str();
  else if (op->getNumOperands() && op->getOperand(0).getType().isInteger(1))
    if (auto *form = lookupForm("bool." + op->getName().stripDialect().str()))
      return form;
  return lookupForm(name);
}

bool frit::cuda::isLongFunction(const ScalarForm &form) {
  return llvm::StringSwitch<bool>(form.name)
      .Cases({"math.sin",  "math.cos",   "math.tan",   "math.asin",
              "math.acos", "math.atan",  "math.sinh",  "math.cosh",
              "math.tanh", "math.asinh", "math.acosh", "math.atanh",
              "math.log",  "math.log2",  "math.log1p", "math.expm1",
              "math.erf",  "math.powf",  "math.atan2", "arith.remf"},
             true)
      .Default(false);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type frit::cuda::valueType(Type element) {
  if (element.isF16() || element.isBF16())
    return Float32Type::get(element.getContext());
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  return element;
}

StringRef frit::cuda::storageName(Type element) {
  if (element.isF16())
    return "frit::f16";
  if (element.isBF16())
    return "frit::bf16";
  if (element.isInteger(1))
    return "frit::boolean";
  if (element.isUnsignedInteger())
    return unsignedName(valueType(element));
  return valueName(element);
}

StringRef frit::cuda::valueName(Type type) {
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  auto integer = dyn_cast<IntegerType>(type);
  switch (integer ? integer.getWidth() : 0) {
  case 1:
    return "bool";
  case 8:
    return "int8_t";
  case 16:
    return "int16_t";
  case 32:
    return "int";
  case 64:
    return "int64_t";
  default:
    return {};
  }
}

StringRef frit::cuda::unsignedName(Type type) {
  return llvm::StringSwitch<StringRef>(valueName(type))
      .Case("int8_t", "uint8_t")
      .Case("int16_t", "uint16_t")
      .Case("int64_t", "uint64_t")
      .Default("unsigned");
}

int64_t frit::cuda::storageBytes(Type element) {
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static std::string floatLiteral(APFloat value, bool isDouble) {
  if (value.isNaN() || value.isInfinity()) {
    std::string text = value.isNaN() ? "NAN" : "INFINITY";
    if (isDouble)
      text = "double(" + text + ")";
    return value.isNegative() && !value.isNaN() ? "-" + text : text;
  }
  // 16-bit floats widen exactly.
  bool inexact;
  value.convert(isDouble ? APFloat::IEEEdouble() : APFloat::IEEEsingle(),
                APFloat::rmNearestTiesToEven, &inexact);
  std::string text;
  for (int digits = 1; digits <= 17; ++digits) {
    char buffer[40];
    double exact = isDouble ? value.convertToDouble() : value.convertToFloat();
    snprintf(buffer, sizeof buffer, "%.*g", digits, exact);
    text = buffer;
    if (isDouble ? std::strtod(buffer, nullptr) == exact
                 : std::strtof(buffer, nullptr) == static_cast<float>(exact))
      break;
  }
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return isDouble ? text : text + "f";
}

std::string frit::cuda::literal(Attribute value, Type type) {
  if (auto real = dyn_cast<FloatAttr>(value))
    return floatLiteral(real.getValue(), type.isF64());
  APInt bits = cast<IntegerAttr>(value).getValue();
  if (type.isInteger(1))
    return bits.isZero() ? "false" : "true";
  int64_t number = bits.getSExtValue();
  // The least integer has no literal, since the minus sign is an operator.
  std::string suffix = number < -INT32_MAX || number > INT32_MAX ? "ll" : "";
  if (number == INT64_MIN)
    return "(-9223372036854775807ll - 1)";
  if (number == INT32_MIN && type.isInteger(32))
    return "(-2147483647 - 1)";
  return std::to_string(number) + suffix;
}
