//===- DescribePass.cpp - Describes attention problems for tests ----------===//

#include "tools/frit-opt/DescribePass.h"

#include "dialects/nn/StridedView.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace frit;

namespace {
struct DescribeAttention
    : PassWrapper<DescribeAttention, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DescribeAttention)

  StringRef getArgument() const override { return "test-describe-attention"; }
  StringRef getDescription() const override {
    return "Remark what StridedView.h says of attentions";
  }

  static std::string text(StringRef name, const nn::AttentionOperand &operand) {
    std::string result;
    llvm::raw_string_ostream os(result);
    os << " " << name << "=";
    if (operand.argument)
      os << operand.argument.getArgNumber();
    os << "+" << operand.offset << "[";
    llvm::interleave(operand.strides, os, ",");
    os << "]";
    return result;
  }

  void runOnOperation() override {
    getOperation().walk([](nn::FusionOp fusion) {
      if (!isa_and_nonnull<nn::AttentionOp>(fusion.getAnchor()))
        return;
      auto info = nn::describeAttention(fusion);
      if (!info) {
        fusion.emitRemark(info.reason());
        return;
      }
      fusion.emitRemark("batch=")
          << info->batch << " heads=" << info->heads << "/" << info->groups
          << " queries=" << info->queries << " keys=" << info->keys
          << " size=" << info->size << "/" << info->valueSize
          << text("q", info->q) << text("k", info->k) << text("v", info->v)
          << text("result", info->result)
          << (info->mask ? text("mask", *info->mask) : "")
          << (info->causal ? " causal" : "");
    });
  }
};
} // namespace

void frit::registerDescribePass() { PassRegistration<DescribeAttention>(); }
