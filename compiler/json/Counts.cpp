//===- Counts.cpp - Data-dependent sizes in JSON graphs -------------------===//

#include "compiler/json/Counts.h"

#include "dialects/nn/NN.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;
using Json = nlohmann::ordered_json;

static InFlightDiagnostic errorAt(MLIRContext *context, StringRef path,
                                  const Twine &what) {
  return emitError(NameLoc::get(StringAttr::get(context, what),
                                FileLineColLoc::get(context, path, 0, 0)));
}

/// Reads the extents of an output: per dimension null, or [count, factor,
/// offset]. Null if malformed.
static Attribute readExtents(const Json &dims, Value output, int64_t counts) {
  Builder builder(output.getContext());
  if (!dims.is_array() ||
      static_cast<int64_t>(dims.size()) != nn::tensorType(output).getRank())
    return {};
  SmallVector<Attribute> result;
  for (const Json &dim : dims) {
    if (dim.is_null()) {
      result.push_back(builder.getUnitAttr());
      continue;
    }
    if (!dim.is_array() || dim.size() != 3 ||
        !llvm::all_of(dim, [](const Json &v) { return v.is_number_integer(); }))
      return {};
    auto numbers = dim.get<std::vector<int64_t>>();
    if (numbers[0] < 0 || numbers[0] >= counts)
      return {};
    result.push_back(builder.getDenseI64ArrayAttr(numbers));
  }
  return builder.getArrayAttr(result);
}

bool frit::importer::addExtents(const Json &graph, int64_t counts,
                                StringRef path,
                                MutableArrayRef<DictionaryAttr> attributes,
                                ArrayRef<Value> results) {
  auto extents = graph.find("extents");
  if (extents == graph.end() || !extents->is_object())
    return true;
  for (auto [attribute, output] : llvm::zip_equal(attributes, results)) {
    auto name = attribute.getAs<StringAttr>("nn.name");
    auto dims = extents->find(name.str());
    if (dims == extents->end())
      continue;
    Attribute read = readExtents(*dims, output, counts);
    if (!read) {
      errorAt(output.getContext(), path, "output '" + name.getValue() + "'")
          << "cannot have the extents "
          << dims->dump(-1, ' ', false, Json::error_handler_t::replace);
      return false;
    }
    Builder builder(output.getContext());
    attribute =
        builder.getDictionaryAttr({builder.getNamedAttr("nn.extents", read),
                                   builder.getNamedAttr("nn.name", name)});
  }
  return true;
}

bool frit::importer::addCount(StringRef name, Value value, StringRef path,
                              SmallVectorImpl<DictionaryAttr> &attributes,
                              SmallVectorImpl<Value> &results) {
  Builder builder(results.front().getContext());
  if (!value || nn::tensorType(value).getRank() != 0 ||
      !nn::tensorType(value).getElementType().isSignlessInteger(64)) {
    errorAt(builder.getContext(), path, "count '" + name + "'")
        << "is not a scalar of type i64";
    return false;
  }
  results.push_back(value);
  attributes.push_back(builder.getDictionaryAttr(
      {builder.getNamedAttr("nn.count", builder.getUnitAttr()),
       builder.getNamedAttr("nn.name", builder.getStringAttr(name))}));
  return true;
}
