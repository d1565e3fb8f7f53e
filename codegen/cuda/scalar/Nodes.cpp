//===- Nodes.cpp - Creation and sharing of graph nodes --------------------===//

#include "codegen/cuda/scalar/Graph.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace frit::cuda;

Node *Graph::make(Node node) {
  nodes.push_back(std::move(node));
  return &nodes.back();
}

Node *Graph::unique(std::vector<const void *> key,
                    llvm::function_ref<Node()> build) {
  auto [it, isNew] = shared.try_emplace(std::move(key), nullptr);
  if (isNew)
    it->second = make(build());
  return it->second;
}

/// Returns i32 if it holds `range`, else i64.
static Type integerFor(Bounds range, MLIRContext *context) {
  bool narrow = range.isWithin(INT32_MIN, INT32_MAX);
  return IntegerType::get(context, narrow ? 32 : 64);
}

static Bounds rangeOfType(Type type) {
  unsigned bits = type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 64;
  if (type.isInteger(1))
    return {0, 1};
  if (bits >= 64 || !type.isInteger())
    return {INT64_MIN, INT64_MAX};
  return {-(int64_t(1) << (bits - 1)), (int64_t(1) << (bits - 1)) - 1};
}

Node *Graph::constant(Attribute value, Type type) {
  return unique(
      {"constant", value.getAsOpaquePointer(), type.getAsOpaquePointer()}, [&] {
        Node node{Node::Kind::constant, type};
        node.value = value;
        if (auto integer = dyn_cast<IntegerAttr>(value))
          node.range = {integer.getValue().getSExtValue(),
                        integer.getValue().getSExtValue()};
        return node;
      });
}

Node *Graph::given(Type type, std::string text, Dependence dependence) {
  Node node{Node::Kind::given, type};
  node.text = std::move(text);
  node.dependence = dependence;
  return make(std::move(node));
}

Node *Graph::symbolNode(AffineExpr symbol) const {
  return symbols[cast<AffineSymbolExpr>(symbol).getPosition()];
}

Dependence Graph::dependenceOf(AffineExpr expr, LanePattern &pattern) {
  Dependence result = 0;
  expr.walk([&](AffineExpr part) {
    if (isa<AffineSymbolExpr>(part))
      result |= symbolNode(part)->dependence;
    auto dim = dyn_cast<AffineDimExpr>(part);
    if (dim && dim.getPosition() < dimDependence.size())
      result |= dimDependence[dim.getPosition()];
  });
  pattern = {};
  if (lanes.width > 1)
    pattern = space.lanePattern(expr, lanes, [&](unsigned symbol) {
      return !(symbols[symbol]->dependence & kLane);
    });
  return pattern.use == LaneUse::uniform ? result : result | kLane;
}

Node *Graph::index(AffineExpr expr, Type type) {
  Bounds range = space.range(expr);
  if (!type)
    type = integerFor(range, context);
  return unique({"index", expr.getAsOpaquePointer(), type.getAsOpaquePointer()},
                [&] {
                  Node node{Node::Kind::index, type};
                  node.index = expr;
                  node.range = range;
                  node.dependence = dependenceOf(expr, node.pattern);
                  return node;
                });
}

Node *Graph::load(unsigned argument, Type element, AffineExpr offset) {
  if (storageName(element).empty())
    return fail("a kernel cannot hold elements of this type");
  return unique({"load", reinterpret_cast<const void *>(uintptr_t(argument)),
                 offset.getAsOpaquePointer()},
                [&] {
                  Node node{Node::Kind::load, valueType(element)};
                  node.argument = argument;
                  node.index = offset;
                  node.range = rangeOfType(node.type);
                  node.dependence = dependenceOf(offset, node.pattern);
                  return node;
                });
}

Node *Graph::operation(const ScalarForm *form, ArrayRef<Node *> operands,
                       Type type, Bounds range) {
  if (!type)
    type = integerFor(range, context);
  if (Node *node = strengthReduced(form, operands))
    return node;
  std::vector<const void *> key = {"operation", form,
                                   type.getAsOpaquePointer()};
  key.insert(key.end(), operands.begin(), operands.end());
  return unique(std::move(key), [&] {
    Node node{Node::Kind::operation, type};
    node.form = form;
    node.operands.assign(operands.begin(), operands.end());
    Bounds bounds = rangeOfType(type);
    node.range = {std::max(range.low, bounds.low),
                  std::min(range.high, bounds.high)};
    for (Node *operand : operands)
      node.dependence |= operand->dependence;
    return node;
  });
}

Node *Graph::call(StringRef function, ArrayRef<Node *> operands, Type type) {
  auto &[text, form] = calls[function.str()];
  if (text.empty()) {
    text = (function + "($*)").str();
    form = {"call", text};
  }
  return operation(&form, operands, type, {INT64_MIN, INT64_MAX});
}

AffineExpr Graph::asIndex(Node *node) {
  if (node->kind == Node::Kind::index)
    return node->index;
  if (node->kind == Node::Kind::constant)
    return space.constant(node->range.low);
  for (auto [position, symbol] : llvm::enumerate(symbols))
    if (symbol == node)
      return getAffineSymbolExpr(position, context);
  symbols.push_back(node);
  return space.addSymbol(node->range);
}

llvm::SmallVector<Node *> Graph::operandsOf(const Node *node) const {
  llvm::SmallVector<Node *> result(node->operands.begin(),
                                   node->operands.end());
  if (node->index)
    node->index.walk([&](AffineExpr part) {
      if (isa<AffineSymbolExpr>(part))
        result.push_back(symbolNode(part));
    });
  return result;
}

llvm::SmallVector<Node *> Graph::reachable(ArrayRef<Node *> roots,
                                           const Graph &graph) {
  llvm::SmallVector<Node *> order;
  llvm::DenseSet<Node *> seen;
  std::function<void(Node *)> visit = [&](Node *node) {
    if (!seen.insert(node).second)
      return;
    for (Node *operand : graph.operandsOf(node))
      visit(operand);
    order.push_back(node);
  };
  for (Node *root : roots)
    visit(root);
  return order;
}
