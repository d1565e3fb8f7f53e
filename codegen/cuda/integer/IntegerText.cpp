//===- IntegerText.cpp - The text of a product of bytes -------------------===//

#include "codegen/cuda/integer/IntegerText.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Neighbouring codes of a thread that are an operand of the next product.
static constexpr int64_t kChained = 4;

namespace {
/// The text of what follows the sums.
class EndText {
public:
  EndText(const IntegerProduct &product, const LinalgFusion &lowered,
          int64_t vector)
      : lowered(lowered), graph(lowered.context()), vector(vector) {
    row = graph.space.addDim(product.pixels());
    col = graph.space.addDim(product.k);
    place = graph.space.add(graph.space.mul(row, product.k), col);
    graph.setLane(col, vector);
    graph.followsSums = true;
    graph.isPrepared = [this](const Node *node) { return isOfColumn(node); };
    Type type = IntegerType::get(lowered.context(), 32);
    if (product.hasFloats())
      type = Float32Type::get(lowered.context());
    hasFloats = product.hasFloats();
    sumType = hasFloats ? "float" : "int";
    Node *sum = graph.given(type, vector > 1 ? "sum[v]" : "sum[0]",
                            vector > 1 ? kLane : 0);
    nn::QuantizedConvOp op = product.op;
    graph.give(lowered[op.getY()], [sum](ArrayRef<AffineExpr>) { return sum; });
    if (Value codes = product.isChain ? Value() : product.firstCodes) {
      Node *kept = graph.given(IntegerType::get(lowered.context(), 8),
                               "frit::byteAt(elements.first.words, v)", kLane);
      graph.give(lowered[codes], [kept](ArrayRef<AffineExpr>) { return kept; });
      keeps = true;
    }
    count = product.k;
    boxed = product.boxed;
    mayStoreBoxes = product.storesBoxes;
  }

  /// Returns the struct Columns and the functions of integer_gemm.cuh.
  nn::Match<std::string> print();
  /// Returns those of a product that becomes `codes` (byte_pair.cuh).
  nn::Match<std::string> printFirst(Value codes);
  /// Whether what is loaded for each sum may come through boxes.
  bool readsBoxes = false;
  /// Whether the result may be stored through boxes.
  bool storesBoxes = false;
  /// Bytes that are read for a column, or 0 if they are not all words.
  int64_t columnBytes = 0;

private:
  bool dependsOn(const Node *load, AffineExpr dim) const {
    return load->index.isFunctionOfDim(cast<AffineDimExpr>(dim).getPosition());
  }
  /// Returns the loads of which each column has one value, or each sum.
  SmallVector<Node *> loadsOf(ArrayRef<Node *> nodes, bool ofSums) const {
    return llvm::filter_to_vector(nodes, [&](const Node *node) {
      return node->kind == Node::Kind::load && dependsOn(node, col) &&
             dependsOn(node, row) == ofSums && !hasSymbol(node->index);
    });
  }
  /// Returns whether a value depends on the column alone, and on memory.
  bool isOfColumn(const Node *node) const {
    if (node->kind == Node::Kind::load)
      return dependsOn(node, col) && !dependsOn(node, row) &&
             !hasSymbol(node->index);
    auto isOther = [&](const Node *operand) {
      return operand->kind != Node::Kind::constant && !isOfColumn(operand);
    };
    return node->kind == Node::Kind::operation && node->type.isF32() &&
           llvm::none_of(node->operands, isOther) &&
           llvm::any_of(node->operands, [&](const Node *operand) {
             return isOfColumn(operand);
           });
  }
  /// Returns the values of columns that what depends on sums reads.
  SmallVector<Node *> valuesOfColumns(ArrayRef<Node *> nodes,
                                      ArrayRef<Node *> roots) const {
    llvm::SetVector<Node *> values;
    for (Node *node : roots)
      if (isOfColumn(node))
        values.insert(node);
    for (Node *node : nodes)
      if (!isOfColumn(node))
        for (Node *operand : graph.operandsOf(node))
          if (isOfColumn(operand))
            values.insert(operand);
    return values.takeVector();
  }
  /// Returns the loads of which each row has one value, of floats: scales of
  /// rows.
  SmallVector<Node *> loadsOfRows(ArrayRef<Node *> nodes) const {
    return llvm::filter_to_vector(nodes, [&](const Node *node) {
      return hasFloats && node->kind == Node::Kind::load &&
             dependsOn(node, row) && !dependsOn(node, col) &&
             !hasSymbol(node->index);
    });
  }
  static bool hasSymbol(AffineExpr index) {
    bool found = false;
    index.walk([&](AffineExpr part) { found |= isa<AffineSymbolExpr>(part); });
    return found;
  }
  /// Returns whether a thread's elements are loaded together and converted
  /// later.
  bool keepsOwn(const Node *load) const {
    if (load->kind != Node::Kind::load)
      return false;
    Type element = lowered.inputElements()[load->argument];
    return vector > 1 && load->pattern.use == LaneUse::contiguous &&
           (element.isF16() || element.isBF16() || element.isF32() ||
            keepsWords(load));
  }
  /// Returns whether four of these elements are a word.
  bool keepsWords(const Node *load) const {
    return load->kind == Node::Kind::load && load->type.isInteger(8) &&
           vector % 4 == 0 && load->pattern.use == LaneUse::contiguous;
  }
  std::string valueOf(const Node *load, const Twine &field) const;
  bool isBoxed(const Node *load);
  bool isStoredBoxed() const;
  std::string printBoxed(const Node *load);
  std::string printAllLoads(ArrayRef<Node *> roots, Printer &printer);
  std::string printLoads(ArrayRef<Node *> loads, ArrayRef<Node *> ofRows,
                         StringRef type, StringRef name, StringRef parameters);

