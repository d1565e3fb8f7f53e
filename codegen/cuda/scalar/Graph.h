//===- Graph.h - A kernel's elements as graphs of scalars -----------------===//
//
// Kernels are printed directly from the linalg form of a fusion, without
// buffers. `element(tensor, indices)` follows a tensor's definition back to the
// kernel's arguments and returns a graph of scalar operations.
//
//   linalg.generic, parallel   its body, operands at the mapped indices
//   linalg.generic, reduction  a loop with an accumulator in a register
//   collapse and expand_shape  index arithmetic
//   tensor.extract             the element at a computed index
//   a function's argument      a load at an affine offset
//
// Nodes are shared: the same operation on the same operands is one node.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_SCALAR_GRAPH_H
#define FRIT_CODEGEN_CUDA_SCALAR_GRAPH_H

#include "codegen/cuda/scalar/Index.h"
#include "codegen/cuda/scalar/Scalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include "llvm/ADT/SetVector.h"

#include <deque>
#include <functional>
#include <map>

namespace frit::cuda {

/// A bit set of the variables that a value varies with: the vector lane and
/// loop counters.
using Dependence = uint64_t;
inline constexpr Dependence kLane = 1;
/// Varies along the dimension that a row kernel reduces.
inline constexpr Dependence kReduced = Dependence(1) << 63;

struct Node {
  enum class Kind {
    constant,    ///< `value`
    index,       ///< `index` as a number
    load,        ///< element `index` of kernel argument `argument`
    operation,   ///< `form` of `operands`
    accumulator, ///< running value of a loop
    loop,        ///< operands: initial value, value after a step
    given,       ///< supplied by the skeleton as `text`
  };
  Kind kind;
  /// Type of the value in a kernel (see valueType); `i32` or `i64` for indices.
  mlir::Type type;
  Dependence dependence = 0;
  llvm::SmallVector<Node *, 3> operands = {};
  const ScalarForm *form = nullptr;
  mlir::Attribute value = {};
  mlir::AffineExpr index = {};
  LanePattern pattern = {};
  unsigned argument = 0;
  /// Range of an integer value.
  Bounds range = {INT64_MIN, INT64_MAX};
  /// For loops: counters with their trip counts, outermost first.
  llvm::SmallVector<std::pair<mlir::AffineExpr, int64_t>, 2> counters = {};
  Dependence loopBit = 0;
  Node *accumulator = nullptr;
  std::string text = {};

  bool is(llvm::StringRef name) const {
    return kind == Kind::operation && form->name == name;
  }
  /// Returns the number that this is, if it is a constant float.
  std::optional<double> number() const;
};

class Graph {
public:
  explicit Graph(mlir::MLIRContext *context)
      : space(context), context(context) {}

  /// Vectorizes along `lane`, `width` neighbouring elements at a time. Call
  /// before making nodes.
  void setLane(mlir::AffineExpr lane, int64_t width);
  /// Like setLane for scattered elements: the printer names `lane` for each of
  /// them.
  void setScatteredLane(mlir::AffineExpr lane, int64_t width);
  /// Sets the dependence of values that use `dim`. Call before making nodes.
  void setDependence(mlir::AffineExpr dim, Dependence dependence);

  /// Overrides `element` for a tensor: computes its elements from their
  /// indices.
  using Override = std::function<Node *(llvm::ArrayRef<mlir::AffineExpr>)>;
  void give(mlir::Value tensor, Override element);

  Node *element(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> indices);
  /// Returns the element at row-major offset `flat`.
  Node *elementAt(mlir::Value tensor, mlir::AffineExpr flat);

  Node *given(mlir::Type type, std::string text, Dependence dependence);

  /// Returns a form of `root`, a byte that the end of a product stores, that
  /// takes fewer instructions, or `root`.
  Node *storedByte(Node *root);

  /// Returns the first reason why a value could not be expressed; empty if
  /// there is none.
  const std::string &failure() const { return reason; }
  Node *fail(const llvm::Twine &why);

  /// Returns the node that a symbol in an index stands for.
  Node *symbolNode(mlir::AffineExpr symbol) const;
  /// Returns `nodes` and their transitive operands, each once, operands first.
  static llvm::SmallVector<Node *> reachable(llvm::ArrayRef<Node *> nodes,
                                             const Graph &graph);
  llvm::SmallVector<Node *> operandsOf(const Node *node) const;

