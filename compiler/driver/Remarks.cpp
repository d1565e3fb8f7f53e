//===- Remarks.cpp - -Rpass and -Rpass-missed -----------------------------===//

#include "compiler/driver/Remarks.h"

#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/Progress.h"

#include "frit/printable.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Remarks/Remark.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;

namespace {

/// Prints a remark as clang does: what it is about, and the flag it is from.
class RemarkPrinter final : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit RemarkPrinter(const std::string &target) : target(target) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    bool missed = remark.getRemarkType() != llvm::remarks::Type::Passed;
    std::string where = frit::locationText(remark.getLocation());
    std::string text = target.empty() ? "" : target + ": ";
    text += where + (where.empty() ? "" : ": ");
    for (const auto &argument : remark.getArgs())
      text += argument.val;
    frit::Progress::hide();
    llvm::WithColor::remark(llvm::errs())
        << frit::printable(text) << (missed ? " [-Rpass-missed=" : " [-Rpass=")
        << remark.getCategoryName() << "]\n";
  }

private:
  const std::string &target;
};

} // namespace

void frit::installRemarks(MLIRContext &context, StringRef passed,
                          StringRef missed, const std::string &target) {
  if (passed.empty() && missed.empty())
    return;
  remark::RemarkCategories categories;
  if (!passed.empty())
    categories.passed = passed.str();
  if (!missed.empty())
    categories.missed = missed.str();
  (void)remark::enableOptimizationRemarks(
      context, std::make_unique<RemarkPrinter>(target),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}
