//===- UserCode.h - Users' C for host kernels -----------------------------===//
//
// The system's C compiler compiles a user's function together with an entry
// function that frit adds. The entry's name is derived from the text, so models
// that share the function can be linked together.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CPU_USERCODE_H
#define FRIT_CODEGEN_CPU_USERCODE_H

#include "dialects/nn/operators/Custom.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace frit::cpu {

/// C that defines a function `symbol`.
struct UserSource {
  std::string symbol, text;
  std::string folder; ///< include directory
  std::string arch;   ///< the target that it is compiled for
};

/// The sources of a program's kernels, each once.
class UserSources {
public:
  explicit UserSources(llvm::StringRef arch) : arch(arch) {}

  /// Adds the functions that the loops of `function` call.
  void addCalls(mlir::func::FuncOp function);

  /// Creates the function `name`, which calls a user's kernel. It takes memrefs
  /// of the operands and results and the bounds of work items; there is one
  /// work item.
  mlir::func::FuncOp createKernel(nn::CustomOp custom, llvm::StringRef name,
                                  mlir::OpBuilder &builder);

  std::vector<UserSource> all;

private:
  /// Adds a source unless it is present. Returns its symbol.
  std::string add(UserSource source);

  std::string arch;
};

/// Replaces nn.scalar_call by calls of the functions that UserSources::addCalls
/// adds for `arch`.
std::unique_ptr<mlir::Pass> createCallUserFunctionsPass(llvm::StringRef arch);

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_USERCODE_H
