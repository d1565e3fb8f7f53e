//===- Remarks.cpp - -Rpass and -Rpass-missed -----------------------------===//

#include "compiler/driver/Remarks.h"

#include "compiler/driver/Diagnostics.h"
#include "compiler/support/Progress.h"

#include "frit/printable.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Remarks/Remark.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;

ArrayRef<StringRef> frit::remarkCategories(bool isMissed) {
  static constexpr StringRef passed[] = {"fork", "fusion", "guard",
                                         "quantization", "sparse"};
  static constexpr StringRef missed[] = {"fork",  "fusion",       "layout",
                                         "plan",  "quantization", "schedule",
                                         "shape", "sparse",       "weights"};
  return isMissed ? ArrayRef(missed) : ArrayRef(passed);
}

namespace {

/// Prints a remark as clang does, with the flag that asked for it.
class RemarkPrinter final : public remark::detail::MLIRRemarkStreamerBase {
public:
  RemarkPrinter(StringRef passed, StringRef missed, const std::string &target,
                std::vector<frit::report::Remark> *kept)
      : passed(passed), missed(missed), target(target), kept(kept) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    bool isMissed = remark.getRemarkType() != llvm::remarks::Type::Passed;
    StringRef category = remark.getCategoryName();
    assert(is_contained(frit::remarkCategories(isMissed), category) &&
           "a category that -Rpass does not know");
    std::string text;
    for (const auto &argument : remark.getArgs())
      text += argument.val;
    if (kept && (category == "fusion" || category == "quantization" ||
                 category == "schedule"))
      keep(remark.getLocation(), text, isMissed);
    const Filter &filter = isMissed ? missed : passed;
    if (!filter.matches(category))
      return;
    std::string where = frit::locationText(remark.getLocation());
    std::string line = target.empty() ? "" : target + ": ";
    line += where + (where.empty() ? "" : ": ") + text;
    frit::Progress::hide();
    llvm::WithColor::remark(llvm::errs())
        << frit::printable(line)
        << (isMissed ? " [-Rpass-missed=" : " [-Rpass=") << category << "]\n";
  }

private:
  /// Regular expression over categories. An empty one matches nothing.
  struct Filter {
    explicit Filter(StringRef expression)
        : isEmpty(expression.empty()), regex(expression) {}
    bool matches(StringRef category) const {
      return !isEmpty && regex.match(category);
    }
    bool isEmpty;
    llvm::Regex regex;
  };

  /// Keeps a remark once, since variants of a model repeat most of them.
  void keep(Location loc, StringRef text, bool isMissed) {
    std::string key = target + '\n' + frit::plan::nodeNames(loc) + '\n';
    if (!known.insert(key + text.str()).second)
      return;
    frit::report::Remark remark{target, {}, text.str(), isMissed};
    for (StringRef node : frit::plan::nodesOf(loc))
      remark.nodes.push_back(node.str());
    kept->push_back(std::move(remark));
  }

  Filter passed, missed;
  const std::string &target;
  std::vector<frit::report::Remark> *kept;
  llvm::StringSet<> known;
};

} // namespace

void frit::installRemarks(MLIRContext &context, StringRef passed,
                          StringRef missed, const std::string &target,
                          std::vector<report::Remark> *kept) {
  if (passed.empty() && missed.empty() && !kept)
    return;
  remark::RemarkCategories categories;
  if (!passed.empty() || kept)
    categories.passed = kept ? ".*" : passed.str();
  if (!missed.empty() || kept)
    categories.missed = kept ? ".*" : missed.str();
  (void)remark::enableOptimizationRemarks(
      context, std::make_unique<RemarkPrinter>(passed, missed, target, kept),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}
