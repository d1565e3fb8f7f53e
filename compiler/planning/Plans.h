//===- Plans.h - The plans of all targets ---------------------------------===//

#ifndef FRIT_COMPILER_PLANNING_PLANS_H
#define FRIT_COMPILER_PLANNING_PLANS_H

#include "compiler/planning/MergeVariants.h"

#include "mlir/IR/OwningOpRef.h"

namespace frit::planning {

/// One module with the program of each function and target, and the constants
/// and states of all.
class Plans {
public:
  explicit Plans(mlir::Location loc)
      : plans(mlir::ModuleOp::create(loc)), symbols(*plans), constants(symbols),
        states(symbols) {}

  /// Moves the plan of one variant of a function here and names its main list
  /// `name`. The first variant's program becomes that of the function and
  /// target; others are merged into it. Fails, with an error, if a state
  /// differs from that of the same name in an earlier plan.
  mlir::LogicalResult add(mlir::ModuleOp variant, llvm::StringRef name);

  mlir::ModuleOp module() const { return *plans; }
  /// Returns the program of a function for the target `arch`, or null.
  plan::ProgramOp program(llvm::StringRef function, llvm::StringRef arch) const;

private:
  mlir::OwningOpRef<mlir::ModuleOp> plans;
  mlir::SymbolTable symbols;
  ConstantPool constants;
  StatePool states;
};

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_PLANS_H
