//===- EmitRow.cpp - Reductions along rows --------------------------------===//

#include "codegen/cuda/RowKernel.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

Printer RowKernel::printer(size_t count, StringRef element) {
  Printer printer(graph);
  printer.setArguments(lowered.inputElements());
  printer.nameDim(row, "row");
  printer.nameDim(col, "col");
  auto field = [&](size_t slot) {
    return (element + ".a" + Twine(slot)).str();
  };
  SmallVector<bool> taken(slots.size(), false);
  for (const Left &value : left)
    if (value.term < count) {
      printer.define(value.node, field(value.slot));
      taken[value.slot] = true;
    }
  for (auto [i, node] : llvm::enumerate(frontier))
    if (!taken[i])
      printer.define(node, field(i));
  return printer;
}

std::string RowKernel::results(bool ofLanes) const {
  std::string text = "const float (&r)";
  if (isColumns() && ofLanes)
    text += "[" + std::to_string(graph.lanes.width) + "]";
  return text + "[" + std::to_string(reductions.size()) + "]";
}

std::string RowKernel::printElement(bool stored) const {
  std::string text;
  for (auto [i, type] : llvm::enumerate(slots)) {
    StringRef name = valueName(type);
    if (stored && frontier[i]->kind == Node::Kind::load)
      name = storageName(lowered.inputElements()[frontier[i]->argument]);
    text += ("    " + name + " a" + Twine(i) + ";\n").str();
  }
  return text;
}

std::string RowKernel::printLoad() {
  Printer p(graph);
  p.setArguments(lowered.inputElements());
  p.nameDim(row, "row");
  p.nameDim(col, "col");
  p.expect(frontier);
  p.openLanes();
  for (auto [i, node] : llvm::enumerate(frontier)) {
    std::string value = p.value(node);
    p.line(lane() + ".a" + Twine(i) + " = " + value + ";");
  }
  p.closeLanes();
  return "  __device__ void load(Element (&e)[" +
         std::to_string(graph.lanes.width) +
         "], unsigned row, unsigned col) const {\n" + p.str(4) + "  }\n";
}

/// How long rows are kept in shared memory: exactly, in as few bytes as that
/// takes.
std::string RowKernel::printStored() {
  return "  struct Stored {\n" + printElement(/*stored=*/true) +
         "  };\n"
         "  __device__ static Stored toStored(const Element &e) {\n"
         "    Stored s;\n    frit::store(s.a0, e.a0);\n    return s;\n  }\n"
         "  __device__ static Element fromStored(const Stored &s) {\n"
         "    return {frit::load(s.a0)};\n  }\n";
}

