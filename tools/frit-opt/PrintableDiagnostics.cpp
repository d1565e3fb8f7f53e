//===- PrintableDiagnostics.cpp - Escape names in diagnostics -------------===//

#include "tools/frit-opt/PrintableDiagnostics.h"

#include "dialects/nn/NN.h"
#include "frit/printable.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace frit;

/// Returns `text` with its lines, each of which is made printable.
static std::string printableLines(StringRef text) {
  return llvm::join(
      llvm::map_range(llvm::split(text, '\n'),
                      [](StringRef line) { return printable(line); }),
      "\n");
}

static bool isPrintable(Diagnostic &diagnostic) {
  auto isSame = [](Diagnostic &part) {
    return printableLines(part.str()) == part.str();
  };
  return isSame(diagnostic) && llvm::all_of(diagnostic.getNotes(), isSame);
}

/// Passes printable diagnostics on to the handler that prints them. Others are
/// reported again, escaped.
static LogicalResult escape(Diagnostic &diagnostic) {
  if (isPrintable(diagnostic))
    return failure();
  Diagnostic escaped(diagnostic.getLocation(), diagnostic.getSeverity());
  escaped << printableLines(diagnostic.str());
  for (Diagnostic &note : diagnostic.getNotes())
    escaped.attachNote(note.getLocation()) << printableLines(note.str());
  diagnostic.getLocation().getContext()->getDiagEngine().emit(
      std::move(escaped));
  return success();
}

void frit::escapeDiagnostics(DialectRegistry &registry) {
  // mlir-opt's driver makes the context and its own handler; the handler that
  // was registered last is asked first.
  registry.addExtension(+[](MLIRContext *context, nn::NNDialect *) {
    context->getDiagEngine().registerHandler(escape);
  });
}
