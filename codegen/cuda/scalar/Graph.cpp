//===- Graph.cpp - Tensors' elements as graphs of scalars -----------------===//

#include "codegen/cuda/scalar/Graph.h"

#include "dialects/nn/operators/Custom.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// State while the body of a linalg op is translated: the indices of the
/// iteration and the nodes of the body's values so far.
struct Graph::Body {
  ArrayRef<AffineExpr> indices;
  llvm::DenseMap<Value, Node *> values;
  std::function<Node *(BlockArgument)> argument;
};

static int64_t flatIndex(ArrayRef<AffineExpr> indices, ArrayRef<int64_t> shape,
                         bool &known) {
  int64_t flat = 0;
  for (auto [index, size] : llvm::zip(indices, shape)) {
    auto c = dyn_cast<AffineConstantExpr>(index);
    known &= static_cast<bool>(c);
    flat = flat * size + (c ? c.getValue() : 0);
  }
  return flat;
}

void Graph::setLane(AffineExpr index, int64_t width) {
  lanes = width > 1 ? space.addLanes(index, width) : Lanes{index, {}, {}, 1};
}

void Graph::setScatteredLane(AffineExpr index, int64_t width) {
  lanes = {index, {}, {}, width};
}

void Graph::setDependence(AffineExpr dim, Dependence dependence) {
  unsigned position = cast<AffineDimExpr>(dim).getPosition();
  if (dimDependence.size() <= position)
    dimDependence.resize(position + 1, 0);
  dimDependence[position] = dependence;
}

void Graph::give(Value tensor, Override element) {
  overrides[tensor] = std::move(element);
}

Node *Graph::fail(const Twine &why) {
  if (reason.empty())
    reason = why.str();
  return constant(FloatAttr::get(Float32Type::get(context), 0.0),
                  Float32Type::get(context));
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Node *Graph::elementAt(Value tensor, AffineExpr flat) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return element(tensor, space.delinearize(flat, type.getShape()));
}

Node *Graph::element(Value tensor, ArrayRef<AffineExpr> indices) {
  if (auto found = overrides.find(tensor); found != overrides.end())
    return found->second(indices);
  std::vector<const void *> key = {"element", tensor.getAsOpaquePointer()};
  for (AffineExpr index : indices)
    key.push_back(index.getAsOpaquePointer());
  if (auto found = shared.find(key); found != shared.end())
    return found->second;

  auto type = cast<RankedTensorType>(tensor.getType());
  Node *node;
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    node = load(argument.getArgNumber(), type.getElementType(),
                space.linearize(indices, type.getShape()));
  } else {
    unsigned result = cast<OpResult>(tensor).getResultNumber();
    auto reshaped = [&](Value from) {
      AffineExpr flat = space.linearize(indices, type.getShape());
      return elementAt(from, flat);
    };
    node =
        TypeSwitch<Operation *, Node *>(tensor.getDefiningOp())
            .Case([&](linalg::GenericOp op) {
              return generic(op, result, indices);
            })
            .Case([&](linalg::FillOp op) {
              Body body;
              return scalar(op.value(), body);
            })
            .Case([&](arith::ConstantOp op) {
              return constantElement(cast<ElementsAttr>(op.getValue()),
                                     indices);
            })
            .Case([&](tensor::EmptyOp) {
              // The result of a whole operator in LinalgFusion.
              return fail("it contains an operator that other skeletons "
                          "compute");
            })
            .Case([&](tensor::CollapseShapeOp op) {
              return reshaped(op.getSrc());
            })
            .Case(
                [&](tensor::ExpandShapeOp op) { return reshaped(op.getSrc()); })
            .Case([&](tensor::CastOp op) { return reshaped(op.getSource()); })
            .Default([&](Operation *op) {
              return fail("no text for " + op->getName().getStringRef());
            });
  }
  shared[key] = node;
  return node;
}

