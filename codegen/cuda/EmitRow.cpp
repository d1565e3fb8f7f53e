//===- EmitRow.cpp - Reductions along rows --------------------------------===//

#include "codegen/cuda/RowKernel.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

Printer RowKernel::printer() {
  Printer printer(graph);
  printer.setArguments(lowered.inputElements());
  printer.nameDim(row, "row");
  printer.nameDim(col, "col");
  return printer;
}

static std::string lane(const Graph &graph) {
  return graph.width > 1 ? "e[v]" : "e[0]";
}

std::string RowKernel::printLoad() {
  Printer p = printer();
  p.expect(frontier);
  p.openLanes();
  for (auto [i, node] : llvm::enumerate(frontier)) {
    std::string value = p.value(node);
    p.line(lane(graph) + ".a" + Twine(i) + " = " + value + ";");
  }
  p.closeLanes();
  return "  __device__ void load(Element (&e)[" + std::to_string(graph.width) +
         "], unsigned row, unsigned col) const {\n" + p.str(4) + "  }\n";
}

std::string RowKernel::printTerm() {
  std::string text =
      "  template <int R>\n  __device__ float term(const Element "
      "&e, " +
      results() + ", unsigned row, unsigned col) const {\n";
  for (auto [number, term] : llvm::enumerate(terms)) {
    Printer p = printer();
    p.setScalar();
    for (auto [i, node] : llvm::enumerate(frontier))
      p.define(node, "e.a" + std::to_string(i));
    p.expect(term);
    p.line("return " + p.value(term) + ";");
    if (terms.size() == 1) {
      text += p.str(4);
      break;
    }
    text += number == 0 ? "    " : " ";
    if (number + 1 < terms.size())
      text += "if constexpr (R == " + std::to_string(number) + ") {\n";
    else
      text += "{\n";
    text += p.str(6) + "    }";
    text += number + 1 < terms.size() ? " else" : "\n";
  }
  return text + "  }\n";
}

/// What differs between reductions, as a chain of conditions on R.
static std::string
chooseByNumber(ArrayRef<nn::ReduceOp> reductions,
               llvm::function_ref<StringRef(nn::Combiner)> textOf) {
  SmallVector<StringRef> texts;
  for (nn::ReduceOp op : reductions)
    texts.push_back(textOf(op.getKind()));
  if (llvm::all_equal(texts))
    return texts[0].str();
  std::string text;
  for (size_t i = 0; i + 1 < texts.size(); ++i)
    text += "R == " + std::to_string(i) + " ? " + texts[i].str() + " : ";
  return text + texts.back().str();
}

std::string RowKernel::printCombine() {
  std::string identity = chooseByNumber(reductions, [](nn::Combiner kind) {
    constexpr StringLiteral texts[] = {"0.0f", "1.0f", "-INFINITY", "INFINITY"};
    return StringRef(texts[static_cast<int>(kind)]);
  });
  std::string combine = chooseByNumber(reductions, [](nn::Combiner kind) {
    constexpr StringLiteral texts[] = {"x + y", "x * y", "frit::maximum(x, y)",
                                       "frit::minimum(x, y)"};
    return StringRef(texts[static_cast<int>(kind)]);
  });
  return "  template <int R> __device__ static float identity() {\n    "
         "return " +
         identity +
         ";\n  }\n  template <int R> __device__ static float combine(float x, "
         "float y) {\n    return " +
         combine + ";\n  }\n";
}

std::string RowKernel::printStore() {
  Printer p = printer();
  for (auto [i, node] : llvm::enumerate(frontier))
    p.define(node, lane(graph) + ".a" + std::to_string(i));
  SmallVector<Node *> roots;
  for (auto [output, node] : perColumn)
    roots.push_back(node);
  p.expect(roots);
  std::string offset =
      graph.space
          .print(place,
                 [&](AffineExpr leaf, bool wide, bool) -> IndexText {
                   std::string name = leaf == row ? "row" : "col";
                   return {wide ? "int64_t(" + name + ")" : name, kPrimary};
                 })
          .text;
  p.openLanes();
  std::string stores;
  for (auto [output, node] : perColumn) {
    std::string store = storeOutput(
        p, graph, output, elementType(lowered.outputs()[output]), node, offset);
    stores += store.empty() ? "" : store + "\n";
  }
  p.closeLanes();
  return "  __device__ void store(const Element (&e)[" +
         std::to_string(graph.width) + "], " + results() +
         ", unsigned row, unsigned col) const {\n" + p.str(4) +
         indented(stores, 4) + "  }\n";
}