  const LinalgFusion &lowered;
  Graph graph;
  int64_t vector, count;
  std::optional<unsigned> boxed;
  bool mayStoreBoxes;
  bool hasFloats;
  /// Whether elements have codes of the product before.
  bool keeps = false;
  std::string sumType;
  AffineExpr row, col, place;
};
} // namespace

/// Returns the value of a load in the open loop over lanes.
std::string EndText::valueOf(const Node *load, const Twine &field) const {
  if (!keepsOwn(load))
    return (field + (vector > 1 ? "[v]" : "[0]")).str();
  if (keepsWords(load))
    return ("frit::byteAt(" + field + ", v)").str();
  Type element = lowered.inputElements()[load->argument];
  return (element.isF32() ? field + "[v]" : "frit::load(" + field + "[v])")
      .str();
}

/// Prints a struct of loads and the function that loads it; field i has the
/// values of load i, and that of a row is one value.
std::string EndText::printLoads(ArrayRef<Node *> loads, ArrayRef<Node *> ofRows,
                                StringRef type, StringRef name,
                                StringRef parameters) {
  std::string fields, lanes = std::to_string(vector);
  Printer printer(graph);
  printer.setArguments(lowered.inputElements());
  printer.nameDim(row, "row");
  printer.nameDim(col, "col");
  SmallVector<Node *> all(loads);
  llvm::append_range(all, ofRows);
  printer.expect(all);
  for (auto [i, load] : llvm::enumerate(ofRows)) {
    std::string field = "ofRow" + std::to_string(i);
    fields += ("    " + valueName(load->type) + " " + field + ";\n").str();
    printer.line(
        (name + "." + field + " = " + printer.value(load) + ";").str());
  }
  // Vectors are kept as they are in memory: a conversion would wait for them.
  for (auto [i, load] : llvm::enumerate(loads)) {
    std::string field = "of" + std::to_string(i);
    if (!keepsOwn(load))
      continue;
    StringRef storage = storageName(lowered.inputElements()[load->argument]);
    fields +=
        keepsWords(load)
            ? "    uint32_t " + field + "[" + std::to_string(vector / 4) +
                  "];\n"
            : ("    " + storage + " " + field + "[" + lanes + "];\n").str();
    printer.line((keepsWords(load) ? "frit::loadWords(" : "frit::loadOwn(") +
                 name + "." + field + ", x" + Twine(load->argument) + " + " +
                 printer.place(load) + ");");
  }
  printer.openLanes();
  for (auto [i, load] : llvm::enumerate(loads)) {
    std::string field = "of" + std::to_string(i);
    if (keepsOwn(load))
      continue;
    fields +=
        ("    " + valueName(load->type) + " " + field + "[" + lanes + "];\n")
            .str();
    printer.line(name + "." + field + (vector > 1 ? "[v] = " : "[0] = ") +
                 printer.value(load) + ";");
  }
  printer.closeLanes();
  if (keeps && type == "Elements")
    fields += "    frit::Codes<" + lanes + "> first = {};\n";
  return ("  struct " + type + " {\n" + fields + "  };\n  __device__ " + type +
          " " + name + "(" + parameters + ") const {\n    " + type + " " +
          name + ";\n" + printer.str(4) + "    return " + name + ";\n  }\n")
      .str();
}

/// Returns whether a load of each sum's own may come through boxes.
bool EndText::isBoxed(const Node *load) {
  Bounds apart = graph.space.range(
      graph.space.add(load->index, graph.space.mul(place, -1)));
  return boxed == load->argument && vector == 8 && keepsOwn(load) &&
         apart.low == 0 && apart.high == 0;
}

