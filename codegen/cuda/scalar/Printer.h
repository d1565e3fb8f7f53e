//===- Printer.h - Graphs of scalars as C++ statements --------------------===//
//
// Prints the statements that compute some nodes of a graph. A node with one use
// is printed inside its user's expression; others get a name. Every statement
// is hoisted as far out as its operands allow: for example, values that are the
// same for all lanes are computed before the loop over lanes.
//
// A product that is added to a number is printed as one fma with it. NVRTC
// would make one as well, but chooses by the code around which of two products
// a sum rounds: elements would have other bits where a kernel computes more of
// them at a time.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_SCALAR_PRINTER_H
#define FRIT_CODEGEN_CUDA_SCALAR_PRINTER_H

#include "codegen/cuda/scalar/Graph.h"

namespace frit::cuda {

class Printer {
public:
  /// Begins one function body.
  explicit Printer(Graph &graph) : graph(graph) { scopes.emplace_back(); }

  /// Names an index variable. For the vectorized one, `text` is the index of
  /// the first lane, and "text + v" is used inside the loop over lanes.
  void nameDim(mlir::AffineExpr dim, llvm::StringRef text);

  /// Prints scalar loads, and the lane's index as its name alone, for functions
  /// that handle one lane.
  void setScalar() { scalarLanes = true; }

  /// Keeps vectors of bytes in arrays of words, for extremesOfBytes().
  void keepWords() { keepsWords = true; }

  /// Sets the stored element type of each kernel argument.
  void setArguments(llvm::ArrayRef<mlir::Type> elements) {
    storage.assign(elements.begin(), elements.end());
  }

  /// Prints `node` as `text` from now on.
  void define(Node *node, llvm::StringRef text);

  /// Counts the uses of all nodes under `roots`. Call before printing them.
  void expect(llvm::ArrayRef<Node *> roots);

  /// Prints each loop that varies over the lanes as one loop with an
  /// accumulator per lane and vector loads inside. Call before openLanes();
  /// loops that are printed later run once per lane.
  void shareLoops(llvm::ArrayRef<Node *> roots);

  /// Opens the loop over lanes; closeLanes() prints it.
  void openLanes();
  void closeLanes();

  /// Returns the node's expression at the current position.
  std::string value(Node *node, int precedence = kTernary);
  /// Prints a statement at the current position, or before the loop over lanes.
  void line(const llvm::Twine &text) { append(scopes.size() - 1, text); }
  void before(const llvm::Twine &text) { append(0, text); }

  /// Returns the index of a load, or of the first lane of a vector load.
  std::string place(Node *load) {
    return printIndex(load, /*asValue=*/false, 0, /*firstLane=*/true).text;
  }

  /// Returns a call that writes a node, a tree of one operation of
  /// byteExtreme() on vectors and constants, to an array of words.
  std::string extremesOfBytes(llvm::StringRef array, Node *node);

  /// Returns all statements, indented by `indent` spaces.
  std::string str(int indent) const;

  /// Returns whether the node is loaded as a vector before the open loop over
  /// lanes.
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
  /// Returns the operand of a sum or difference that is a product to be fused
  /// with it, or -1.
  int fusedProduct(const Node *node) const;
  Text composeFused(Node *node, unsigned product, size_t scope);
  Text printIndex(const Node *node, bool asValue, size_t scope,
                  bool firstLane = false);
  std::string laneLoop(llvm::StringRef body) const;
  /// Returns the `for` heads of a loop's counters, nested.
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
  /// Sums and differences that are printed as fma, with fusedProduct().
  llvm::DenseMap<Node *, unsigned> fused;
  llvm::SmallVector<mlir::Type> storage;
  llvm::StringMap<unsigned> counters;
  bool scalarLanes = false, keepsWords = false;
  /// Whether long functions are called instead of inlined (see isLongFunction).
  bool callsFunctions = false;
};

/// Returns the arguments of frit::extremesOfBytes, type and direction, if a
/// node is a maximum or minimum of bytes; else "".
llvm::StringRef byteExtreme(const Node *node);

/// Returns `text` with every line indented by `spaces` more.
std::string indented(llvm::StringRef text, int spaces);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_SCALAR_PRINTER_H
