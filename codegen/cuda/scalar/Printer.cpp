//===- Printer.cpp - Graphs of scalars as C++ statements ------------------===//

#include "codegen/cuda/scalar/Printer.h"

using namespace mlir;
using namespace frit::cuda;

/// Length above which an expression gets a name, to keep lines readable.
static constexpr size_t kLongExpression = 72;

/// Maximum uses of long functions in a kernel that are inlined; with more, all
/// are called. An inlined use, unrolled over lanes, takes several KiB of code
/// and up to 50 ms in NVRTC. Kernels of the models in test/models have one.
static constexpr unsigned kMostCopies = 16;

std::string frit::cuda::indented(StringRef text, int spaces) {
  std::string result, pad(spaces, ' ');
  for (StringRef line : llvm::split(text.rtrim('\n'), '\n'))
    // Preprocessor lines are not indented.
    result +=
        (line.empty() || line.starts_with("#") ? "" : pad) + line.str() + "\n";
  return text.empty() ? "" : result;
}

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

void Printer::append(size_t scope, const Twine &text) {
  scopes[scope].text += text.str() + "\n";
}

void Printer::pushScope(Dependence bits) {
  scopes.emplace_back();
  scopes.back().bits = bits;
}

std::string Printer::popScope() {
  for (Node *node : scopes.back().named)
    names.erase(node);
  std::string text = std::move(scopes.back().text);
  scopes.pop_back();
  return text;
}

size_t Printer::scopeOf(Dependence dependence) const {
  for (size_t i = scopes.size(); i-- > 1;)
    if (scopes[i].bits & dependence)
      return i;
  return 0;
}

void Printer::openLanes() {
  if (graph.lanes.width > 1)
    pushScope(kLane);
}

void Printer::closeLanes() {
  if (graph.lanes.width == 1)
    return;
  std::string body = popScope();
  if (body.empty())
    return;
  line(laneLoop(body));
}

std::string Printer::laneLoop(StringRef body) const {
  return "#pragma unroll\nfor (int v = 0; v < " +
         std::to_string(graph.lanes.width) + "; ++v) {\n" + indented(body, 2) +
         "}";
}

std::string Printer::str(int indent) const {
  return indented(scopes[0].text, indent);
}

