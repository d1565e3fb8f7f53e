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
    result += dim.size        ? std::to_string(*dim.size)
              : dim.isUnnamed ? open("?")
                              : open(dim.symbol);
  }
  return result;
}

std::string frit::importer::declaredText(ArrayRef<DeclaredDim> dims) {
  return declaredText(dims, [](StringRef name) { return name.str(); });
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

namespace {
/// factor · size of a symbol, or a number without one.
struct Term {
  StringRef symbol;
  int64_t factor = 1;
};
} // namespace

/// Parses a sum or a product with a number; returns nothing for other text.
static std::optional<SmallVector<Term>> parseSum(StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, '+');
  if (parts.size() < 2 && !text.contains('*'))
    return std::nullopt;
  SmallVector<Term> terms;
  for (StringRef part : parts) {
    Term term;
    SmallVector<StringRef, 2> factors;
    part.split(factors, '*');
    for (StringRef factor : factors) {
      int64_t number;
      factor = factor.trim();
      if (!factor.getAsInteger(10, number)) {
        if (number < 0 || number > INT32_MAX || term.factor > INT32_MAX)
          return std::nullopt;
        term.factor *= number;
      } else if (factor.empty() || !term.symbol.empty() ||
                 factor.find_first_of(" ()-/") != StringRef::npos) {
        return std::nullopt;
      } else {
        term.symbol = factor;
      }
    }
    terms.push_back(term);
  }
  return terms;
}

/// Returns the symbols that a dimension depends on.
static SmallVector<StringRef> symbolsOf(const DeclaredDim &dim) {
  SmallVector<StringRef> names;
  if (dim.size)
    return names;
  auto sum = parseSum(dim.symbol);
  if (!sum)
    return {StringRef(dim.symbol)};
  for (const Term &term : *sum)
    if (!term.symbol.empty())
      names.push_back(term.symbol);
  return names;
}

std::optional<int64_t> InputShapes::sizeOf(const DeclaredDim &dim) const {
  if (dim.size)
    return dim.size;
  if (auto found = symbols.find(dim.symbol); found != symbols.end())
    return found->second;
  auto sum = parseSum(dim.symbol);
  if (!sum)
    return std::nullopt;
  int64_t total = 0;
  for (const Term &term : *sum) {
    int64_t size = 1;
    if (!term.symbol.empty()) {
      auto found = symbols.find(term.symbol);
      if (found == symbols.end())
        return std::nullopt;
      size = found->second;
    }
    if (__builtin_mul_overflow(size, term.factor, &size) ||
        __builtin_add_overflow(total, size, &total))
      return std::nullopt;
  }
  return total;
}

/// Names the dimensions without a name, and renames those that ImportOptions
/// gives another.
void InputShapes::nameDims(DeclaredInput &input) {
  for (auto [i, dim] : llvm::enumerate(input.dims)) {
    if (dim.size)
      continue;
    std::string place = openDimName(input.name, i);
    dim.isUnnamed = dim.symbol.empty() || dim.symbol == "?";
    if (dim.isUnnamed)
      dim.symbol = place;
    for (StringRef name : {StringRef(dim.symbol), StringRef(place)})
      if (auto found = options.dimNames.find(name);
          found != options.dimNames.end()) {
        renamed.insert(name);
        dim.symbol = found->second;
        dim.isUnnamed = false;
        break;
      }
  }
}

InputShapes::InputShapes(const ImportOptions &options,
                         std::vector<DeclaredInput> declared)
    : options(options), inputs(std::move(declared)), symbols(options.symbols) {
  for (DeclaredInput &input : inputs) {
    const SmallVector<int64_t> *shape = given(input);
    // An input without a declared shape takes the given one.
    if (shape && !input.hasShape &&
        llvm::is_contained(*shape, ShapedType::kDynamic))
      input.dims.resize(shape->size());
    nameDims(input);
    if (!shape || shape->size() != input.dims.size())
      continue;
    bool named = options.inputShapes.contains(input.name);
    StringRef name = named ? StringRef(input.name) : StringRef();
    for (auto [i, dim, size] : llvm::enumerate(input.dims, *shape)) {
      if (dim.size)
        continue;
      if (ShapedType::isDynamic(size))
        dim.symbol = openDimName(name, i);
      else
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
      dims.insert_range(symbolsOf(dim));
  }
  bool good = true;
  llvm::StringSet<> reported;
  auto isDim = [&](StringRef name) {
    return llvm::any_of(inputs, [&](const DeclaredInput &input) {
      return llvm::any_of(input.dims, [&](const DeclaredDim &dim) {
        return !dim.size && dim.symbol == name;
      });
    });
  };
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
  // A call tells a symbol's size by the length of an input.
  for (const DeclaredInput &input : inputs)
    for (const DeclaredDim &dim : input.dims)
      for (StringRef name : symbolsOf(dim))
        if (options.openSymbols.contains(name) && !isDim(name) &&
            reported.insert(name).second) {
          good = false;
          emitError(file) << "-fshape gives '" << name
                          << "' several sizes, and no input has it by itself; "
                             "give them to the sum: -fshape='"
                          << dim.symbol << "=1..64'";
        }
  for (StringRef key : unknown(options.dimNames, [&](StringRef key) {
         return renamed.contains(key);
       }))
    emitError(file) << "-fshape names '" << key
                    << "', which is no dimension of an input; there is "
                    << listText(dims.getArrayRef());
  for (StringRef key : unknown(options.symbols, [&](StringRef key) {
         return dims.contains(key) || isDim(key);
       })) {
    if (renamed.contains(key))
      emitError(file) << "-fshape gives '" << key << "' a size and the name '"
                      << options.dimNames.lookup(key) << "'; give that the "
                      << "size";
    else
      emitError(file) << "-fshape names '" << key
                      << "', which is no dimension of an input; there is "
                      << listText(dims.getArrayRef());
  }
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
    int64_t size = sizeOf(dim).value_or(ShapedType::kDynamic);
    if (ShapedType::isDynamic(size))
      for (StringRef name : symbolsOf(dim))
        if (!symbols.contains(name))
          open.insert(name);
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
      diagnostic << "-fshape=" << name << "=SIZE or ";
    diagnostic << "-fshape=" << input.name << ":"
               << declaredText(input.dims,
                               [](StringRef) { return std::string("SIZE"); });
    if (StringRef(input.name).contains("past"))
      diagnostic << "; if it is a cache of a language model, --context=SIZE "
                    "keeps it between calls";
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
    bool open = options.openSymbols.contains(dim.symbol) ||
                llvm::any_of(symbolsOf(dim), [&](StringRef name) {
                  return options.openSymbols.contains(name);
                });
    names.push_back(
        StringAttr::get(&context, open ? StringRef(dim.symbol) : ""));
    any |= open;
  }
  return any ? ArrayAttr::get(&context, names) : ArrayAttr();
}