  IndexSpace space;
  Lanes lanes;
  /// Enables strength reduction: x / y becomes x * (1 / y) if x varies with
  /// these bits and y does not, provided that they include kReduced or x is a
  /// sum. exp(x - y) becomes expShifted(x - y) if x varies along a row and y
  /// does not.
  Dependence dividends = 0;
  /// Set for what follows the sums of bytes, whose header has functions of its
  /// own: bytes become numbers in fewer instructions, and quantizations
  /// multiply by a scale's reciprocal, since sums are not exact quotients.
  bool followsSums = false;
  /// With this set, whether a value is computed before, so that a sum's factor
  /// had better scale it than the sum.
  std::function<bool(const Node *)> isPrepared;
  /// Reductions of at most this many steps are fully unrolled.
  int64_t maxUnrolledSteps = 0;
  /// With this set, an unrolled reduction over several dimensions first
  /// combines the innermost one. Those partial results are collected in
  /// `parts`, and reductions share them.
  bool keepsParts = false;
  llvm::SetVector<Node *> parts;

private:
  struct Body;
  Node *generic(mlir::linalg::GenericOp op, unsigned result,
                llvm::ArrayRef<mlir::AffineExpr> indices);
  /// Returns the value that one iteration of `op` yields, given the accumulator
  /// before it.
  Node *step(mlir::linalg::GenericOp op, unsigned result,
             llvm::ArrayRef<mlir::AffineExpr> iteration, Node *accumulator);
  /// Fully unrolls a reduction, by parts if keepsParts is set.
  Node *unrolled(mlir::linalg::GenericOp op, unsigned result,
                 llvm::ArrayRef<mlir::AffineExpr> iteration,
                 llvm::ArrayRef<int64_t> sizes, Node *initial);
  Node *scalar(mlir::Value value, Body &body);
  Node *define(mlir::Operation *op, Body &body);
  Node *indexOperation(mlir::Operation *op, llvm::ArrayRef<Node *> operands);
  Node *wideIndex(mlir::Operation *op, llvm::ArrayRef<Node *> operands);
  Node *foldOperation(mlir::Operation *op, llvm::ArrayRef<Node *> operands);
  Node *narrowedEquality(mlir::arith::CmpIOp compare,
                         llvm::ArrayRef<Node *> operands);
  Node *constantElement(mlir::ElementsAttr value,
                        llvm::ArrayRef<mlir::AffineExpr> indices);

  Node *constant(mlir::Attribute value, mlir::Type type);
  Node *index(mlir::AffineExpr expr, mlir::Type type = {});
  Node *load(unsigned argument, mlir::Type element, mlir::AffineExpr offset);
  Node *operation(const ScalarForm *form, llvm::ArrayRef<Node *> operands,
                  mlir::Type type, Bounds range);
  Node *operation(llvm::StringRef form, llvm::ArrayRef<Node *> operands);
  /// Returns a call of a user's function.
  Node *call(llvm::StringRef function, llvm::ArrayRef<Node *> operands,
             mlir::Type type);
  /// Returns an equal value that takes fewer instructions, or null.
  Node *strengthReduced(const ScalarForm *form,
                        llvm::ArrayRef<Node *> operands);
  Node *roundedTo16Bits(Node *value);
  /// Returns a cheaper form that is accurate enough for 8 bits, or `value`.
  Node *roundedTo8Bits(Node *value);
  /// Returns x times a number, which the constants that x is a product by, or
  /// a sum of such products, take in.
  Node *scaled(Node *x, double factor);
  /// Returns (x + term) * factor if x is a sum with a prepared value and a
  /// product by one, which take both in, or null.
  Node *preparedSum(Node *x, double factor, double term);
  /// Returns x times kTiny if it is a sum of two numbers of bytes, or null.
  Node *tinySum(Node *x);
  /// Returns the byte of a float that is rounded and clamped by constants, in
  /// fewer instructions, or null.
  Node *roundedToByte(const Node *value);
  /// Returns the f32 that a byte minus a constant is, in fewer instructions, or
  /// null: the byte is loaded, or rounded and not stored.
  Node *numberOfByte(Node *difference);
  mlir::AffineExpr asIndex(Node *node);
  Dependence dependenceOf(mlir::AffineExpr expr, LanePattern &pattern);
  Node *make(Node node);
  Node *unique(std::vector<const void *> key, llvm::function_ref<Node()> build);

  mlir::MLIRContext *context;
  std::deque<Node> nodes;
  std::map<std::vector<const void *>, Node *> shared;
  llvm::SmallVector<Node *> symbols;
  llvm::SmallVector<Dependence> dimDependence;
  llvm::DenseMap<mlir::Value, Override> overrides;
  /// Forms of the users' functions: text and form, by name.
  std::map<std::string, std::pair<std::string, ScalarForm>, std::less<>> calls;
  unsigned loops = 0;
  std::string reason;
};

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_SCALAR_GRAPH_H
