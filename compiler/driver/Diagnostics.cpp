//===- Diagnostics.cpp - Print diagnostics --------------------------------===//

#include "compiler/driver/Diagnostics.h"

#include "compiler/support/Progress.h"

#include "frit/printable.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace frit;

std::vector<std::string> frit::warningNames() {
  return {"buffer",   "calibration", "context", "folded",   "frozen",
          "gradient", "labels",      "opset",   "optional", "pattern",
          "random",   "resize",      "scales",  "shape",    "shared",
          "sparse",   "target",      "tied",    "training", "tune-miss",
          "type",     "unused",      "weights"};
}

/// Returns the name at the end of a warning, or "".
static StringRef warningName(StringRef message) {
  size_t at = message.rfind("[-W");
  if (at == StringRef::npos || !message.ends_with("]"))
    return "";
  return message.drop_front(at + 3).drop_back();
}

/// Returns the lines of a compiler's log. All but the first are indented, so
/// that none looks like a separate message.
static std::string printableLines(StringRef text) {
  std::string out;
  for (StringRef line : llvm::split(text.rtrim('\n'), '\n'))
    out += (out.empty() ? "" : "\n  ") + printable(line);
  return out;
}

std::string frit::locationText(Location loc) {
  return llvm::TypeSwitch<LocationAttr, std::string>(loc)
      .Case([](NameLoc named) {
        std::string outer = locationText(named.getChildLoc());
        return outer.empty() ? named.getName().str()
                             : outer + ": " + named.getName().str();
      })
      .Case([](FileLineColLoc file) {
        // Line 0 stands for a file without lines.
        std::string text = file.getFilename().str();
        if (file.getLine())
          text += ":" + std::to_string(file.getLine()) + ":" +
                  std::to_string(file.getColumn());
        return text;
      })
      .Case([](CallSiteLoc call) { return locationText(call.getCallee()); })
      .Case([](FusedLoc fused) {
        for (Location part : fused.getLocations())
          if (std::string text = locationText(part); !text.empty())
            return text;
        return std::string();
      })
      .Default([](LocationAttr) { return std::string(); });
}

/// Drops the IR operator that verifiers name, because users know their model
/// only: "'nn.add' op requires ..." becomes "requires ...".
static StringRef withoutOperation(StringRef message) {
  StringRef rest = message;
  if (rest.consume_front("'nn.")) {
    rest = rest.drop_while([](char c) { return c != '\''; });
    if (rest.consume_front("' op "))
      return rest;
  }
  return message;
}

DiagnosticPrinter::DiagnosticPrinter(MLIRContext &context,
                                     llvm::raw_ostream &out)
    : handler(&context,
              [this](Diagnostic &diagnostic) {
                print(diagnostic.getSeverity(), diagnostic.getLocation(),
                      diagnostic.str());
                for (Diagnostic &note : diagnostic.getNotes())
                  print(DiagnosticSeverity::Note, note.getLocation(),
                        note.str());
              }),
      out(out), nowhere(UnknownLoc::get(&context)) {}

void DiagnosticPrinter::error(const Twine &message) {
  print(DiagnosticSeverity::Error, nowhere, message.str());
}

void DiagnosticPrinter::warning(const Twine &message) {
  print(DiagnosticSeverity::Warning, nowhere, message.str());
}

void DiagnosticPrinter::print(DiagnosticSeverity severity, Location loc,
                              StringRef message) {
  if (severity == DiagnosticSeverity::Warning) {
    auto said = [&](const llvm::StringMap<bool> &names, bool otherwise) {
      auto it = names.find(warningName(message));
      return it == names.end() ? otherwise : it->second;
    };
    if (options.none || !said(options.isShown, true))
      return;
    if (said(options.isError, options.areErrors))
      severity = DiagnosticSeverity::Error;
  }
  std::string where = locationText(loc);
  // A pass may find the same fault for each target and each variant.
  if (severity == DiagnosticSeverity::Warning &&
      !warned.insert(where + "\n" + message.str()).second)
    return;
  Progress::hide();
  switch (severity) {
  case DiagnosticSeverity::Error:
    ++numErrors;
    llvm::WithColor::error(out);
    break;
  case DiagnosticSeverity::Warning:
    ++numWarnings;
    llvm::WithColor::warning(out);
    break;
  case DiagnosticSeverity::Remark:
    llvm::WithColor::remark(out);
    break;
  case DiagnosticSeverity::Note:
    llvm::WithColor::note(out);
    break;
  }
  if (!where.empty())
    out << printable(where) << ": ";
  out << printableLines(withoutOperation(message)) << '\n';
}