std::string Printer::fresh(StringRef prefix) {
  return (prefix + Twine(counters[prefix]++)).str();
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

void Printer::nameDim(AffineExpr dim, StringRef text) {
  dims[dim] = text.str();
  if (dim == graph.lanes.lane && graph.lanes.group) {
    dims[graph.lanes.group] = (text + " / " + Twine(graph.lanes.width)).str();
    dims[graph.lanes.place] = "v";
  }
}

void Printer::define(Node *node, StringRef text) {
  names[node] = {text.str(), kPrimary};
}

void Printer::expect(ArrayRef<Node *> roots) {
  SmallVector<Node *> work;
  auto use = [&](Node *node) {
    if (uses[node]++ == 0 && !names.contains(node))
      work.push_back(node);
  };
  for (Node *root : roots)
    use(root);
  unsigned functions = 0;
  while (!work.empty()) {
    Node *node = work.pop_back_val();
    functions +=
        node->kind == Node::Kind::operation && isLongFunction(*node->form);
    const int product = fusedProduct(node);
    if (product >= 0)
      fused[node] = product;
    for (auto [i, operand] : llvm::enumerate(graph.operandsOf(node)))
      if (int(i) == product)
        llvm::for_each(operand->operands, use);
      else
        use(operand);
  }
  callsFunctions |= functions > kMostCopies;
}

std::string Printer::atLeast(const Text &text, int precedence) {
  return text.precedence < precedence ? "(" + text.text + ")" : text.text;
}

std::string Printer::value(Node *node, int precedence) {
  return atLeast(text(node, scopes.size() - 1), precedence);
}

Printer::Text Printer::text(Node *node, size_t user) {
  if (auto found = names.find(node); found != names.end())
    return found->second;
  size_t scope = scopeOf(node->dependence);
  bool isLoop = node->kind == Node::Kind::loop;
  Text result = compose(node, scope);
  if (node->kind == Node::Kind::constant || node->kind == Node::Kind::given ||
      (node->index && isa<AffineConstantExpr>(node->index) &&
       node->kind == Node::Kind::index))
    return result;
  bool named = isLoop || isVectorLoad(node);
  if (!named) {
    if (uses[node] <= 1 && scope == user &&
        result.text.size() < kLongExpression)
      return result;
    std::string name = fresh("v");
    append(scope,
           valueName(node->type) + " " + name + " = " + result.text + ";");
    result = {name, kPrimary};
  }
  names[node] = result;
  scopes[scope].named.push_back(node);
  return result;
}

Printer::Text Printer::compose(Node *node, size_t scope) {
  switch (node->kind) {
  case Node::Kind::constant: {
    std::string text = literal(node->value, node->type);
    return {text, text.front() == '-' ? kUnary : kPrimary};
  }
  case Node::Kind::given:
    return {node->text, kPrimary};
  case Node::Kind::accumulator:
    llvm_unreachable("an accumulator outside of its loop");
  case Node::Kind::index:
    return printIndex(node, /*asValue=*/true, scope);
  case Node::Kind::loop:
    return loop(node, scope);
  case Node::Kind::operation:
    return composeOperation(node, scope);
  case Node::Kind::load:
    break;
  }
  if (isVectorLoad(node))
    return vectorLoad(node);
  std::string element = "x" + std::to_string(node->argument) + "[" +
                        printIndex(node, /*asValue=*/false, scope).text + "]";
  if (storageName(storage[node->argument]) != valueName(node->type))
    element = "frit::load(" + element + ")";
  return {element, kPrimary};
}

//===----------------------------------------------------------------------===//
// Indices and loads
//===----------------------------------------------------------------------===//

/// Prints an index: as an array subscript, where any integer type will do, or
/// `asValue` in the node's signed type, so that comparisons and differences are
/// right.
Printer::Text Printer::printIndex(const Node *node, bool asValue, size_t scope,
                                  bool firstLane) {
  // For contiguous lanes the index itself is shortest. For others, the form by
  // group and place simplifies more: the place is a literal in the unrolled
  // loop.
  bool isLane = graph.lanes.width > 1 && !scalarLanes &&
                node->pattern.use != LaneUse::uniform;
  AffineExpr index = node->index;
  if (isLane && node->pattern.use != LaneUse::contiguous)
    index = node->pattern.index;
  bool onlyInt = false;
  auto leaf = [&](AffineExpr e, bool wide, bool isSigned) -> IndexText {
    if (isa<AffineSymbolExpr>(e)) {
      Node *symbol = graph.symbolNode(e);
      Text t = text(symbol, scope);
      onlyInt = true;
      if (wide && !symbol->type.isInteger(64))
        return {"int64_t(" + t.text + ")", kPrimary};
      return {t.text, t.precedence};
    }
    std::string name = dims.lookup(e);
    int precedence = graph.lanes.group == e ? kProduct : kPrimary;
    bool isCounter = name.starts_with("k") || graph.lanes.place == e;
    if (e == graph.lanes.lane && graph.lanes.group && isLane && !firstLane) {
      name += " + v";
      precedence = kSum;
    }
    if (wide)
      return {"int64_t(" + name + ")", kPrimary};
    onlyInt |= isCounter;
    if (isSigned && !isCounter)
      return {"int(" + name + ")", kPrimary};
    return {name, precedence};
  };
  IndexText printed = graph.space.print(index, leaf);
  bool wide = graph.space.isWide(index);
  if (!asValue)
    return {printed.text, printed.precedence};
  bool isConstant = isa<AffineConstantExpr>(index);
  bool isSigned = wide || graph.space.isSigned(index);
  bool isLeaf = isa<AffineDimExpr, AffineSymbolExpr>(index);
  Type type = node->type;
  if (isConstant ||
      (type.isInteger(32) && !wide && (isSigned || (isLeaf && onlyInt))) ||
      (type.isInteger(64) && wide))
    return {printed.text, printed.precedence};
  return {(valueName(type) + "(" + printed.text + ")").str(), kPrimary};
}

bool Printer::isVectorLoad(const Node *node) const {
  return node->kind == Node::Kind::load && graph.lanes.width > 1 &&
         !scalarLanes && node->pattern.use == LaneUse::contiguous &&
         scopeOf(node->dependence & ~kLane) < scopeOf(kLane);
}

Printer::Text Printer::vectorLoad(Node *node) {
  size_t scope = scopeOf(node->dependence & ~kLane);
  std::string index =
      printIndex(node, /*asValue=*/false, scope, /*firstLane=*/true).text;
  std::string name = fresh("a");
  if (keepsWords) {
    append(scope, "uint32_t " + name + "[" + Twine(graph.lanes.width / 4) +
                      "];\nfrit::loadWords(" + name + ", x" +
                      Twine(node->argument) + " + " + index + ");");
    return {name, kPrimary};
  }
  append(scope, valueName(node->type) + " " + name + "[" +
                    Twine(graph.lanes.width) + "];");
  append(scope, "frit::loadVector(" + name + ", x" + Twine(node->argument) +
                    " + " + index + ");");
  return {name + "[v]", kPrimary};
}

//===----------------------------------------------------------------------===//
// Vectors of bytes
//===----------------------------------------------------------------------===//

StringRef frit::cuda::byteExtreme(const Node *node) {
  if (node->kind != Node::Kind::operation || !node->type.isInteger(8))
    return "";
  return llvm::StringSwitch<StringRef>(node->form->name)
      .Case("arith.maxsi", "int8_t, true")
      .Case("arith.maxui", "uint8_t, true")
      .Case("arith.minsi", "int8_t, false")
      .Case("arith.minui", "uint8_t, false")
      .Default("");
}

std::string Printer::extremesOfBytes(StringRef array, Node *node) {
  openLanes();
  std::string text =
      ("frit::extremesOfBytes<" + byteExtreme(node) + ">(" + array).str();
  std::function<void(Node *)> add = [&](Node *tree) {
    for (Node *operand : tree->operands)
      if (operand->form == node->form && !names.contains(operand))
        add(operand);
      else
        text += ", " + value(operand);
  };
  add(node);
  closeLanes();
  return text + ");";
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Replaces the placeholders of a form (see ScalarForm).
static std::string fill(StringRef form, ArrayRef<std::string> operands,
                        Type type, Type result) {
  std::string text;
  for (size_t i = 0; i < form.size(); ++i) {
    if (form[i] != '$') {
      text += form[i];
      continue;
    }
    char what = form[++i];
    if (what == 'T')
      text += valueName(type);
    else if (what == 'U')
      text += unsignedName(type);
    else if (what == 'R')
      text += valueName(result);
    else if (what == 'V')
      text += unsignedName(result);
    else if (what == '*')
      text += llvm::join(operands, ", ");
    else
      text += operands[what - '0'];
  }
  return text;
}

int Printer::fusedProduct(const Node *node) const {
  if (node->kind != Node::Kind::operation ||
      (node->form->name != "arith.addf" && node->form->name != "arith.subf"))
    return -1;
  // What a loop adds to its accumulator is printed apart.
  for (Node *operand : node->operands)
    if (operand->kind == Node::Kind::accumulator)
      return -1;
  for (auto [i, operand] : llvm::enumerate(node->operands))
    if (operand->kind == Node::Kind::operation &&
        operand->form->name == "arith.mulf" && !names.contains(operand))
      return i;
  return -1;
}

Printer::Text Printer::composeFused(Node *node, unsigned product,
                                    size_t scope) {
  const bool isDifference = node->form->name == "arith.subf";
  auto operand = [&](Node *of, bool isNegative) {
    const Text t = text(of, scope);
    return isNegative ? "-" + atLeast(t, kPrimary) : t.text;
  };
  const Node *factors = node->operands[product];
  const std::string first =
      operand(factors->operands[0], isDifference && product == 1);
  const std::string second = operand(factors->operands[1], false);
  const std::string term =
      operand(node->operands[1 - product], isDifference && product == 0);
  return {"frit::fma(" + first + ", " + second + ", " + term + ")", kPrimary};
}

Printer::Text Printer::composeOperation(Node *node, size_t scope) {
  if (auto product = fused.find(node); product != fused.end())
    return composeFused(node, product->second, scope);
  const ScalarForm &form = *node->form;
  // Comparisons of non-negative indices are right in any integer type, without
  // a cast.
  bool rawIndices = StringRef(form.name).starts_with("cmpi.") &&
                    llvm::all_of(node->operands, [&](Node *operand) {
                      return operand->kind == Node::Kind::index &&
                             uses[operand] <= 1 &&
                             operand->range.isWithin(0, INT32_MAX);
                    });
  SmallVector<std::string> operands;
  Type type = node->operands[0]->type;
  for (auto [i, operand] : llvm::enumerate(node->operands)) {
    Text t = rawIndices && scopeOf(operand->dependence) <= scope
                 ? printIndex(operand, /*asValue=*/false, scope)
                 : text(operand, scope);
    operands.push_back(atLeast(t, i == 0 ? form.first : form.others));
    if (operand->type.isInteger(64))
      type = operand->type;
  }
  std::string text = fill(form.text, operands, type, node->type);
  if (callsFunctions && isLongFunction(form))
    text.insert(StringRef("frit::").size(), "called::");
  // C++ promotes small integers to int; the cast wraps them around.
  bool isSmall = node->type.isInteger() && !node->type.isInteger(1) &&
                 node->type.getIntOrFloatBitWidth() < 32;
  if (isSmall && form.precedence < kPrimary)
    return {(valueName(node->type) + "(" + text + ")").str(), kPrimary};
  return {text, form.precedence};
}
