//===- Printer.h - Graphs of scalars as C++ statements --------------------===//
//
// Prints the statements that compute some nodes of a graph. A node used once is
// part of its user's expression, others get a name. Every statement stands in
// the outermost place where what it depends on is known: what does not change
// along a vector's lanes before the loop over lanes, and so on.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_SCALAR_PRINTER_H
#define FRIT_CODEGEN_CUDA_SCALAR_PRINTER_H

#include "codegen/cuda/scalar/Graph.h"

namespace frit::cuda {

class Printer {
public:
  /// One function body. `names` tells temporaries of several printers apart.
  explicit Printer(Graph &graph) : graph(graph) { scopes.emplace_back(); }

  /// How index variables are called here. The lane's index is `text` for its
  /// first lane and "text + v" inside the loop over lanes.
  void nameDim(mlir::AffineExpr dim, llvm::StringRef text);

  /// Makes loads scalar and the lane's index `text` alone: for functions that
  /// handle one lane.
  void setScalar() { scalarLanes = true; }

  /// Element type of a load's argument, as stored.
  void setArguments(llvm::ArrayRef<mlir::Type> elements) {
    storage.assign(elements.begin(), elements.end());
  }

  /// `node` is `text` here.
  void define(Node *node, llvm::StringRef text);

  /// Announces what will be printed, so that uses can be counted.
  void expect(llvm::ArrayRef<Node *> roots);

  /// Prints the loops that change along the lanes as one loop each, with an
  /// accumulator per lane and vector loads inside; to be called before
  /// `openLanes`. What is left to it has a loop of its own in every lane.
  void shareLoops(llvm::ArrayRef<Node *> roots);

  /// Opens the loop over lanes; `closeLanes` appends it.
  void openLanes();
  void closeLanes();

  /// The node's expression at the current place.
  std::string value(Node *node, int precedence = kTernary);
  /// Adds a statement at the current place, or before the loop over lanes.
  void line(const llvm::Twine &text) { append(scopes.size() - 1, text); }
  void before(const llvm::Twine &text) { append(0, text); }

  /// The place of a load's element, or of a vector's first.
  std::string place(Node *load) {
    return printIndex(load, /*asValue=*/false, 0, /*firstLane=*/true).text;
  }

  /// All statements, indented by `indent` spaces.
  std::string str(int indent) const;

  /// Whether the node is loaded as a vector before the loop over lanes that is
  /// open.
  bool isVectorLoad(const Node *node) const;

private:
  struct Scope {
    Dependence bits = 0;
    std::string text;
    llvm::SmallVector<Node *> named;
  };
  struct Text {
    std::string text;
    int precedence = kPrimary;
  };

  void append(size_t scope, const llvm::Twine &text);
  void pushScope(Dependence bits);
  std::string popScope();
  size_t scopeOf(Dependence dependence) const;
  Text text(Node *node, size_t user);
  Text compose(Node *node, size_t scope);
  Text composeOperation(Node *node, size_t scope);
  Text printIndex(const Node *node, bool asValue, size_t scope,
                  bool firstLane = false);
  std::string laneLoop(llvm::StringRef body) const;
  /// The heads of a loop's counters, one under another.
  std::string loopHeads(Node *node);
  void appendLoop(size_t scope, llvm::StringRef heads, llvm::StringRef body);
  Node *addedTo(const Node *loop);
  Node *guardedTerm(const Node *loop);
  void step(Node *loop, llvm::StringRef accumulator);
  Text vectorLoad(Node *node);
  Text loop(Node *node, size_t scope);
  std::string fresh(llvm::StringRef prefix);
  static std::string atLeast(const Text &text, int precedence);

  Graph &graph;
  llvm::SmallVector<Scope> scopes;
  llvm::DenseMap<mlir::AffineExpr, std::string> dims;
  llvm::DenseMap<Node *, Text> names;
  llvm::DenseMap<Node *, unsigned> uses;
  llvm::SmallVector<mlir::Type> storage;
  llvm::StringMap<unsigned> counters;
  bool scalarLanes = false;
  /// Whether long functions are called.
  bool callsFunctions = false;
};

/// Every line of `text` indented by `spaces` more.
std::string indented(llvm::StringRef text, int spaces);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_SCALAR_PRINTER_H
