//===- Registry.cpp - The nn dialect and its registry ---------------------===//

#include "dialects/nn/operators/Custom.h"
#include "dialects/nn/operators/Quantized.h"
#include "dialects/nn/operators/Statistics.h"
#include "dialects/nn/operators/Suppression.h"
#include "dialects/nn/training/Gradient.h"
#include "dialects/nn/training/Loss.h"
#include "dialects/nn/training/Random.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace frit::nn;

#include "dialects/nn/Interfaces.cpp.inc"

#include "dialects/nn/Dialect.cpp.inc"

#include "dialects/nn/Enums.cpp.inc"
#include "dialects/nn/Schedule.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/nn/Attributes.cpp.inc"

/// Calls `visit.operator()<Op>()` for every operator of the dialect.
template <typename Visitor> static void forEachOp(Visitor visit) {
  auto family = [&]<typename... Ops>() {
    (visit.template operator()<Ops>(), ...);
  };
  family.template operator()<
#define GET_OP_LIST
#include "dialects/nn/Structure.cpp.inc"
      >();
  family.template operator()<
#define GET_OP_LIST
#include "dialects/nn/State.cpp.inc"
      >();
  family.template operator()<
#define GET_OP_LIST
#include "dialects/nn/Elementwise.cpp.inc"
      >();
  family.template operator()<
#define GET_OP_LIST
#include "dialects/nn/Activation.cpp.inc"
      >();
  family.template operator()<
#define GET_OP_LIST
#include "dialects/nn/Movement.cpp.inc"
      >();
  family.template operator()<
#define GET_OP_LIST
#include "dialects/nn/Contraction.cpp.inc"
      >();
  family.template operator()<
#define GET_OP_LIST
#include "dialects/nn/Reduction.cpp.inc"
      >();
  family.template operator()<
#define GET_OP_LIST
#include "dialects/nn/Window.cpp.inc"
      >();
  family.template operator()<
#define GET_OP_LIST
#include "dialects/nn/Normalization.cpp.inc"
      >();
  family.template operator()<
#define GET_OP_LIST
#include "dialects/nn/Attention.cpp.inc"
      >();
  family.template operator()<
#define GET_OP_LIST
#include "dialects/nn/Selection.cpp.inc"
      >();
  family.template operator()<
#define GET_OP_LIST
#include "dialects/nn/Suppression.cpp.inc"
      >();
  family.template operator()<
#define GET_OP_LIST
#include "dialects/nn/Loss.cpp.inc"
      >();
  family.template operator()<
#define GET_OP_LIST
#include "dialects/nn/Random.cpp.inc"
      >();
  family.template operator()<
#define GET_OP_LIST
#include "dialects/nn/Gradient.cpp.inc"
      >();
  family.template operator()<
#define GET_OP_LIST
#include "dialects/nn/Custom.cpp.inc"
      >();
  family.template operator()<
#define GET_OP_LIST
#include "dialects/nn/Statistics.cpp.inc"
      >();
  family.template operator()<
#define GET_OP_LIST
#include "dialects/nn/Quantized.cpp.inc"
      >();
}

namespace {
/// Prints a user's operators and their files once, at the top of a module.
struct UserAliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (auto custom = dyn_cast<CustomAttr>(attr))
      return os << custom.getShortName(), AliasResult::FinalAlias;
    if (auto function = dyn_cast<UserFunctionAttr>(attr))
      return os << function.getName() << "_function", AliasResult::FinalAlias;
    return AliasResult::NoAlias;
  }
};
} // namespace

void NNDialect::initialize() {
  addInterfaces<UserAliases>();
  forEachOp([&]<typename Op>() { addOperations<Op>(); });
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/nn/Attributes.cpp.inc"
      >();
}

Operation *NNDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                          Type type, Location loc) {
  if (auto elements = dyn_cast<ElementsAttr>(value))
    if (elements.getType() == type)
      return ConstantOp::create(builder, loc, elements, StringAttr());
  return nullptr;
}

const OnnxEntry *frit::nn::lookupOnnx(StringRef name) {
  static const llvm::StringMap<OnnxEntry> table = [] {
    llvm::StringMap<OnnxEntry> entries;
    forEachOp([&]<typename Op>() {
      if constexpr (requires { Op::onnxName; })
        if (!Op::onnxName.empty())
          entries[Op::onnxName] = {Op::getOperationName(), Op::onnxSince};
    });
    return entries;
  }();
  auto it = table.find(name);
  return it == table.end() ? nullptr : &it->second;
}

ArrayRef<OperatorEntry> frit::nn::operators() {
  static const SmallVector<OperatorEntry> entries = [] {
    SmallVector<OperatorEntry> all;
    forEachOp([&]<typename Op>() {
      if constexpr (requires { Op::onnxName; })
        all.push_back({Op::getOperationName(), Op::onnxName, Op::opSummary,
                       Op::hasGradient});
    });
    return all;
  }();
  return entries;
}
