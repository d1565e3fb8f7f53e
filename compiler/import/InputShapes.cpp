//===- InputShapes.cpp - Resolve the shapes of inputs ---------------------===//

#include "compiler/import/InputShapes.h"

#include "compiler/import/Elements.h"
#include "dialects/nn/Infer.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

std::string
frit::importer::declaredText(ArrayRef<DeclaredDim> dims,
                             llvm::function_ref<std::string(StringRef)> open) {
  std::string result;
  for (const DeclaredDim &dim : dims) {
    if (!result.empty())
      result += 'x';
    result += dim.size ? std::to_string(*dim.size) : open(dim.symbol);
  }
  return result;
}

std::string frit::importer::declaredText(ArrayRef<DeclaredDim> dims) {
  return declaredText(dims, [](StringRef name) {
    return name.empty() ? std::string("?") : name.str();
  });
}

/// Formats a list: "'a', 'b' and 'c'".
static std::string listText(ArrayRef<StringRef> names) {
  std::string result;
  for (auto [i, name] : llvm::enumerate(names)) {
    if (i)
      result += i + 1 == names.size() ? " and " : ", ";
    result += ("'" + name + "'").str();
  }
  return names.empty() ? "none" : result;
}

std::string frit::importer::openDimName(StringRef input, size_t dim) {
  return (input.empty() ? "dim" : input).str() + "." + std::to_string(dim);
}

InputShapes::InputShapes(const ImportOptions &options,
                         std::vector<DeclaredInput> declared)
    : options(options), inputs(std::move(declared)), symbols(options.symbols) {
  for (DeclaredInput &input : inputs) {
    const SmallVector<int64_t> *shape = given(input);
    if (!shape)
      continue;
    // An input without a declared shape takes the given one.
    if (!input.hasShape && llvm::is_contained(*shape, ShapedType::kDynamic))
      input.dims.resize(shape->size());
    if (shape->size() != input.dims.size())
      continue;
    bool named = options.inputShapes.contains(input.name);
    StringRef name = named ? StringRef(input.name) : StringRef();
    for (auto [i, dim, size] : llvm::enumerate(input.dims, *shape)) {
      if (dim.size)
        continue;
      if (ShapedType::isDynamic(size))
        dim.symbol = openDimName(name, i);
      else if (!dim.symbol.empty())
        symbols.try_emplace(dim.symbol, size);
    }
  }
}

const SmallVector<int64_t> *
InputShapes::given(const DeclaredInput &input) const {
  auto found = options.inputShapes.find(input.name);
  if (found == options.inputShapes.end() && inputs.size() == 1)
    found = options.inputShapes.find("");
  return found == options.inputShapes.end() ? nullptr : &found->second;
}

bool InputShapes::checkOptions(Location file) const {
  SmallVector<StringRef> names;
  llvm::SetVector<StringRef> dims;
  for (const DeclaredInput &input : inputs) {
    names.push_back(input.name);
    for (const DeclaredDim &dim : input.dims)
      if (!dim.size && !dim.symbol.empty())
        dims.insert(dim.symbol);
  }
  bool good = true;
  // Sort, so that messages are deterministic.
  auto unknown = [&](const auto &map, auto isKnown) {
    SmallVector<StringRef> keys;
    for (StringRef key : map.keys())
      if (!isKnown(key))
        keys.push_back(key);
    llvm::sort(keys);
    good &= keys.empty();
    return keys;
  };
  for (StringRef key : unknown(options.inputShapes, [&](StringRef key) {
         return key.empty() ? names.size() == 1
                            : llvm::is_contained(names, key);
       })) {
    if (key.empty())
      emitError(file) << "-fshape must say which input it means: "
                      << listText(names);
    else
      emitError(file) << "-fshape names '" << key
                      << "', which is no input; there is " << listText(names);
  }
  for (StringRef key : unknown(options.constInputs, [&](StringRef key) {
         return llvm::is_contained(names, key);
       }))
    emitError(file) << "-fconst-input names '" << key
                    << "', which is no input; there is " << listText(names);
  for (StringRef key : unknown(
           options.symbols, [&](StringRef key) { return dims.contains(key); }))
    emitError(file) << "-fshape names '" << key
                    << "', which is no dimension of an input; there is "
                    << listText(dims.getArrayRef());
  return good;
}

std::optional<SmallVector<int64_t>> InputShapes::resolve(size_t index) const {
  const DeclaredInput &input = inputs[index];
  const SmallVector<int64_t> *asked = given(input);
  if (!input.hasShape && !asked) {
    emitError(input.loc) << "has no shape; -fshape=" << input.name
                         << ":SIZExSIZE gives one";
    return std::nullopt;
  }

  SmallVector<int64_t> shape;
  llvm::SetVector<StringRef> open;
  for (const DeclaredDim &dim : input.dims) {
    auto bound = symbols.find(dim.symbol);
    int64_t size = dim.size                 ? *dim.size
                   : bound == symbols.end() ? ShapedType::kDynamic
                                            : bound->second;
    if (ShapedType::isDynamic(size))
      open.insert(dim.symbol);
    shape.push_back(size);
  }
  if (asked) {
    bool fits = !input.hasShape || asked->size() == shape.size();
    for (size_t i = 0; fits && i < shape.size(); ++i)
      fits &= ShapedType::isDynamic(shape[i]) ||
              ShapedType::isDynamic((*asked)[i]) || shape[i] == (*asked)[i];
    if (!fits) {
      emitError(input.loc) << "-fshape gives it the shape "
                           << nn::shapeText(*asked) << ", but the model says "
                           << nn::shapeText(shape);
      return std::nullopt;
    }
    for (size_t i = 0; i < asked->size(); ++i)
      if (i == shape.size())
        shape.push_back((*asked)[i]);
      else if (!ShapedType::isDynamic((*asked)[i]))
        shape[i] = (*asked)[i];
  } else if (!open.empty()) {
    auto diagnostic = emitError(input.loc);
    diagnostic << "has the dynamic shape " << declaredText(input.dims)
               << "; fix it with ";
    for (StringRef name : open)
      if (!name.empty())
        diagnostic << "-fshape=" << name << "=SIZE or ";
    diagnostic << "-fshape=" << input.name << ":"
               << declaredText(input.dims,
                               [](StringRef) { return std::string("SIZE"); });
    return std::nullopt;
  }
  if (!countElements(shape)) {
    emitError(input.loc) << "has a shape that is out of reach: "
                         << nn::shapeText(shape);
    return std::nullopt;
  }
  return shape;
}

ArrayAttr InputShapes::openSymbols(size_t index, MLIRContext &context) const {
  SmallVector<Attribute> names;
  bool any = false;
  for (const DeclaredDim &dim : inputs[index].dims) {
    bool open = !dim.size && options.openSymbols.contains(dim.symbol);
    names.push_back(
        StringAttr::get(&context, open ? StringRef(dim.symbol) : ""));
    any |= open;
  }
  return any ? ArrayAttr::get(&context, names) : ArrayAttr();
}