std::string RowKernel::printFinish() {
  Printer p = printer();
  SmallVector<Node *> roots;
  for (auto [output, node] : perRow)
    roots.push_back(node);
  p.expect(roots);
  for (auto [output, node] : perRow) {
    std::string value = p.value(node);
    p.line("frit::store(y" + Twine(output) + "[row], " + value + ");");
  }
  return "  __device__ void finish(" + results() + ", unsigned row) const {\n" +
         p.str(4) + "  }\n";
}

std::string RowKernel::print(StringRef name) {
  std::string text = ("struct " + name + "_body {\n").str() +
                     parameterList(lowered, true) + "\n  struct Element {\n";
  for (auto [i, node] : llvm::enumerate(frontier))
    text += ("    " + valueName(node->type) + " a" + Twine(i) + ";\n").str();
  text += "  };\n  static constexpr int kReductions = " +
          std::to_string(reductions.size()) + ";\n\n";
  return text + printLoad() + printTerm() + printCombine() + printStore() +
         printFinish() + "};\n";
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

/// Threads that share a row, given how many of its elements each keeps.
static int64_t teamSize(int64_t cols, int64_t perThread, int64_t threads) {
  int64_t team = ceilDiv(cols, perThread);
  return team <= 32 ? int64_t(llvm::PowerOf2Ceil(team)) : threads;
}

nn::ScheduleAttr frit::cuda::scheduleRow(nn::FusionOp fusion,
                                         const Lowered &lowered,
                                         std::string &reason) {
  RowKernel matched(fusion, lowered);
  if (!matched.match(reason))
    return nullptr;
  {
    RowKernel scalar(fusion, lowered);
    scalar.match(reason);
    if (!scalar.build(1, reason))
      return nullptr;
  }
  int64_t cols = matched.cols, vector = 8;
  for (; vector > 1; vector /= 2) {
    if (cols % vector != 0)
      continue;
    RowKernel kernel(fusion, lowered);
    kernel.match(reason);
    if (!kernel.build(vector, reason))
      return nullptr;
    int64_t narrowest = 16;
    for (Node *node : kernel.everything())
      if (node->kind == Node::Kind::load && (node->dependence & kLane))
        narrowest = std::min(
            narrowest, storageBytes(lowered.inputElements()[node->argument]));
    if (narrowest * vector <= 16 && kernel.isVectorised())
      break;
  }
  // Up to two vectors per lane a warp takes a row; longer rows take a block
  // that grows until 32 elements per thread do not hold them.
  int64_t threads, perThread;
  if (cols <= 32 * std::max<int64_t>(2 * vector, 8)) {
    int64_t team =
        std::min<int64_t>(32, llvm::PowerOf2Ceil(ceilDiv(cols, vector)));
    perThread = llvm::alignTo(ceilDiv(cols, team), vector);
    threads = 128;
  } else {
    threads = llvm::alignTo(ceilDiv(cols, vector), 32);
    int64_t limit = 256;
    while (threads > limit && limit * 32 < cols && limit < 1024)
      limit *= 2;
    threads = std::min(threads, limit);
    perThread = llvm::alignTo(ceilDiv(cols, threads), vector);
    if (perThread > 32)
      perThread = vector;
  }
  return nn::ScheduleAttr::get(lowered.context(), nn::Skeleton::row, vector,
                               threads, perThread, false);
}

FailureOr<KernelText>
frit::cuda::emitRow(nn::FusionOp fusion, const Lowered &lowered, StringRef name,
                    nn::ScheduleAttr schedule, std::string &failure) {
  RowKernel kernel(fusion, lowered);
  int64_t vector = schedule.getVector(), threads = schedule.getThreads();
  int64_t perThread = schedule.getPerThread();
  if (!kernel.match(failure) || !kernel.build(vector, failure))
    return llvm::failure();
  int64_t team = std::min(teamSize(kernel.cols, perThread, threads), threads);
  KernelText text;
  text.header = "row";
  std::string call =
      ("frit::row<" + name + "_body, " + Twine(team) + ", " + Twine(perThread) +
       ", " + Twine(vector) + ">({" + argumentList(lowered) + "}, " +
       Twine(kernel.rows) + ", " + Twine(kernel.cols) + ");\n")
          .str();
  text.source =
      kernel.print(name) + kernelFunction(name, lowered, threads, call);
  text.grid[0] = ceilDiv(kernel.rows, team <= 32 ? threads / team : 1);
  text.block[0] = threads;
  return text;
}