Node *Graph::constantElement(ElementsAttr value, ArrayRef<AffineExpr> indices) {
  Type type = valueType(value.getElementType());
  auto dense = dyn_cast<DenseElementsAttr>(value);
  bool known = true;
  int64_t flat =
      flatIndex(indices, cast<ShapedType>(value.getType()).getShape(), known);
  if (!dense || (!dense.isSplat() && !known))
    return fail("a constant that is not one repeated value");
  Attribute element = dense.isSplat() ? dense.getSplatValue<Attribute>()
                                      : dense.getValues<Attribute>()[flat];
  return constant(element, type);
}

/// Adds the loop's dependence to every node in its body that uses its
/// accumulator, also through inner loops.
static void spreadDependence(const Node &loop) {
  llvm::SetVector<Node *> inside;
  inside.insert(loop.operands[1]);
  for (size_t i = 0; i < inside.size(); ++i)
    inside.insert(inside[i]->operands.begin(), inside[i]->operands.end());
  llvm::SmallPtrSet<Node *, 8> changing = {loop.accumulator};
  size_t before;
  do {
    before = changing.size();
    for (Node *node : inside)
      if (llvm::any_of(node->operands, [&](Node *operand) {
            return changing.contains(operand);
          })) {
        changing.insert(node);
        if (node->accumulator)
          changing.insert(node->accumulator);
      }
  } while (changing.size() > before);
  for (Node *node : changing)
    node->dependence |= loop.dependence;
}

Node *Graph::step(linalg::GenericOp op, unsigned result,
                  ArrayRef<AffineExpr> iteration, Node *accumulator) {
  auto maps = op.getIndexingMapsArray();
  unsigned inputs = op.getNumDpsInputs();
  Body body;
  body.indices = iteration;
  body.argument = [&](BlockArgument argument) -> Node * {
    unsigned number = argument.getArgNumber();
    if (number == inputs + result && accumulator)
      return accumulator;
    SmallVector<AffineExpr> at;
    for (AffineExpr expr : maps[number].getResults())
      at.push_back(space.simplify(expr, iteration));
    return element(op->getOperand(number), at);
  };
  return scalar(op.getBody()->getTerminator()->getOperand(result), body);
}

/// Returns whether the operation is associative and commutative up to rounding.
static bool combinesAnyOrder(const ScalarForm *form) {
  return is_contained({"arith.addf", "arith.maximumf", "arith.minimumf",
                       "arith.maxsi", "arith.maxui", "arith.minsi",
                       "arith.minui"},
                      StringRef(form->name));
}

Node *Graph::unrolled(linalg::GenericOp op, unsigned result,
                      ArrayRef<AffineExpr> iteration, ArrayRef<int64_t> sizes,
                      Node *initial) {
  int64_t steps = 1, last = 1;
  for (size_t dim = sizes.size(); dim-- > 0;)
    if (!iteration[dim]) {
      last = steps == 1 ? sizes[dim] : last;
      steps *= sizes[dim];
    }
  Node *value = initial, *hole = given(initial->type, "", 0), *part = nullptr;
  for (int64_t i = 0; i < steps; ++i) {
    SmallVector<AffineExpr> place(iteration);
    int64_t rest = i;
    for (size_t dim = place.size(); dim-- > 0;)
      if (!place[dim]) {
        place[dim] = space.constant(rest % sizes[dim]);
        rest /= sizes[dim];
      }
    if (!keepsParts) {
      value = step(op, result, place, value);
      continue;
    }
    Node *combined = step(op, result, place, hole);
    if (combined->kind != Node::Kind::operation ||
        combined->operands.size() != 2 || !combinesAnyOrder(combined->form) ||
        llvm::count(combined->operands, hole) != 1)
      return fail("a reduction has no parts");
    Node *term = combined->operands[combined->operands[0] == hole];
    auto combine = [&](Node *x, Node *y) {
      return operation(combined->form, {x, y}, initial->type,
                       {INT64_MIN, INT64_MAX});
    };
    part = i % last == 0 ? term : combine(part, term);
    if (i % last + 1 == last) {
      parts.insert(part);
      value = combine(value, part);
    }
  }
  return value;
}

