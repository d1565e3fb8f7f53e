//===- Json.cpp - A report as JSON ----------------------------------------===//

#include "compiler/report/Report.h"

#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace frit;
using namespace frit::report;
using llvm::json::OStream;

/// Replaces invalid UTF-8, which names of a model may contain.
static std::string text(StringRef raw) { return llvm::json::fixUTF8(raw); }

template <class List>
static void writeNumbers(OStream &os, StringRef name, const List &numbers) {
  if (!numbers.empty())
    os.attributeArray(name, [&] {
      for (auto number : numbers)
        os.value(int64_t(number));
    });
}

static void writeTexts(OStream &os, StringRef name,
                       const std::vector<std::string> &texts) {
  os.attributeArray(name, [&] {
    for (const std::string &raw : texts)
      os.value(text(raw));
  });
}

static void writeKernel(OStream &os, const Kernel &kernel) {
  os.object([&] {
    os.attribute("name", text(kernel.name));
    os.attribute("schedule", text(kernel.schedule));
    writeNumbers(os, "grid", kernel.grid);
    writeNumbers(os, "block", kernel.block);
    os.attribute("shared", kernel.sharedBytes);
    os.attribute("flops", kernel.flops);
    if (kernel.microseconds)
      os.attribute("us", *kernel.microseconds);
    os.attributeArray("ops", [&] {
      for (const Operator &op : kernel.operators)
        os.array([&] {
          os.value(text(op.name));
          os.value(text(op.type));
        });
    });
    os.attribute("source", text(kernel.source));
  });
}

static void writeBuffer(OStream &os, const Buffer &buffer) {
  os.object([&] {
    os.attribute("space", plan::stringifySpace(buffer.space));
    os.attribute("type", text(buffer.type));
    os.attribute("bytes", int64_t(buffer.bytes));
    if (!buffer.name.empty())
      os.attribute("name", text(buffer.name));
    if (buffer.space == plan::Space::arena)
      os.attribute("offset", int64_t(buffer.offset));
    os.attribute("first", int64_t(buffer.first));
    os.attribute("last", int64_t(buffer.last));
    if (buffer.isWorkspace)
      os.attribute("workspace", true);
  });
}

static void writeOperands(OStream &os, StringRef name,
                          const std::vector<CallOperand> &operands) {
  os.attributeArray(name, [&] {
    for (const CallOperand &operand : operands)
      os.array([&] {
        os.value(operand.role);
        os.value(operand.type);
        os.value(operand.note);
      });
  });
}

static void writeCall(OStream &os, const Call &call) {
  os.attributeObject("call", [&] {
    os.attribute("formula", call.formula);
    writeOperands(os, "operands", call.operands);
    writeOperands(os, "results", call.results);
    writeTexts(os, "fused", call.fused);
    os.attributeArray("facts", [&] {
      for (const Fact &fact : call.facts)
        os.array([&] {
          os.value(fact.name);
          os.value(text(fact.text));
        });
    });
    os.attribute("flops", call.flops);
  });
}

static void writeStep(OStream &os, const Step &step) {
  os.object([&] {
    os.attribute("kind", step.kind);
    writeTexts(os, "nodes", step.nodes);
    if (step.kernel >= 0)
      os.attribute("kernel", step.kernel);
    if (step.isLibrary)
      os.attribute("library", true);
    if (step.call)
      writeCall(os, *step.call);
    if (step.guard >= 0)
      os.attribute("guard", step.guard);
    os.attribute("bytes", int64_t(step.bytes));
    writeNumbers(os, "reads", step.reads);
    writeNumbers(os, "writes", step.writes);
    writeNumbers(os, "needs", step.needs);
  });
}

static void writeList(OStream &os, const List &list) {
  os.object([&] {
    os.attribute("name", text(list.name));
    os.attribute("arena", int64_t(list.arenaBytes));
    os.attribute("bound", int64_t(list.lowerBound));
    os.attributeArray("buffers", [&] {
      for (const Buffer &buffer : list.buffers)
        writeBuffer(os, buffer);
    });
    os.attributeArray("steps", [&] {
      for (const Step &step : list.steps)
        writeStep(os, step);
    });
  });
}

static void writeProgram(OStream &os, const Program &program) {
  os.object([&] {
    os.attribute("function", text(program.function));
    os.attribute("arch", program.arch);
    os.attribute("prepared", int64_t(program.preparedBytes));
    os.attributeArray("kernels", [&] {
      for (const Kernel &kernel : program.kernels)
        writeKernel(os, kernel);
    });
    os.attributeArray("lists", [&] {
      for (const List &list : program.lists)
        writeList(os, list);
    });
  });
}

std::string report::writeJson(const Report &report) {
  std::string json;
  llvm::raw_string_ostream stream(json);
  OStream os(stream);
  os.object([&] {
    os.attribute("frit", report.version);
    os.attribute("title", text(report.title));
    os.attribute("weights", int64_t(report.weightBytes));
    os.attribute("state", int64_t(report.stateBytes));
    os.attributeArray("remarks", [&] {
      for (const Remark &remark : report.remarks)
        os.object([&] {
          os.attribute("target", remark.target);
          writeTexts(os, "nodes", remark.nodes);
          os.attribute("text", text(remark.text));
          os.attribute("missed", remark.missed);
        });
    });
    os.attributeArray("programs", [&] {
      for (const Program &program : report.programs)
        writeProgram(os, program);
    });
  });
  return json;
}
