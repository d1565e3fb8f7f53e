//===- Plans.h - The plans of all targets ---------------------------------===//

#ifndef FRIT_COMPILER_PLANNING_PLANS_H
#define FRIT_COMPILER_PLANNING_PLANS_H

#include "compiler/planning/MergeVariants.h"

#include "mlir/IR/OwningOpRef.h"

namespace frit::planning {

/// One module with the program of each target and the constants of all.
class Plans {
public:
  explicit Plans(mlir::Location loc)
      : plans(mlir::ModuleOp::create(loc)), symbols(*plans),
        constants(symbols) {}

  /// Moves the plan of one variant of the model here and calls its main list
  /// `name`. The first variant's program becomes the target's; those of others
  /// are merged into it.
  void add(mlir::ModuleOp variant, llvm::StringRef name);

  mlir::ModuleOp module() const { return *plans; }
  /// The program of the target `arch`, or null.
  plan::ProgramOp program(llvm::StringRef arch) const;

private:
  mlir::OwningOpRef<mlir::ModuleOp> plans;
  mlir::SymbolTable symbols;
  ConstantPool constants;
};

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_PLANS_H
