//===- Plans.h - The plans of all targets ---------------------------------===//

#ifndef FRIT_COMPILER_PLANNING_PLANS_H
#define FRIT_COMPILER_PLANNING_PLANS_H

#include "compiler/planning/Pools.h"

#include "mlir/IR/OwningOpRef.h"

namespace frit::planning {

/// One module with all functions and targets of a model, its constants and its
/// states.
class Plans {
public:
  explicit Plans(mlir::Location loc)
      : plans(mlir::ModuleOp::create(loc)), symbols(*plans), constants(symbols),
        states(symbols) {}

  /// Moves the plan of one variant of a function here, and names its main list
  /// `name` unless that is empty. Targets of one architecture become one.
  /// Fails, with an error, if a state or a function differs from that of the
  /// same name in an earlier plan.
  mlir::LogicalResult add(mlir::ModuleOp variant, llvm::StringRef name);

  mlir::ModuleOp module() const { return *plans; }
  /// Returns the target `arch`, or null.
  plan::TargetOp target(llvm::StringRef arch) const;

private:
  /// Moves a function here unless it is here.
  mlir::LogicalResult take(plan::FunctionOp function);

  mlir::OwningOpRef<mlir::ModuleOp> plans;
  mlir::SymbolTable symbols;
  ConstantPool constants;
  StatePool states;
};

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_PLANS_H
