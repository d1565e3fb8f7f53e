//===- IndexRange.cpp - Elements that are indices -------------------------===//

#include "dialects/nn/IndexRange.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace frit::nn;

IndexRange frit::nn::wholeRange(ArrayRef<int64_t> shape, int64_t least,
                                int64_t most, std::string use) {
  return {SmallVector<int64_t>(shape.size(), 0),
          SmallVector<int64_t>(shape),
          least,
          most,
          std::nullopt,
          std::move(use),
          {},
          {}};
}

ArrayAttr frit::nn::indicesAttr(MLIRContext &context,
                                ArrayRef<IndexRange> ranges) {
  Builder b(&context);
  SmallVector<Attribute> list;
  for (const IndexRange &range : ranges) {
    NamedAttrList attributes;
    attributes.set("first", b.getDenseI64ArrayAttr(range.first));
    attributes.set("sizes", b.getDenseI64ArrayAttr(range.sizes));
    attributes.set("least", b.getI64IntegerAttr(range.least));
    attributes.set("most", b.getI64IntegerAttr(range.most));
    if (range.other)
      attributes.set("other", b.getI64IntegerAttr(*range.other));
    attributes.set("use", b.getStringAttr(range.use));
    if (!range.leastOf.empty())
      attributes.set("leastOf", b.getDenseI64ArrayAttr(range.leastOf));
    if (!range.mostOf.empty())
      attributes.set("mostOf", b.getDenseI64ArrayAttr(range.mostOf));
    list.push_back(attributes.getDictionary(&context));
  }
  return b.getArrayAttr(list);
}

SmallVector<IndexRange> frit::nn::indicesOf(ArrayAttr attribute) {
  SmallVector<IndexRange> ranges;
  for (auto range : attribute.getAsRange<DictionaryAttr>()) {
    auto list = [&](StringRef name) {
      auto numbers = range.getAs<DenseI64ArrayAttr>(name);
      return SmallVector<int64_t>(numbers ? numbers.asArrayRef()
                                          : ArrayRef<int64_t>());
    };
    auto number = [&](StringRef name) -> std::optional<int64_t> {
      auto value = range.getAs<IntegerAttr>(name);
      return value ? std::optional(value.getInt()) : std::nullopt;
    };
    auto use = range.getAs<StringAttr>("use");
    ranges.push_back({list("first"),
                      list("sizes"),
                      number("least").value_or(0),
                      number("most").value_or(0),
                      number("other"),
                      use ? use.str() : "",
                      {},
                      {}});
    llvm::append_range(ranges.back().leastOf, list("leastOf"));
    llvm::append_range(ranges.back().mostOf, list("mostOf"));
  }
  return ranges;
}
