//===- CountedLengths.cpp - Lengths of outputs that the model counts ------===//
//
// Where an output is a list that is joined from padded ones, such as boxes of a
// detector on several scales, its length is a sum of products of sizes. The
// model computes it as a count, as it does those that depend on data.
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/Variants.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace frit;

/// Returns the length of an output's dimension in a variant, an i64 scalar of
/// its module; null if the model does not compute it.
Value Variants::lengthOf(size_t variant, size_t output, size_t dim) {
  Sizes sizes(shapes.variants[variant].sizes.begin(),
              shapes.variants[variant].sizes.end());
  func::FuncOp main = mainOf(*modules[variant]);
  auto found = proofs.find(sizes);
  if (found != proofs.end() && found->second.proof)
    for (const PaddedJoin &join : found->second.proof->masks.joined())
      if (join.length() && llvm::all_of(join.lengths(), [&](const auto &one) {
            Sizes own(one.first.begin(), one.first.end());
            return known.at(own).outputs[output][dim] == one.second;
          }))
        return join.length();
  SizeSamples samples = sampleLengths(sizes, output, dim);
  nn::NNBuilder b(main.getLoc(), main.getBody().front().getTerminator());
  if (samples.isFixed())
    return b.integer(known.at(sizes).outputs[output][dim]);
  auto expr = samples.fit();
  if (!expr)
    return {};
  // Where only the outer one of joined dimensions is padded, the length is a
  // multiple of its size.
  Value size = sizeInput(main, expr->symbol),
        second = expr->secondFactor ? sizeInput(main, expr->second) : size;
  if (!size || !second)
    return {};
  size = b.add(b.mul(size, b.integer(expr->scale)), b.integer(expr->shift));
  size = b.mul(b.div(size, b.integer(expr->divisor)), b.integer(expr->factor));
  if (expr->secondFactor)
    size = b.add(size, b.mul(second, b.integer(expr->secondFactor)));
  return b.add(size, b.integer(expr->offset));
}

/// Returns the input that has the actual size of a symbol, if there is one.
Value Variants::sizeInput(func::FuncOp main, unsigned symbol) const {
  std::string name = "size." + symbols[symbol].name;
  for (BlockArgument input : main.getArguments())
    if (auto own =
            main.getArgAttrOfType<StringAttr>(input.getArgNumber(), "nn.name");
        own && own.getValue() == name)
      return input;
  return {};
}

/// Adds counts, as last outputs of all variants, for lengths that no extent
/// tells.
void Variants::countLengths() {
  for (const plan::OpenVariant &variant : shapes.variants) {
    Sizes sizes(variant.sizes.begin(), variant.sizes.end());
    for (auto [output, shape] : llvm::enumerate(known.at(sizes).outputs))
      for (size_t dim = 0; dim < shape.size(); ++dim)
        if (!isLengthOf(outputExtentOf(sizes, output, dim), sizes, output, dim))
          counted.insert({output, dim});
  }
  std::erase_if(counted, [&](const auto &one) {
    for (size_t variant = 0; variant < modules.size(); ++variant)
      if (!lengthOf(variant, one.first, one.second))
        return true;
    return false;
  });
  if (counted.empty())
    return;
  for (size_t variant = 0; variant < modules.size(); ++variant) {
    func::FuncOp main = mainOf(*modules[variant]);
    Builder b(&context);
    Operation *end = main.getBody().front().getTerminator();
    SmallVector<DictionaryAttr> attributes;
    int64_t counts = 0;
    for (unsigned i = 0; i < main.getNumResults(); ++i) {
      attributes.push_back(main.getResultAttrDict(i));
      counts += attributes[i].contains("nn.count");
    }
    std::map<size_t, SmallVector<Attribute>> extents;
    for (auto [output, dim] : counted) {
      Value length = lengthOf(variant, output, dim);
      end->insertOperands(end->getNumOperands(), length);
      attributes.push_back(b.getDictionaryAttr(
          {b.getNamedAttr("nn.name", b.getStringAttr("count." + Twine(counts))),
           b.getNamedAttr("nn.count", b.getUnitAttr())}));
      auto &dims = extents[output];
      dims.resize(known.begin()->second.outputs[output].size(),
                  b.getUnitAttr());
      dims[dim] = b.getDenseI64ArrayAttr({counts++, 1, 0});
    }
    for (const auto &[output, dims] : extents) {
      NamedAttrList all(attributes[output]);
      all.set("nn.extents", b.getArrayAttr(dims));
      attributes[output] = all.getDictionary(&context);
    }
    main.setFunctionType(
        b.getFunctionType(main.getArgumentTypes(), end->getOperandTypes()));
    main.setAllResultAttrs(attributes);
  }
}
