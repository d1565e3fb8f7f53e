//===- PrintLoops.cpp - Print the loops of scalar operations --------------===//

#include "codegen/cuda/scalar/Printer.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

std::string Printer::loopHeads(Node *node) {
  std::string heads;
  int depth = 0;
  for (auto [counter, size] : node->counters) {
    std::string k = fresh("k");
    nameDim(counter, k);
    heads += indented((Twine("for (int ") + k + " = 0; " + k + " < " +
                       Twine(size) + "; ++" + k + ")")
                          .str(),
                      2 * depth++);
  }
  return heads;
}

void Printer::appendLoop(size_t scope, StringRef heads, StringRef body) {
  int depth = heads.count('\n');
  bool isBlock = body.count('\n') > 1;
  std::string text = heads.drop_back().str() + (isBlock ? " {\n" : "\n") +
                     indented(body, 2 * depth);
  if (isBlock)
    text += indented("}", 2 * (depth - 1));
  append(scope, StringRef(text).rtrim('\n'));
}

/// Returns the term that a loop adds to its accumulator, or null if the loop is
/// not a plain sum.
Node *Printer::addedTo(const Node *loop) {
  Node *next = loop->operands[1];
  bool isSum = next->kind == Node::Kind::operation &&
               StringRef(next->form->text).contains(" + ") &&
               llvm::is_contained(next->operands, loop->accumulator) &&
               uses[next] <= 1 && next->type.getIntOrFloatBitWidth() >= 32;
  return isSum ? next->operands[next->operands[0] == loop->accumulator]
               : nullptr;
}

/// Returns the term that a loop adds, if that is `condition ? value : 0` with a
/// condition that is the same for all lanes. An `if` around the addition then
/// replaces a select per lane.
Node *Printer::guardedTerm(const Node *loop) {
  Node *term = addedTo(loop);
  if (!term || term->kind != Node::Kind::operation ||
      term->form->name != "arith.select" || uses[term] > 1 ||
      (term->operands[0]->dependence & kLane) ||
      term->operands[2]->kind != Node::Kind::constant)
    return nullptr;
  auto zero = dyn_cast<FloatAttr>(term->operands[2]->value);
  return zero && zero.getValue().isZero() ? term : nullptr;
}

/// Prints the update of a loop's accumulator. A long expression needs no name
/// if it is the whole update.
void Printer::step(Node *loop, StringRef accumulator) {
  size_t inner = scopes.size() - 1;
  auto expression = [&](Node *node) {
    bool inlined = uses[node] <= 1 && node->kind == Node::Kind::operation &&
                   !names.contains(node);
    return (inlined ? compose(node, inner) : text(node, inner)).text;
  };
  if (Node *other = addedTo(loop)) {
    std::string term = expression(other);
    line(accumulator + " += " + term + ";");
  } else {
    std::string value = expression(loop->operands[1]);
    line(accumulator + " = " + value + ";");
  }
}

Printer::Text Printer::loop(Node *node, size_t scope) {
  std::string first = atLeast(text(node->operands[0], scope), kTernary);
  std::string name = fresh("r"), heads = loopHeads(node);
  pushScope(node->loopBit);
  names[node->accumulator] = {name, kPrimary};
  step(node, name);
  std::string body = popScope();
  names.erase(node->accumulator);
  append(scope, valueName(node->type) + " " + name + " = " + first + ";");
  appendLoop(scope, heads, body);
  return {name, kPrimary};
}

void Printer::shareLoops(ArrayRef<Node *> roots) {
  if (graph.lanes.width == 1)
    return;
  for (Node *node : Graph::reachable(roots, graph)) {
    // Inner loops are printed with their outer loop.
    if (node->kind != Node::Kind::loop || node->dependence != kLane)
      continue;
    std::string name = fresh("r"), heads = loopHeads(node);
    std::string element = name + "[v]";
    pushScope(kLane);
    std::string first = value(node->operands[0]);
    line(Twine(element) + " = " + first + ";");
    std::string initial = popScope();

    pushScope(node->loopBit);
    names[node->accumulator] = {element, kPrimary};
    Node *guarded = guardedTerm(node);
    std::string guard = guarded ? value(guarded->operands[0]) : "";
    pushScope(kLane);
    if (guarded) {
      std::string term = value(guarded->operands[1]);
      line(Twine(element) + " += " + term + ";");
    } else {
      step(node, element);
    }
    std::string lanes = laneLoop(popScope());
    line(guarded ? "if (" + guard + ") {\n" + indented(lanes, 2) + "}" : lanes);
    std::string body = popScope();
    names.erase(node->accumulator);
    append(0, valueName(node->type) + " " + name + "[" +
                  Twine(graph.lanes.width) + "];");
    append(0, laneLoop(initial));
    appendLoop(0, heads, body);
    names[node] = {element, kPrimary};
  }
}
