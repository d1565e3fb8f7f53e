//===- Dot.cpp - A report as a graph for Graphviz -------------------------===//

#include "compiler/report/Report.h"

#include "frit/printable.h"

using namespace mlir;
using namespace frit;
using namespace frit::report;

/// Quotes a string for dot.
static std::string quoted(StringRef raw) {
  std::string text = "\"";
  for (char c : printable(raw.str())) {
    if (c == '"' || c == '\\')
      text += '\\';
    text += c;
  }
  return text + "\"";
}

/// Returns the label of a step: its kernel, its operators, the model's nodes.
static std::string labelOf(const Program &program, const Step &step) {
  std::string label = step.kind;
  if (step.kernel >= 0) {
    const Kernel &kernel = program.kernels[step.kernel];
    if (!step.isLibrary)
      label = kernel.name;
    label += "\n";
    for (auto [i, op] : llvm::enumerate(kernel.operators))
      label += (i ? ", " : "") + op.name;
  }
  if (step.call)
    label += "\n" + step.call->formula;
  for (const std::string &node : step.nodes)
    label += "\n" + node;
  std::string lines;
  for (StringRef line : llvm::split(label, '\n')) {
    std::string inner = quoted(line);
    lines += (lines.empty() ? "" : "\\n") + inner.substr(1, inner.size() - 2);
  }
  return "\"" + lines + "\"";
}

static void writeSteps(raw_ostream &os, const Program &program,
                       const List &list, const std::string &prefix) {
  // The inputs of the model that steps read, and the outputs they write.
  auto boundary = [&](size_t buffer) {
    return prefix + "b" + std::to_string(buffer);
  };
  for (auto [i, buffer] : llvm::enumerate(list.buffers))
    if (buffer.space == plan::Space::input ||
        buffer.space == plan::Space::output)
      os << "    " << boundary(i)
         << " [shape=oval, label=" << quoted(buffer.name + " " + buffer.type)
         << "];\n";
  for (auto [i, step] : llvm::enumerate(list.steps)) {
    std::string name = prefix + "s" + std::to_string(i);
    os << "    " << name << " [label=" << labelOf(program, step)
       << (step.isLibrary ? ", style=\"rounded,filled\"" : "") << "];\n";
    for (size_t needed : step.needs)
      os << "    " << prefix << "s" << needed << " -> " << name << ";\n";
    for (size_t buffer : step.reads)
      if (list.buffers[buffer].space == plan::Space::input)
        os << "    " << boundary(buffer) << " -> " << name << ";\n";
    for (size_t buffer : step.writes)
      if (list.buffers[buffer].space == plan::Space::output)
        os << "    " << name << " -> " << boundary(buffer) << ";\n";
  }
}

std::string report::writeDot(const Report &report) {
  std::string dot;
  llvm::raw_string_ostream os(dot);
  os << "digraph " << quoted(report.title) << " {\n"
     << "  node [shape=box, style=rounded, fontname=\"sans-serif\", "
        "fontsize=10];\n";
  size_t lists = 0;
  for (const Program &program : report.programs)
    for (const List &list : program.lists) {
      if (list.steps.empty())
        continue;
      std::string prefix = "l" + std::to_string(lists++);
      os << "  subgraph cluster_" << prefix << " {\n    label="
         << quoted(program.function + " " + list.name + ", " + program.arch)
         << ";\n";
      writeSteps(os, program, list, prefix);
      os << "  }\n";
    }
  os << "}\n";
  return dot;
}