std::string RowKernel::printTerm() {
  std::string text =
      "  template <int R>\n  __device__ float term(Element &e, " +
      results(/*ofLanes=*/false) + ", unsigned row, unsigned col) const {\n";
  for (auto [number, term] : llvm::enumerate(terms)) {
    Printer p = printer(number, "e");
    p.setScalar();
    for (auto [i, result] : llvm::enumerate(resultNodes))
      p.define(result, "r[" + std::to_string(i) + "]");
    SmallVector<Node *> roots = {term};
    for (const Left &value : left)
      if (value.term == number)
        roots.push_back(value.node);
    p.expect(roots);
    if (roots.size() == 1) {
      p.line("return " + p.value(term) + ";");
    } else {
      // The element changes only when all has been read.
      std::string stores;
      for (const Left &value : left) {
        if (value.term != number)
          continue;
        std::string name = "left" + std::to_string(value.slot);
        p.line(valueName(value.node->type) + " " + name + " = " +
               p.value(value.node) + ";");
        p.define(value.node, name);
        stores += "e.a" + std::to_string(value.slot) + " = " + name + ";\n";
      }
      p.line("float result = " + p.value(term) + ";");
      p.line(StringRef(stores).rtrim('\n'));
      p.line("return result;");
    }
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

/// The results of the reductions, in a function that has those of all lanes.
static void defineResults(Printer &p, ArrayRef<Node *> nodes, bool ofLanes,
                          bool hasLanes) {
  for (auto [i, result] : llvm::enumerate(nodes))
    p.define(result,
             ((ofLanes ? hasLanes ? "r[v][" : "r[0][" : "r[") + Twine(i) + "]")
                 .str());
}

std::string RowKernel::printStore() {
  Printer p = printer(terms.size(), lane());
  defineResults(p, resultNodes, isColumns(), graph.lanes.width > 1);
  p.expect(storeRoots());
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
         std::to_string(graph.lanes.width) + "], " + results(true) +
         ", unsigned row, unsigned col) const {\n" + p.str(4) +
         indented(stores, 4) + "  }\n";
}

std::string RowKernel::printFinish() {
  Printer p = printer(terms.size(), "");
  defineResults(p, resultNodes, isColumns(), graph.lanes.width > 1);
  SmallVector<Node *> roots;
  for (auto [output, node] : perRow)
    roots.push_back(node);
  p.expect(roots);
  std::string stores;
  if (isColumns()) {
    p.openLanes();
    for (auto [output, node] : perRow) {
      std::string store =
          storeOutput(p, graph, output, elementType(lowered.outputs()[output]),
                      node, "row");
      stores += store.empty() ? "" : store + "\n";
    }
    p.closeLanes();
  } else {
    for (auto [output, node] : perRow) {
      std::string value = p.value(node);
      p.line("frit::store(y" + Twine(output) + "[row], " + value + ");");
    }
  }
  return "  __device__ void finish(" + results(true) +
         ", unsigned row) const {\n" + p.str(4) + indented(stores, 4) + "  }\n";
}

std::string RowKernel::print(StringRef name, bool keeps) {
  if (keeps)
    findLeft();
  std::string text = ("struct " + name + "_body {\n").str() +
                     parameterList(lowered, true) + "\n  struct Element {\n" +
                     printElement(/*stored=*/false) + "  };\n";
  if (!keeps && !isColumns() && !readsOnce() && storedBytes())
    text += printStored();
  text += "  static constexpr int kReductions = " +
          std::to_string(reductions.size()) + ";\n\n";
  return text + printLoad() + printTerm() + printCombine() + printStore() +
         printFinish() + "};\n";
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

/// Values of a row that a thread keeps in registers, and threads that keep the
/// multiprocessors of a large GPU busy.
static constexpr int64_t kKept = 32, kBusy = 132 * 1024;
/// Shared memory of a block that leaves room for another one, and of one alone.
static constexpr int64_t kSharedHalf = 112 << 10, kSharedWhole = 220 << 10;

/// How threads share rows.
struct Sharing {
  int64_t threads, perThread;
};

/// Threads that share a row, given how many of its elements each keeps.
static int64_t teamSize(int64_t cols, int64_t perThread, int64_t threads) {
  int64_t team = ceilDiv(cols, perThread);
  return team <= 32 ? int64_t(llvm::PowerOf2Ceil(team)) : threads;
}

/// As few threads to a row as keep it in registers, for barriers and shuffles
/// cost time, but more where there are few rows.
static Sharing shareRows(const RowKernel &kernel, int64_t vector) {
  int64_t cols = kernel.cols, vectors = ceilDiv(cols, vector);
  int64_t most = std::max<int64_t>(kKept / kernel.elementValues() / vector, 1);
  // Single elements are read by more threads, for a warp to reach over lines.
  if (vector == 1)
    most = std::min<int64_t>(most, 8);
  auto teamFor = [&](int64_t count) {
    int64_t team = ceilDiv(vectors, count);
    return team <= 32 ? int64_t(llvm::PowerOf2Ceil(team))
                      : llvm::alignTo(team, 32);
  };
  int64_t count = most;
  while (count > 1 && kernel.rows * teamFor(count) < kBusy)
    --count;
  int64_t team = teamFor(count), stored = kernel.storedBytes() * cols;
  if (team > 512 && stored && stored <= kSharedWhole && !kernel.readsOnce())
    return {stored <= kSharedHalf ? 512 : 1024, vector};
  if (team > 1024)
    return {1024, vector};
  return {team <= 32 ? 128 : team, ceilDiv(vectors, team) * vector};
}

/// Elements that a thread of a column kernel keeps: none that nobody needs
/// again.
static int64_t mostColumns(const RowKernel &kernel, int64_t vector) {
  if (kernel.readsOnce())
    return 0;
  return std::max<int64_t>(2 * kKept / kernel.elementValues() / vector, 1);
}

/// Threads along the row, where neighbours in a warp are neighbouring rows.
static int64_t columnTeam(int64_t cols, int64_t perThread, int64_t threads) {
  return std::min<int64_t>(threads,
                           llvm::PowerOf2Ceil(ceilDiv(cols, perThread)));
}

static Sharing shareColumns(const RowKernel &kernel, int64_t vector) {
  int64_t most = mostColumns(kernel, vector);
  int64_t bytes = std::min<int64_t>(kernel.narrowestLoad(), 4) * vector;
  int64_t groups = kernel.rows / vector;
  // Blocks reach over 64 bytes of a row where rows are few, else over more.
  int64_t across = ceilDiv(64, bytes);
  while (across < 32 && groups / (2 * across) >= 4 * 132)
    across *= 2;
  if (most == 0) {
    // As few threads to a row as leave enough of them.
    int64_t team = 1;
    while (team < 1024 / across && 4 * team <= kernel.cols &&
           groups * team < kBusy)
      team *= 2;
    int64_t threads = std::max<int64_t>(across * team, 128);
    return {threads, ceilDiv(kernel.cols, team)};
  }
  int64_t team = llvm::PowerOf2Ceil(ceilDiv(kernel.cols, most));
  while (across * team > 512 && across * bytes > 64)
    across /= 2;
  int64_t threads = std::clamp<int64_t>(across * team, 128, 512);
  // Long rows of few columns want threads more than they want blocks.
  if (groups / across < 2 * 132 && kernel.cols >= 16 * team)
    threads = 1024;
  return {threads, ceilDiv(kernel.cols, threads / across)};
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
  bool columns = matched.inner > 1;
  int64_t along = columns ? matched.inner : matched.cols;
  // Few neighbouring rows are spread over the multiprocessors first.
  int64_t widest = 8;
  while (columns && widest > 2 && matched.rows / widest < 16 * 132)
    widest /= 2;
  for (int64_t vector = widest;; vector /= 2) {
    if (along % vector != 0)
      continue;
    RowKernel kernel(fusion, lowered);
    kernel.match(reason);
    if (!kernel.build(vector, reason))
      return nullptr;
    if (vector > 1 &&
        (kernel.narrowestLoad() * vector > 16 || !kernel.isVectorised()))
      continue;
    auto [threads, perThread] =
        columns ? shareColumns(kernel, vector) : shareRows(kernel, vector);
    return nn::ScheduleAttr::get(lowered.context(), nn::Skeleton::row, vector,
                                 threads, perThread, false);
  }
}

static KernelText emitColumns(RowKernel &kernel, const Lowered &lowered,
                              StringRef name, nn::ScheduleAttr schedule) {
  int64_t vector = schedule.getVector(), threads = schedule.getThreads();
  int64_t perThread = schedule.getPerThread();
  int64_t team = columnTeam(kernel.cols, perThread, threads);
  bool keeps = perThread <= mostColumns(kernel, vector);
  KernelText text;
  text.header = "column";
  std::string call =
      ("frit::column<" + name + "_body, " + Twine(team) + ", " +
       Twine(threads / team) + ", " + Twine(keeps ? perThread : 0) + ", " +
       Twine(vector) + ">({" + argumentList(lowered) + "}, " +
       Twine(kernel.rows) + ", " + Twine(kernel.cols) + ");\n")
          .str();
  text.source =
      kernel.print(name, keeps) + kernelFunction(name, lowered, threads, call);
  text.grid[0] = ceilDiv(kernel.rows / vector, threads / team);
  text.block[0] = threads;
  return text;
}

FailureOr<KernelText>
frit::cuda::emitRow(nn::FusionOp fusion, const Lowered &lowered, StringRef name,
                    nn::ScheduleAttr schedule, std::string &failure) {
  RowKernel kernel(fusion, lowered);
  int64_t vector = schedule.getVector(), threads = schedule.getThreads();
  int64_t perThread = schedule.getPerThread();
  if (!kernel.match(failure) || !kernel.build(vector, failure))
    return llvm::failure();
  if (kernel.inner > 1)
    return emitColumns(kernel, lowered, name, schedule);
  int64_t team = std::min(teamSize(kernel.cols, perThread, threads), threads);
  bool keeps = team * perThread >= kernel.cols;
  int64_t stored = kernel.storedBytes() * kernel.cols;
  bool shares =
      !keeps && stored && stored <= kSharedWhole && !kernel.readsOnce();
  KernelText text;
  text.header = "row";
  std::string call =
      ("frit::row" + StringRef(shares ? "Shared<" : "<") + name + "_body, " +
       Twine(team) + ", " + (shares ? "" : Twine(perThread) + ", ") +
       Twine(vector) + ">({" + argumentList(lowered) + "}, " +
       Twine(kernel.rows) + ", " + Twine(kernel.cols) + ");\n")
          .str();
  text.source =
      kernel.print(name, keeps) + kernelFunction(name, lowered, threads, call);
  text.grid[0] = ceilDiv(kernel.rows, team <= 32 ? threads / team : 1);
  text.block[0] = threads;
  text.sharedBytes = shares ? llvm::alignTo(stored, 16) : 0;
  return text;
}
