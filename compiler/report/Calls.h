//===- Calls.h - What steps without a kernel compute ----------------------===//
//
// A kernel shows its operators, schedule and source. A library call and a
// collective have none: their step in the plan is all that is known of them.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_REPORT_CALLS_H
#define FRIT_COMPILER_REPORT_CALLS_H

#include "mlir/IR/BuiltinTypes.h"

#include <optional>
#include <string>
#include <vector>

namespace frit::report {

/// An operand or result of a call, under its name in the formula.
struct CallOperand {
  std::string role; ///< "A"
  std::string type; ///< "64x128xf16"
  std::string note; ///< "stored as 128x64"; mostly empty
};

struct Fact {
  std::string name, text; ///< "algorithm", "chosen by the library"
};

/// A product, convolution, attention or gradient of them by a library or by the
/// runtime's own host code; or an exchange between ranks.
struct Call {
  std::string formula; ///< "D = relu(A·B + bias)"
  std::vector<CallOperand> operands, results;
  std::vector<std::string> fused; ///< "bias", "relu"
  std::vector<Fact> facts;
  int64_t flops = 0; ///< multiplications and additions
};

/// Formats a type: "1x16x8x8xf32".
std::string typeText(mlir::ShapedType type);

/// Describes a step of a program for `arch`; nothing for steps that are no
/// calls, such as launches.
std::optional<Call> describeCall(mlir::Operation *step, llvm::StringRef arch);

} // namespace frit::report

#endif // FRIT_COMPILER_REPORT_CALLS_H
