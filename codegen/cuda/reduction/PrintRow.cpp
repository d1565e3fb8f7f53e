//===- PrintRow.cpp - Reductions along rows -------------------------------===//

#include "codegen/cuda/reduction/RowKernel.h"

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
  for (const CachedValue &value : cached)
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

std::string RowKernel::position() const {
  return isSkewed() ? "unsigned row, int col" : "unsigned row, unsigned col";
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
         std::to_string(graph.lanes.width) + "], " + position() +
         ") const {\n" + p.str(4) + "  }\n";
}

/// Prints the type that holds a row's elements in shared memory, in the fewest
/// bytes without loss, and its conversions.
std::string RowKernel::printStored() {
  std::string text = "  struct Stored {\n" + printElement(/*stored=*/true) +
                     "  };\n"
                     "  __device__ static Element fromStored(const Stored &s) "
                     "{\n    return {frit::load(s.a0)};\n  }\n";
  if (!isCopied())
    return text + "  __device__ static Stored toStored(const Element &e) {\n"
                  "    Stored s;\n    frit::store(s.a0, e.a0);\n"
                  "    return s;\n  }\n";
  Printer p(graph);
  p.setArguments(lowered.inputElements());
  p.nameDim(row, "row");
  p.nameDim(col, "col");
  p.expect(frontier);
  p.line("return reinterpret_cast<const Stored *>(x" +
         Twine(frontier[0]->argument) + " + " + p.place(frontier[0]) + ");");
  return text +
         "  __device__ const Stored *source(unsigned row, unsigned col) const "
         "{\n" +
         p.str(4) + "  }\n";
}

