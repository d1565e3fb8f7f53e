//===- OpenPlaces.cpp - Indices that follow an open size ------------------===//

#include "compiler/onnx/indexing/OpenPlaces.h"

#include "compiler/import/CreateOp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

bool importer::hasOpenLengths(Node &node) {
  if (!node.import().hasOpenSizes())
    return false;
  Block *block = node.builder().getInsertionBlock();
  while (!isa<func::FuncOp>(block->getParentOp()))
    block = block->getParentOp()->getBlock();
  return llvm::any_of(block->getArguments(), [&](BlockArgument input) {
    ArrayAttr symbols = node.import().symbolsOf(input);
    if (!symbols || symbols.size() < 2)
      return false;
    return llvm::any_of(symbols.getValue().drop_front(), [](Attribute symbol) {
      return !cast<StringAttr>(symbol).empty();
    });
  });
}

Expr importer::openIota(Node &node, Type element, int64_t count) {
  return openIota(node, node.scalar(element, 0), node.scalar(element, 1),
                  count);
}

Expr importer::openIota(Node &node, Value first, Value step, int64_t count) {
  if (node.failed || !node.import().mayBecome(1))
    return {node, {}};
  Operation *op = createInferred(
      node.loc, OperationName(nn::IotaOp::getOperationName(), node.context()),
      {first, step},
      {node.named("shape", ArrayRef<int64_t>{count}),
       node.named("axis", node.builder().getI64IntegerAttr(0))});
  if (!op)
    return {node, {}};
  return {node, node.builder().insert(op)->getResult(0)};
}

Expr importer::padByIndices(Expr x, int64_t dim, int64_t low, int64_t high,
                            StringRef mode) {
  Node &node = *x.node;
  int64_t size = x.size(dim);
  // Floats, as their signs are followed; exact for sizes up to 2^24.
  auto whole = double(size);
  Expr at = openIota(node, node.builder().getF32Type(), low + size + high) -
            double(low);
  if (mode == "wrap") {
    at = at + whole;
    Expr turns = (at / whole).apply<nn::FloorOp>();
    at = at - turns * whole;
  } else if (mode == "reflect") {
    at = at.apply<nn::AbsOp>();
    Expr beyond = (at - (whole - 1)).apply<nn::AbsOp>();
    at = at.number(whole - 1) - beyond;
  }
  at = at.to(node.builder().getI64Type());
  at = at.max(at.number(0)).min(at.number(whole - 1));
  return x.gather(at, dim);
}
