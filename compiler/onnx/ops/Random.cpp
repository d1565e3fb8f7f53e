//===- Random.cpp - Random numbers ----------------------------------------===//
//
// A random number is a hash of its index and the node's seed, so it depends
// neither on layout nor on order. Every call of a model draws the same numbers;
// a warning says so. A training step draws others in each call, by
// nn.random_uniform, to which TrainingMode gives the seed and the call's
// number.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/training/Random.h"
#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Hooks.h"

#include "llvm/Support/xxhash.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Builds numbers in (0, 1); `stream` distinguishes several sets of a node. The
/// hash is from Chris Wellons, "Hash Function Prospector", 2018.
static Expr uniform(Node &node, ArrayRef<int64_t> shape, uint32_t stream) {
  if (node.modelTrains()) {
    node.ignore("seed");
    Value zero = node.scalar(node.builder().getI64Type(), 0);
    Expr drawn = {
        node,
        node.create<nn::RandomUniformOp>(
            {zero, zero},
            {node.named("shape", shape),
             node.named("stream", node.builder().getI64IntegerAttr(stream))})};
    return drawn + std::ldexp(1.0, -25);
  }
  emitWarning(node.loc) << "draws the same random numbers in every call "
                           "[-Wrandom]";
  double given = node.real("seed", 0);
  std::string name;
  llvm::raw_string_ostream(name) << node.loc << given << stream;
  auto seed = static_cast<uint32_t>(llvm::xxh3_64bits(
      node.attribute("seed") ? name.substr(name.size() - 24) : name));
  OpBuilder &b = node.builder();
  Type u32 = b.getIntegerType(32, /*isSigned=*/false);
  int64_t count = product(shape);
  auto constant = [&](uint32_t value) {
    return Expr{node, node.scalar(u32, value)};
  };
  auto mixRight = [&](Expr x, uint32_t places) {
    Expr moved = x.apply<nn::BitShiftOp>(
        {constant(places)}, node.named("direction", b.getStringAttr("RIGHT")));
    return x.apply<nn::BitwiseXorOp>({moved});
  };
  Expr x = iota(node, u32, count, 0) + constant(seed);
  x = mixRight(x, 16) * constant(0x7feb352d);
  x = mixRight(x, 15) * constant(0x846ca68b);
  x = mixRight(x, 16);
  // An f32 holds 24 bits.
  Expr high = x.apply<nn::BitShiftOp>(
      {constant(8)}, node.named("direction", b.getStringAttr("RIGHT")));
  return ((high.to(b.getF32Type()) + 0.5) * std::ldexp(1.0, -24))
      .reshape(shape);
}

/// Builds normal numbers by the Box–Muller transform (1958).
static Expr normal(Node &node, ArrayRef<int64_t> shape) {
  Expr radius =
      (uniform(node, shape, 0).apply<nn::LogOp>() * -2.0).apply<nn::SqrtOp>();
  constexpr double turn = 6.283185307179586;
  return radius * (uniform(node, shape, 1) * turn).apply<nn::CosOp>();
}

/// Returns the type that "dtype" names, or `otherwise`.
static Type typeOf(Node &node, Type otherwise) {
  int64_t given = node.integer("dtype", 0);
  Type type = given ? elementType(given, *node.context()) : otherwise;
  if (type)
    return type;
  node.error() << "element type " << dataTypeName(given) << " is not supported";
  return otherwise;
}

/// Returns the shape and type of an input, or those in the attributes.
template <bool isLike>
static std::optional<std::pair<SmallVector<int64_t>, Type>> form(Node &node) {
  if constexpr (isLike) {
    Value like = node.input(0);
    if (!like)
      return std::nullopt;
    return std::pair(sizes(like), typeOf(node, elementOf(like)));
  } else {
    auto shape = node.integers("shape");
    if (!shape && !node.failed)
      node.error() << "has no shape";
    if (!shape)
      return std::nullopt;
    return std::pair(*shape, typeOf(node, node.builder().getF32Type()));
  }
}

/// Gives numbers like a tensor of data-dependent size that size.
template <bool isLike> static Results sized(Node &node, Expr drawn) {
  if constexpr (isLike)
    return {node.marked(drawn, node.dataShape(node.input(0)))};
  return {drawn};
}

template <bool isLike> static Results randomUniform(Node &node) {
  double low = node.real("low", 0), high = node.real("high", 1);
  auto wanted = form<isLike>(node);
  if (!wanted || node.failed)
    return {};
  auto &[shape, type] = *wanted;
  return sized<isLike>(node,
                       (uniform(node, shape, 0) * (high - low) + low).to(type));
}

template <bool isLike> static Results randomNormal(Node &node) {
  double mean = node.real("mean", 0), scale = node.real("scale", 1);
  auto wanted = form<isLike>(node);
  if (!wanted || node.failed)
    return {};
  auto &[shape, type] = *wanted;
  return sized<isLike>(node, (normal(node, shape) * scale + mean).to(type));
}

static Results bernoulli(Node &node) {
  Expr p = input(node, 0);
  if (!p)
    return {};
  Type type = typeOf(node, p.element());
  Expr drawn = uniform(node, p.shape(), 0);
  return {(drawn < p.to(drawn.element())).to(type)};
}

ArrayRef<Hook> frit::importer::randomHooks() {
  static constexpr Hook hooks[] = {
      {"RandomUniform", 1, 0, 0, randomUniform<false>},
      {"RandomUniformLike", 1, 1, 1, randomUniform<true>, takesCounts},
      {"RandomNormal", 1, 0, 0, randomNormal<false>},
      {"RandomNormalLike", 1, 1, 1, randomNormal<true>, takesCounts},
      {"Bernoulli", 15, 1, 1, bernoulli},
  };
  return hooks;
}
