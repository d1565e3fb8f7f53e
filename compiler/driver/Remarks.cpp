//===- Remarks.cpp - -Rpass and -Rpass-missed -----------------------------===//

#include "compiler/driver/Remarks.h"

#include "compiler/driver/Diagnostics.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Remarks/Remark.h"

using namespace mlir;

namespace {

/// Prints a remark as clang does: what it is about, and the flag it is from.
class RemarkPrinter final : public remark::detail::MLIRRemarkStreamerBase {
public:
  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    bool missed = remark.getRemarkType() != llvm::remarks::Type::Passed;
    std::string where = frit::locationText(remark.getLocation());
    llvm::errs() << "remark: " << where << (where.empty() ? "" : ": ");
    for (const auto &argument : remark.getArgs())
      llvm::errs() << argument.val;
    llvm::errs() << (missed ? " [-Rpass-missed=" : " [-Rpass=")
                 << remark.getCategoryName() << "]\n";
  }
};

} // namespace

void frit::installRemarks(MLIRContext &context, StringRef passed,
                          StringRef missed) {
  if (passed.empty() && missed.empty())
    return;
  remark::RemarkCategories categories;
  if (!passed.empty())
    categories.passed = passed.str();
  if (!missed.empty())
    categories.missed = missed.str();
  (void)remark::enableOptimizationRemarks(
      context, std::make_unique<RemarkPrinter>(),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}
