//===- Report.h - A compilation as a picture ------------------------------===//
//
// Data that the pages of --report and the graphs of --emit=dot show.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_REPORT_REPORT_H
#define FRIT_COMPILER_REPORT_REPORT_H

#include "compiler/report/Calls.h"
#include "dialects/nn/NN.h"
#include "dialects/plan/Plan.h"

#include <optional>
#include <string>
#include <vector>

namespace frit::report {

/// A remark of -Rpass or -Rpass-missed.
struct Remark {
  std::string target;             ///< "sm_90a"
  std::vector<std::string> nodes; ///< of the model, that it is about
  std::string text;
  bool missed = false;
  bool operator==(const Remark &) const = default;
};

/// A plan.buffer, or an input, output or constant of a list.
struct Buffer {
  plan::Space space;
  uint64_t offset = 0; ///< in the arena
  uint64_t bytes = 0;
  std::string type;           ///< "1x16x8x8xf32"
  std::string name;           ///< of inputs, outputs, constants and states
  size_t first = 0, last = 0; ///< the steps of its live range
  bool isWorkspace = false;
};

struct Step {
  std::string kind; ///< as frit_step_info has it: "launch", "gemm"
  int kernel = -1;  ///< of a library call, its fallback; -1 if there is none
  bool isLibrary = false;
  std::vector<std::string> nodes;    ///< of the model, that it computes
  std::vector<size_t> reads, writes; ///< buffers
  std::vector<size_t> needs;         ///< steps whose results it reads
  uint64_t bytes = 0;                ///< that it reads and writes
  std::optional<Call> call;          ///< what it computes without a kernel
  int guard =
      -1; ///< the step that decides whether it runs; -1 if it always does
};

struct Operator {
  std::string name; ///< "conv"
  std::string type; ///< of its result
};

struct Kernel {
  std::string name, schedule, source;
  std::vector<Operator> operators;
  std::vector<int64_t> grid, block;
  int64_t sharedBytes = 0, flops = 0, skipped = 0;
  std::optional<double> microseconds; ///< the schedule's estimate
};

struct List {
  std::string name;
  uint64_t arenaBytes = 0, lowerBound = 0;
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
};

struct Program {
  std::string function, arch;
  uint64_t preparedBytes = 0;
  std::vector<Kernel> kernels;
  std::vector<List> lists;
};

struct Report {
  std::string title, version;
  uint64_t weightBytes = 0, stateBytes = 0;
  std::vector<Program> programs;
  std::vector<Remark> remarks;
};

/// Returns the time of a kernel in microseconds, if it is known.
using KernelTime = llvm::function_ref<std::optional<double>(
    llvm::StringRef arch, nn::FusionOp)>;

/// Describes the programs of `plans`, whose memory is planned.
Report describe(mlir::ModuleOp plans, KernelTime timeOf);

/// Writes the report as JSON, for makePage.
std::string writeJson(const Report &report);

/// Writes the steps as a graph for Graphviz: a cluster for every list, a box
/// for every step, with its operators inside.
std::string writeDot(const Report &report);

} // namespace frit::report

#endif // FRIT_COMPILER_REPORT_REPORT_H
