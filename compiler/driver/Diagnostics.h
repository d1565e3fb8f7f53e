//===- Diagnostics.h - Print diagnostics ----------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_DIAGNOSTICS_H
#define FRIT_COMPILER_DRIVER_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

namespace frit {

/// Warnings that are shown, hidden or errors; by name if they have one.
struct WarningOptions {
  bool none = false, areErrors = false;
  llvm::StringMap<bool> isShown, isError;
};

/// Returns the names of warnings, such as "tune-miss". A message ends with its
/// name: "[-Wtune-miss]".
std::vector<std::string> warningNames();

/// Returns a location in terms of the user's files: "model.onnx: node
/// 'encoder/3/attn' (Softmax, opset 13)"; "" if it is unknown.
std::string locationText(mlir::Location loc);

/// Prints the context's diagnostics during its lifetime, one line each:
///
///   error: model.onnx: node 'attn' (Softmax, opset 13): axis 5 is out of range
///   for a tensor of rank 3
///
/// Unprintable bytes, as in a model's names, are escaped. A warning is printed
/// once.
class DiagnosticPrinter {
public:
  DiagnosticPrinter(mlir::MLIRContext &context,
                    llvm::raw_ostream &out = llvm::errs());

  /// Prints a message without a location in the IR.
  void error(const llvm::Twine &message);
  void warning(const llvm::Twine &message);

  unsigned errors() const { return numErrors; }
  unsigned warnings() const { return numWarnings; }

  WarningOptions options;

private:
  void print(mlir::DiagnosticSeverity severity, mlir::Location loc,
             llvm::StringRef message);

  mlir::ScopedDiagnosticHandler handler;
  llvm::raw_ostream &out;
  mlir::Location nowhere;
  llvm::StringSet<> warned;
  unsigned numErrors = 0, numWarnings = 0;
};

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_DIAGNOSTICS_H