/// Returns whether the result may be stored through boxes.
bool EndText::isStoredBoxed() const {
  return mayStoreBoxes && lowered.outputs().size() == 1 && vector == 8 &&
         !lowered.destination(0) &&
         storageBytes(elementType(lowered.outputs().front())) <= 2;
}

/// Prints the function that reads the only load of sums from a box.
std::string EndText::printBoxed(const Node *load) {
  readsBoxes = true;
  Type element = lowered.inputElements()[load->argument];
  StringRef type = storageName(element);
  std::string from = ("reinterpret_cast<const " + type + " *>(at)").str();
  return constantsText("int", {{"boxed", storageBytes(element)}}) +
         "  __device__ Elements boxedElements(const unsigned char *at) const "
         "{\n    Elements elements;\n    " +
         (keepsWords(load) ? "frit::loadWords(" : "frit::loadOwn(") +
         "elements.of0, " + from + ");\n    return elements;\n  }\n";
}

/// Prints what the end of `roots` loads; defines its names in `printer`.
std::string EndText::printAllLoads(ArrayRef<Node *> roots, Printer &printer) {
  SmallVector<Node *> nodes = Graph::reachable(roots, graph);
  SmallVector<Node *> ofColumns = valuesOfColumns(nodes, roots);
  if (llvm::all_of(ofColumns, [](const Node *node) {
        return node->type.isF32() || node->type.isInteger(32);
      }))
    columnBytes = 4 * ofColumns.size();
  SmallVector<Node *> ofSums = loadsOf(nodes, /*ofSums=*/true);
  SmallVector<Node *> ofRows = loadsOfRows(nodes);
  std::string loads =
      printLoads(ofColumns, {}, "Columns", "columns", "unsigned col") +
      printLoads(ofSums, ofRows, "Elements", "elements",
                 "unsigned row, unsigned col");
  if (ofSums.size() == 1 && ofRows.empty() && isBoxed(ofSums.front()))
    loads += printBoxed(ofSums.front());
  printer.setArguments(lowered.inputElements());
  printer.nameDim(row, "row");
  printer.nameDim(col, "col");
  auto define = [&](ArrayRef<Node *> fields, StringRef name) {
    for (auto [i, load] : llvm::enumerate(fields))
      printer.define(load, valueOf(load, name + ".of" + Twine(i)));
  };
  define(ofColumns, "columns");
  define(ofSums, "elements");
  for (auto [i, load] : llvm::enumerate(ofRows))
    printer.define(load, "elements.ofRow" + std::to_string(i));
  printer.expect(roots);
  return loads;
}

nn::Match<std::string> EndText::printFirst(Value codes) {
  Node *root = graph.storedByte(graph.elementAt(lowered[codes], place));
  if (!graph.failure().empty())
    return nn::Mismatch(graph.failure());
  Printer printer(graph);
  std::string loads = printAllLoads(root, printer);
  printer.openLanes();
  std::string store =
      storeOutput(printer, graph, 0, elementType(lowered[codes]), root,
                  /*offset=*/"", "", "true");
  printer.closeLanes();
  std::string lanes = std::to_string(vector);
  return loads + "  __device__ void keep(const " + sumType + " (&sum)[" +
         lanes +
         "], const Columns &columns,\n"
         "                       const Elements &elements, unsigned row,\n"
         "                       unsigned col, frit::Codes<" +
         lanes + "> &to) const {\n" + printer.str(4) + "    " + store +
         "\n  }\n";
}

nn::Match<std::string> EndText::print() {
  SmallVector<Node *> roots;
  SmallVector<std::pair<unsigned, Node *>> outputs;
  for (auto [number, output] : llvm::enumerate(lowered.outputs())) {
    roots.push_back(graph.storedByte(graph.elementAt(output, place)));
    outputs.push_back({number, roots.back()});
  }
  if (!graph.failure().empty())
    return nn::Mismatch(graph.failure());
  Printer printer(graph);
  std::string loads = printAllLoads(roots, printer);
  std::string parameters =
      "const " + sumType + " (&sum)[" + std::to_string(vector) +
      "], const Columns &columns,\n"
      "                        const Elements &elements, unsigned row,\n"
      "                        unsigned col, bool isInside";
  std::string place = "row * " + std::to_string(count) + " + col";
  storesBoxes = isStoredBoxed();
  if (!storesBoxes)
    return loads + "  __device__ void store(" + parameters +
           ") const {\n    const unsigned at = " + place + ";\n" +
           storeOutputs(printer, graph, lowered, outputs, "at", "isInside") +
           "  }\n";
  std::string type = storageName(elementType(lowered.outputs().front())).str();
  return loads + "  using Stored = " + type + ";\n  __device__ void storeTo(" +
         parameters + ", Stored *to) const {\n" +
         storeOutputs(printer, graph, lowered, outputs, "", "isInside") +
         "  }\n  __device__ void store(" + parameters +
         ") const {\n    storeTo(sum, columns, elements, row, col, isInside, "
         "y0 + (" +
         place + "));\n  }\n";
}

