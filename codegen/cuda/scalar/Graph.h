//===- Graph.h - What a kernel computes, element by element ---------------===//
//
// Kernels are printed straight from the linalg form of a fusion, without
// buffers: `element(tensor, indices)` follows a tensor's definition back to the
// kernel's arguments and gives a graph of scalar operations.
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

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include "llvm/ADT/SetVector.h"

#include <deque>
#include <functional>
#include <map>

namespace frit::cuda {

/// What a value changes with: the lane of a vector, or a loop's counters.
using Dependence = uint64_t;
inline constexpr Dependence kLane = 1;
/// Changes along what a row kernel reduces.
inline constexpr Dependence kReduced = Dependence(1) << 63;

struct Node {
  enum class Kind {
    constant,    ///< `value`
    index,       ///< `index` as a number
    load,        ///< element `index` of kernel argument `argument`
    operation,   ///< `form` of `operands`
    accumulator, ///< of the loop that has it
    loop,        ///< operands: initial value, value after a step
    given,       ///< known to the skeleton; `text` says how
  };
  Kind kind;
  /// A value type; `i32` or `i64` for indices.
  mlir::Type type;
  Dependence dependence = 0;
  llvm::SmallVector<Node *, 3> operands = {};
  const ScalarForm *form = nullptr;
  mlir::Attribute value = {};
  mlir::AffineExpr index = {};
  LanePattern pattern = {};
  unsigned argument = 0;
  /// Of integers.
  Bounds range = {INT64_MIN, INT64_MAX};
  /// A loop's counters with their number of steps, and its accumulator.
  llvm::SmallVector<std::pair<mlir::AffineExpr, int64_t>, 2> counters = {};
  Dependence loopBit = 0;
  Node *accumulator = nullptr;
  std::string text = {};
};

class Graph {
public:
  explicit Graph(mlir::MLIRContext *context)
      : space(context), context(context) {}

  /// Lets `lane` be the index that vectors of `width` elements run along; to
  /// be called before nodes are made.
  void setLane(mlir::AffineExpr lane, int64_t width);
  /// The same of elements that are far apart: `lane` has a text per lane.
  void setScatteredLane(mlir::AffineExpr lane, int64_t width);
  /// Marks what changes with `dim`; to be called before nodes are made.
  void setDependence(mlir::AffineExpr dim, Dependence dependence);

  /// Makes elements of `tensor` what `element` returns.
  using Override = std::function<Node *(llvm::ArrayRef<mlir::AffineExpr>)>;
  void give(mlir::Value tensor, Override element);

  Node *element(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> indices);
  /// The element at place `flat` of a tensor in row-major order.
  Node *elementAt(mlir::Value tensor, mlir::AffineExpr flat);

  Node *given(mlir::Type type, std::string text, Dependence dependence);

  /// Why a value could not be expressed; the first reason, or empty.
  const std::string &failure() const { return reason; }
  Node *fail(const llvm::Twine &why);

  /// The node that a symbol of an index stands for.
  Node *symbolNode(mlir::AffineExpr symbol) const;
  /// `nodes` and all they are made of, each once, operands first.
  static llvm::SmallVector<Node *> reachable(llvm::ArrayRef<Node *> nodes,
                                             const Graph &graph);
  llvm::SmallVector<Node *> operandsOf(const Node *node) const;

  IndexSpace space;
  Lanes lanes;
  /// Quotients by what does not change with these are products with its
  /// reciprocal, if `kReduced` is among them or a sum is divided; exponentials
  /// of differences from what does not change along a row are shorter.
  Dependence dividends = 0;
  /// Reductions of up to as many steps are written out, without a loop.
  int64_t writtenOut = 0;
  /// Of those over several dimensions, what the last one combines is then
  /// worked out by itself, to be kept here; reductions share it.
  bool keepsParts = false;
  llvm::SetVector<Node *> parts;

private:
  struct Body;
  Node *generic(mlir::linalg::GenericOp op, unsigned result,
                llvm::ArrayRef<mlir::AffineExpr> indices);
  /// What a step of it yields, given the accumulator before.
  Node *step(mlir::linalg::GenericOp op, unsigned result,
             llvm::ArrayRef<mlir::AffineExpr> iteration, Node *accumulator);
  /// All steps, one after another, or part by part.
  Node *writeOut(mlir::linalg::GenericOp op, unsigned result,
                 llvm::ArrayRef<mlir::AffineExpr> iteration,
                 llvm::ArrayRef<int64_t> sizes, Node *initial);
  Node *scalar(mlir::Value value, Body &body);
  Node *define(mlir::Operation *op, Body &body);
  Node *indexOperation(mlir::Operation *op, llvm::ArrayRef<Node *> operands);
  Node *foldOperation(mlir::Operation *op, llvm::ArrayRef<Node *> operands);
  Node *constantElement(mlir::ElementsAttr value,
                        llvm::ArrayRef<mlir::AffineExpr> indices);

  Node *constant(mlir::Attribute value, mlir::Type type);
  Node *index(mlir::AffineExpr expr, mlir::Type type = {});
  Node *load(unsigned argument, mlir::Type element, mlir::AffineExpr offset);
  Node *operation(const ScalarForm *form, llvm::ArrayRef<Node *> operands,
                  mlir::Type type, Bounds range);
  Node *operation(llvm::StringRef form, llvm::ArrayRef<Node *> operands);
  /// The same value by fewer instructions, or null.
  Node *shorter(const ScalarForm *form, llvm::ArrayRef<Node *> operands);
  Node *roundedTo16Bits(Node *value);
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
  unsigned loops = 0;
  std::string reason;
};

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_SCALAR_GRAPH_H
