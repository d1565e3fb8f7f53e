//===- Context.cpp - An MLIR context that is renewed regularly ------------===//

#include "test/fuzz/Context.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;

/// Inputs after which the context is renewed: each leaves a few kilobytes in
/// it.
static constexpr unsigned kInputsPerContext = 256;

static unsigned errorCount = 0;

MLIRContext &frit::fuzz::context(void (*load)(MLIRContext &)) {
  static std::unique_ptr<MLIRContext> current;
  static unsigned inputs = 0;
  if (!current || ++inputs % kInputsPerContext == 0) {
    current = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
    if (load)
      load(*current);
    current->getDiagEngine().registerHandler([](Diagnostic &diagnostic) {
      errorCount += diagnostic.getSeverity() == DiagnosticSeverity::Error;
      return success();
    });
  }
  return *current;
}

unsigned frit::fuzz::errors() { return errorCount; }
