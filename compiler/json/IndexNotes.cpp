//===- IndexNotes.cpp - Indices of operators in JSON graphs ---------------===//
//
// Elements of inputs that operators take as indices get a range there, which
// the runtime checks on the host. With -fcheck-indices the graph also checks
// the indices that it computes.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/IndexCheck.h"
#include "compiler/import/IndexUses.h"
#include "compiler/json/Reader.h"

#include "dialects/nn/Fold.h"
#include "dialects/nn/training/Loss.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Returns the indices of an operator and their range; null if it takes none.
static std::pair<Value, nn::IndexRange> findIndices(Operation &op) {
  std::string name = "an operator";
  if (auto given = dyn_cast<NameLoc>(op.getLoc()))
    name = given.getName().getValue().rsplit(" (").first.str();
  auto along = [&](auto of) -> std::pair<Value, nn::IndexRange> {
    ArrayRef<int64_t> shape = nn::shapeOf(of.getX());
    int64_t axis = of.getAxis(),
            size = shape[axis < 0 ? axis + int64_t(shape.size()) : axis];
    return {of.getIndices(),
            nn::wholeRange(nn::shapeOf(of.getIndices()), -size, size - 1,
                           name + " indexes entries")};
  };
  if (auto gather = dyn_cast<nn::GatherOp>(op))
    return along(gather);
  if (auto gather = dyn_cast<nn::GatherElementsOp>(op))
    return along(gather);
  if (auto scatter = dyn_cast<nn::ScatterElementsOp>(op))
    return along(scatter);
  if (auto loss = dyn_cast<nn::CrossEntropyOp>(op)) {
    int64_t classes = nn::shapeOf(loss.getX()).back();
    nn::IndexRange range = nn::wholeRange(
        nn::shapeOf(loss.getLabels()), 0, classes - 1,
        name + " takes labels of " + std::to_string(classes) + " classes");
    range.other = loss.getIgnoreIndex();
    return {loss.getLabels(), range};
  }
  return {};
}

void JsonReader::checkIndices(SmallVectorImpl<DictionaryAttr> &attributes,
                              SmallVectorImpl<Value> &results) {
  IndexUses uses;
  // Checks add operators.
  for (Operation &op : llvm::make_early_inc_range(main.getBody().front())) {
    auto [indices, range] = findIndices(op);
    if (!indices)
      continue;
    uses.add(indices, range);
    if (!options.checkIndices || nn::constantValue(indices) ||
        nn::tensorType(indices).getNumElements() == 0)
      continue;
    nn::NNBuilder b(op.getLoc(), builder);
    results.push_back(buildIndexCheck(b, indices, range));
    attributes.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("nn.count", builder.getUnitAttr()),
         builder.getNamedAttr("nn.indices", nn::indicesAttr(context, range)),
         builder.getNamedAttr("nn.name", builder.getStringAttr(range.use))}));
  }
  for (BlockArgument argument : main.getArguments())
    if (ArrayAttr indices = uses.attrOf(argument))
      main.setArgAttr(argument.getArgNumber(), "nn.indices", indices);
}