std::string RowKernel::printTerm() {
  std::string text =
      "  template <int R>\n  __device__ float term(Element &e, " +
      results(/*ofLanes=*/false) + ", " + position() + ") const {\n";
  for (auto [number, term] : llvm::enumerate(terms)) {
    Printer p = printer(number, "e");
    p.setScalar();
    for (auto [i, result] : llvm::enumerate(resultNodes))
      p.define(result, "r[" + std::to_string(i) + "]");
    // Loads without a condition, so that the compiler can hoist a row's value
    // out of the loop over the row.
    for (auto [i, load] : llvm::enumerate(rowLoads(term))) {
      std::string name = "given" + std::to_string(i);
      p.line(valueName(load->type) + " " + name + " = " + p.value(load) + ";");
      p.define(load, name);
    }
    SmallVector<Node *> roots = {term};
    for (const CachedValue &value : cached)
      if (value.term == number)
        roots.push_back(value.node);
    p.expect(roots);
    if (roots.size() == 1) {
      p.line("return " + p.value(term) + ";");
    } else {
      // Store into the element only after everything has been read from it.
      std::string stores;
      for (const CachedValue &value : cached) {
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

/// Prints a chain of conditions on R that selects each reduction's text.
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

/// Names the results of the reductions; with `ofLanes`, one for each lane.
static void defineResults(Printer &p, ArrayRef<Node *> nodes, bool ofLanes,
                          bool hasLanes) {
  for (auto [i, result] : llvm::enumerate(nodes))
    p.define(result,
             ((ofLanes ? hasLanes ? "r[v][" : "r[0][" : "r[") + Twine(i) + "]")
                 .str());
}

/// Prints the pass of each reduction, if several share one.
std::string RowKernel::printPasses() const {
  SmallVector<int> passes = passesOfTerms();
  if (isColumns() || passes.back() + 1 == int(passes.size()))
    return "";
  return "  static constexpr int kPasses[kReductions] = {" +
         llvm::join(llvm::map_range(
                        passes, [](int pass) { return std::to_string(pass); }),
                    ", ") +
         "};\n";
}

/// Prints the row's values that stores use.
std::string RowKernel::printRowValues() {
  if (rowValues.empty())
    return "";
  Printer p = printer(terms.size(), "");
  defineResults(p, resultNodes, /*ofLanes=*/false, /*hasLanes=*/false);
  p.expect(rowValues);
  std::string fields, list;
  for (auto [i, node] : llvm::enumerate(rowValues)) {
    fields += ("    " + valueName(node->type) + " a" + Twine(i) + ";\n").str();
    list += (i ? ", " : "") + p.value(node);
  }
  p.line("return {" + list + "};");
  return "  struct RowValues {\n" + fields +
         "  };\n  __device__ RowValues valuesOf(" + results(false) +
         ", unsigned row) const {\n" + p.str(4) + "  }\n";
}

std::string RowKernel::printStore() {
  Printer p = printer(terms.size(), lane());
  defineResults(p, resultNodes, isColumns(), graph.lanes.width > 1);
  for (auto [i, node] : llvm::enumerate(rowValues))
    p.define(node, "values.a" + std::to_string(i));
  p.expect(storedValues());
  std::string offset =
      graph.space
          .print(place,
                 [&](AffineExpr leaf, bool wide, bool) -> IndexText {
                   std::string name = leaf == row ? "row" : "col";
                   return {wide ? "int64_t(" + name + ")" : name, kPrimary};
                 })
          .text;
  StringRef head = isSkewed() ? "  template <class Own>\n" : "";
  StringRef own = isSkewed() ? ", const Own &own" : "";
  return (head + "  __device__ void store(const Element (&e)[" +
          Twine(graph.lanes.width) + "], " + results(true) + ", " + position() +
          own + rowValuesParameter() + ") const {\n" +
          storeOutputs(p, graph, lowered, perColumn, offset) + "  }\n")
      .str();
}

std::string RowKernel::printFinish() {
  Printer p = printer(terms.size(), "");
  defineResults(p, resultNodes, isColumns(), graph.lanes.width > 1);
  SmallVector<Node *> roots;
  for (auto [output, node] : perRow)
    roots.push_back(node);
  p.expect(roots);
  std::string body;
  if (isColumns()) {
    body = storeOutputs(p, graph, lowered, perRow, "row");
  } else {
    for (auto [output, node] : perRow) {
      std::string value = p.value(node);
      p.line("frit::store(y" + Twine(output) + "[row], " + value + ");");
    }
    body = p.str(4);
  }
  return "  __device__ void finish(" + results(true) +
         ", unsigned row) const {\n" + body + "  }\n";
}

/// Prints the terms of column sums.
std::string RowKernel::printAdd() {
  Printer p = printer(terms.size(), lane());
  defineResults(p, resultNodes, /*ofLanes=*/false, /*hasLanes=*/false);
  for (auto [i, node] : llvm::enumerate(rowValues))
    p.define(node, "values.a" + std::to_string(i));
  p.expect(sumTerms);
  p.openLanes();
  for (auto [i, term] : llvm::enumerate(sumTerms)) {
    std::string value = p.value(term);
    p.line("sums[" + Twine(i) + "][v] += " + value + ";");
  }
  p.closeLanes();
  std::string width = std::to_string(graph.lanes.width);
  return "  static constexpr int kSums = " + std::to_string(sumTerms.size()) +
         ";\n  __device__ void add(const Element (&e)[" + width + "], " +
         results(false) + ", unsigned row, unsigned col" +
         rowValuesParameter() + ", float (&sums)[kSums][" + width +
         "]) const {\n" + p.str(4) + "  }\n";
}

std::string RowKernel::printStoreSum() const {
  std::string text = "  template <int S>\n  __device__ void storeSum(float x, "
                     "unsigned part, unsigned col) const {\n";
  for (auto [i, sum] : llvm::enumerate(columnSums))
    for (size_t output = 0; output < lowered.outputs().size(); ++output)
      if (yielded(output).getDefiningOp() == sum)
        text += ("    if constexpr (S == " + Twine(i) + ")\n      y" +
                 Twine(output) + "[part * " + Twine(cols) + " + col] = x;\n")
                    .str();
  return text + "  }\n";
}

std::string RowKernel::printWithSums(StringRef name) {
  findRowValues();
  return ("struct " + name + "_body {\n").str() + parameterList(lowered, true) +
         "\n  struct Element {\n" + printElement(/*stored=*/false) + "  };\n" +
         printStagedInputs() + "  static constexpr int kReductions = " +
         std::to_string(reductions.size()) + ";\n" + printPasses() + "\n" +
         printLoad() + printTerm() + printCombine() + printRowValues() +
         printAdd() + printStoreSum() + printStore() + printFinish() + "};\n";
}

std::string RowKernel::print(StringRef name, bool keeps, bool staged) {
  if (keeps)
    findCachedValues();
  else if (!isColumns())
    findRowValues();
  std::string text = ("struct " + name + "_body {\n").str() +
                     parameterList(lowered, true) + "\n  struct Element {\n" +
                     printElement(/*stored=*/false) + "  };\n";
  if (!keeps && !readsOnce() && storedBytes())
    text += printStored();
  if (staged)
    text += printStaging();
  text += "  static constexpr int kReductions = " +
          std::to_string(reductions.size()) + ";\n" + printPasses() + "\n";
  return text + printLoad() + printTerm() + printCombine() + printRowValues() +
         printStore() + printFinish() + "};\n";
}