Node *Graph::generic(linalg::GenericOp op, unsigned result,
                     ArrayRef<AffineExpr> indices) {
  auto maps = op.getIndexingMapsArray();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  unsigned inputs = op.getNumDpsInputs();
  SmallVector<AffineExpr> iteration(sizes.size());
  for (auto [expr, index] :
       llvm::zip(maps[inputs + result].getResults(), indices))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      iteration[dim.getPosition()] = index;

  int64_t steps = 1;
  for (auto [index, size] : llvm::zip(iteration, sizes))
    steps *= index ? 1 : size;
  if (steps > 1 && steps <= maxUnrolledSteps)
    return unrolled(op, result, iteration, sizes,
                    element(op.getDpsInits()[result], indices));

  Node loop{Node::Kind::loop, nullptr};
  for (auto [index, size] : llvm::zip(iteration, sizes)) {
    if (index)
      continue;
    if (size == 1) {
      index = space.constant(0);
      continue;
    }
    if (!loop.loopBit) {
      if (++loops >= 63)
        return fail("more than 62 reductions");
      loop.loopBit = Dependence(1) << loops;
    }
    index = space.addDim(size);
    loop.counters.push_back({index, size});
    setDependence(index, loop.loopBit);
  }

  Type type = valueType(
      cast<RankedTensorType>(op.getResult(result).getType()).getElementType());
  Node *accumulator = nullptr;
  if (loop.loopBit) {
    accumulator = make({Node::Kind::accumulator, type});
    accumulator->dependence = loop.loopBit;
  }
  Node *value = step(op, result, iteration, accumulator);
  if (!accumulator)
    return value;

  loop.type = type;
  loop.operands = {element(op.getDpsInits()[result], indices), value};
  loop.accumulator = accumulator;
  loop.dependence =
      (loop.operands[0]->dependence | value->dependence) & ~loop.loopBit;
  spreadDependence(loop);
  return make(std::move(loop));
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

Node *Graph::scalar(Value value, Body &body) {
  if (auto found = body.values.find(value); found != body.values.end())
    return found->second;
  Node *node;
  if (auto argument = dyn_cast<BlockArgument>(value))
    node = body.argument(argument);
  else
    node = define(value.getDefiningOp(), body);
  body.values[value] = node;
  return node;
}

Node *Graph::define(Operation *op, Body &body) {
  if (auto c = dyn_cast<arith::ConstantOp>(op)) {
    if (isa<IndexType>(c.getType()))
      return index(space.constant(cast<IntegerAttr>(c.getValue()).getInt()));
    return constant(c.getValue(), valueType(c.getType()));
  }
  if (auto i = dyn_cast<linalg::IndexOp>(op))
    return index(body.indices[i.getDim()]);
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    SmallVector<AffineExpr> at;
    for (Value i : extract.getIndices())
      at.push_back(asIndex(scalar(i, body)));
    return element(extract.getTensor(), at);
  }
  SmallVector<Node *> operands;
  for (Value operand : op->getOperands())
    operands.push_back(scalar(operand, body));
  if (op->getNumResults() != 1)
    return fail("no text for " + op->getName().getStringRef());

  if (auto user = dyn_cast<nn::ScalarCallOp>(op)) {
    if (nn::UserFunctionAttr function = user.getCustom().getDevice())
      return call(function.getName(), operands, user.getY().getType());
    return fail(user.getCustom().getName() + " has no CUDA function");
  }
  if (Node *folded = foldOperation(op, operands))
    return folded;
  if (Node *asIndex = indexOperation(op, operands))
    return asIndex;
  const ScalarForm *form = lookupForm(op);
  Type type = op->getResult(0).getType();
  if (!form || (!isa<IndexType>(type) && valueName(valueType(type)).empty()))
    return fail("no text for " + op->getName().getStringRef());
  if (isa<IndexType>(type))
    return operation(form, operands, nullptr, {INT64_MIN, INT64_MAX});
  return operation(form, operands, valueType(type), {INT64_MIN, INT64_MAX});
}