/// Prints the sizes and types of a product.
static std::string printSizes(const IntegerProduct &product, bool early) {
  auto ints = [](ArrayRef<std::pair<StringRef, int64_t>> constants) {
    return constantsText("int", constants);
  };
  std::string types =
      product.hasFloats()
          ? "  static constexpr frit::Float8 floatX = frit::Float8::" +
                product.floatX.str() +
                ", floatW = frit::Float8::" + product.floatW.str() + ";\n" +
                constantsText("bool", {{"early", early}})
          : constantsText("bool", {{"signedX", product.signedX},
                                   {"signedW", product.signedW},
                                   {"early", early}});
  return ints({{"n", product.n},
               {"h", product.h},
               {"w", product.w},
               {"c", product.c}}) +
         ints({{"k", product.k},
               {"r", product.r},
               {"s", product.s},
               {"p", product.p},
               {"q", product.q}}) +
         ints({{"strideH", product.strideH},
               {"strideW", product.strideW},
               {"dilationH", product.dilationH},
               {"dilationW", product.dilationW}}) +
         ints({{"padTop", product.padTop}, {"padLeft", product.padLeft}}) +
         types;
}

nn::Match<IntegerEnd> frit::cuda::printEnd(const IntegerProduct &product,
                                           const LinalgFusion &lowered,
                                           int64_t neighbours) {
  int64_t vector = neighbours;
  while (product.k % vector)
    vector /= 2;
  EndText end(product, lowered, vector);
  auto text = end.print();
  if (!text)
    return text.mismatch();
  IntegerEnd printed = {vector, end.readsBoxes, end.storesBoxes, *text};
  printed.columnBytes = end.columnBytes;
  if (!product.first)
    return printed;
  if (vector != neighbours)
    return nn::Mismatch("the filters of its two products are no multiple of " +
                        Twine(neighbours));
  // A chain's codes are operands, of which a thread has fewer neighbours.
  int64_t kept = product.isChain ? kChained : vector;
  EndText ofFirst(describeFirst(product), lowered, kept);
  auto first = ofFirst.printFirst(product.firstCodes);
  if (!first)
    return first.mismatch();
  printed.firstColumnBytes = ofFirst.columnBytes;
  printed.first = *first;
  return printed;
}

static std::string printStruct(const IntegerProduct &product,
                               const IntegerEnd &end,
                               const LinalgFusion &lowered, StringRef name,
                               StringRef tile) {
  auto isConstant = [&](nn::QuantizedConvOp conv) {
    auto w = cast<BlockArgument>(conv.getW()).getArgNumber();
    return llvm::is_contained(lowered.constantInputs(), int64_t(w));
  };
  bool early =
      isConstant(product.op) && (!product.first || isConstant(product.first));
  std::string text = ("struct " + name + "_product {\n").str() +
                     parameterList(lowered, /*asFields=*/true) +
                     printSizes(product, early) + tile.str() +
                     constantsText("int", {{"kVector", end.vector}}) + "\n" +
                     end.text + "};\n";
  if (product.first)
    text +=
        ("struct " + name + "_first : " + name + "_product {\n").str() +
        printSizes(describeFirst(product), early) +
        (product.isChain ? constantsText("int", {{"kVector", kChained}}) : "") +
        "\n" + end.first + "};\n";
  return text;
}

void frit::cuda::printProduct(KernelText &kernel, const IntegerProduct &product,
                              const IntegerEnd &end,
                              const LinalgFusion &lowered, StringRef name,
                              StringRef tile, KernelFrame frame,
                              StringRef call) {
  frame.tensorMaps = kernel.tensorMaps.size();
  frame.wait = PdlWait::inSkeleton;
  kernel.source =
      printStruct(product, end, lowered, name, tile) +
      kernelFunction(name, lowered, frame, startText(lowered) + call.str());
  kernel.block[0] = frame.threads;
}

std::string frit::cuda::callOrFloor(StringRef function, StringRef floor) {
  return ("#ifdef FRIT_HAS_WGMMA\n" + function + ");\n#else\n" + floor +
          ");\n#endif\n")
      .str();
}

std::string frit::cuda::parameterOf(Value operand) {
  return "x" + std::to_string(cast<BlockArgument>(operand).getArgNumber());
}

std::string frit::cuda::zeroParameters(const IntegerProduct &product) {
  nn::QuantizedConvOp conv = product.op;
  return product.hasFloats() ? ""
                             : ", " + parameterOf(conv.getXZero()) + ", " +
                                   parameterOf(conv.getWZero());
}
