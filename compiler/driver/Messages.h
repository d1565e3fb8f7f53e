//===- Messages.h - What fritc says while it compiles ---------------------===//

#ifndef FRIT_COMPILER_DRIVER_MESSAGES_H
#define FRIT_COMPILER_DRIVER_MESSAGES_H

#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/Status.h"
#include "compiler/driver/options/Options.h"
#include "compiler/pipeline/Hooks.h"
#include "compiler/support/Progress.h"

namespace frit {

/// Prints messages of a compilation on standard error, and keeps the exit
/// status of its first error. `options` and `context` must outlive this.
class Messages : public PipelineHooks {
public:
  Messages(const DriverOptions &options, mlir::MLIRContext &context);

  /// Fails after reporting an error.
  llvm::LogicalResult fail(llvm::Error error);
  llvm::LogicalResult check(llvm::Error error);
  /// Reports an error, unless it comes with diagnostics.
  llvm::LogicalResult checkReported(llvm::Error error);

  /// Returns the exit status of a compilation that has ended.
  int statusOfRun(bool isDone);

  void begin(const llvm::Twine &work) override { progress.emplace(work.str()); }
  void end() override { progress.reset(); }
  void update(size_t done, size_t total, llvm::StringRef next) override {
    progress->update(done, total, next.str());
  }
  void blame(cuda::Culprit culprit) override;
  void say(const llvm::Twine &message) override;
  void tell(const llvm::Twine &message) override;

  /// Says for the sizes of which GPU schedules are chosen, if it is this
  /// machine's.
  void sayGpu();
  /// Says how many steps of each main list run concurrently.
  void sayForked(mlir::ModuleOp plans);

  DiagnosticPrinter diagnostics;

protected:
  const DriverOptions &options;

private:
  /// The exit status of the first error.
  ExitStatus status = kDone;
  std::optional<Progress> progress;
};

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_MESSAGES_H
