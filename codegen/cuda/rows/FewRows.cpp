//===- FewRows.cpp - Text that kernels of a few rows share ----------------===//

#include "codegen/cuda/rows/FewRows.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

void cuda::printFewRows(KernelText &kernel, ProblemText &text,
                        const nn::GemmInfo &info, const LinalgFusion &lowered,
                        FewRowsSchedule schedule, StringRef name,
                        StringRef function,
                        llvm::function_ref<MatrixText(Value)> printMatrix) {
  if (info.norm)
    text.addField(llvm::formatv("static constexpr float epsilon = {0:e9};",
                                info.norm->epsilon)
                      .str());
  if (info.pairedB)
    text.addConstants("bool", {{"isPair", 1}});
  std::string matrices;
  bool early = !info.norm || text.isConstant(info.norm->scale);
  for (Value b : {info.b, info.pairedB}) {
    if (!b)
      continue;
    MatrixText matrix = printMatrix(b);
    early &= matrix.isConstant;
    matrices += (matrices.empty() ? "{" : ", ") + matrix.argument;
  }
  matrices += "}";
  text.addFunction(info.epilogue);
  text.addConstants("int", {{"tiles", schedule.tiles},
                            {"stages", schedule.stages},
                            {"split", schedule.split},
                            {"threads", schedule.threads},
                            {"sharedBytes", kernel.sharedBytes}});
  text.addConstants("bool", {{"early", early}});
  std::string call =
      function.str() + "<" + text.problem() + ">(" + text.parameter(info.a) +
      ", " + text.parameter(info.norm ? info.norm->scale : Value()) + ", " +
      matrices + ", " + text.parameter(info.epilogue.bias()) + ", " +
      text.parameter(info.pairedB ? Value() : info.epilogue.residual()) +
      ", y0);\n";
  KernelFrame frame = {.threads = schedule.threads,
                       .wait = PdlWait::inSkeleton,
                       .cluster = schedule.cluster,
                       .occupancy = schedule.occupancy};
  kernel.source = text.definition() + kernelFunction(name, lowered, frame,
                                                     startText(lowered) + call);
  kernel.block[0] = schedule.threads;
}
