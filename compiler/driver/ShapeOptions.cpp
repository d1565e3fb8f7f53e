//===- ShapeOptions.cpp - -fshape -----------------------------------------===//

#include "compiler/driver/ShapeOptions.h"

using namespace frit;
using llvm::StringRef;

static std::optional<llvm::SmallVector<int64_t>> parseSizes(StringRef text) {
  llvm::SmallVector<int64_t> sizes;
  if (text == "scalar")
    return sizes;
  llvm::SmallVector<StringRef> parts;
  text.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t size;
    if (part.getAsInteger(10, size) || size < 0)
      return std::nullopt;
    sizes.push_back(size);
  }
  return sizes;
}

/// The bounds of a range and the powers of two between them: padding then at
/// most doubles the work.
static std::vector<int64_t> chooseSizes(int64_t least, int64_t most) {
  std::vector<int64_t> sizes = {least};
  for (int64_t size = 1; size < most; size *= 2)
    if (size > least)
      sizes.push_back(size);
  if (most != least)
    sizes.push_back(most);
  return sizes;
}

/// Reads the sizes of a symbol: `8`, `1..64` or `1,8,64`.
static bool parseSymbol(StringRef name, StringRef text,
                        DriverOptions &options) {
  SymbolSizes symbol;
  symbol.name = name.str();
  auto [first, last] = text.split("..");
  symbol.isList = !text.contains("..");
  llvm::SmallVector<StringRef> parts;
  if (symbol.isList)
    text.split(parts, ',');
  else
    parts = {first, last};
  for (StringRef part : parts) {
    int64_t size;
    // Larger ones are no sizes, and their powers of two would not fit.
    if (part.getAsInteger(10, size) || size < 1 || size > INT32_MAX)
      return false;
    symbol.sizes.push_back(size);
  }
  if (!symbol.isList) {
    symbol.least = symbol.sizes.front();
    if (symbol.least > symbol.sizes.back())
      return false;
    symbol.sizes = chooseSizes(symbol.least, symbol.sizes.back());
  }
  llvm::sort(symbol.sizes);
  symbol.sizes.erase(llvm::unique(symbol.sizes), symbol.sizes.end());
  symbol.most = symbol.sizes.back();
  // The last of several says it, as with other flags.
  llvm::erase_if(options.openSymbols,
                 [&](const SymbolSizes &known) { return known.name == name; });
  options.import.symbols.erase(name);
  if (symbol.sizes.size() == 1)
    options.import.symbols[name] = symbol.most;
  else
    options.openSymbols.push_back(std::move(symbol));
  return true;
}

bool frit::parseShape(StringRef spec, DriverOptions &options) {
  auto [symbol, number] = spec.split('=');
  if (spec.contains('=') && !number.contains('x'))
    return !symbol.empty() && parseSymbol(symbol, number, options);
  size_t colon = spec.rfind(':');
  StringRef name = colon == StringRef::npos ? "" : spec.take_front(colon);
  StringRef text = colon == StringRef::npos ? spec : spec.drop_front(colon + 1);
  auto sizes = parseSizes(text);
  if (!sizes)
    return false;
  options.import.inputShapes[name] = *sizes;
  return true;
}

int64_t frit::countVariants(const DriverOptions &options) {
  int64_t count = 1;
  for (const SymbolSizes &symbol : options.openSymbols)
    count = std::min<int64_t>(count * int64_t(symbol.sizes.size()), INT32_MAX);
  return count;
}
