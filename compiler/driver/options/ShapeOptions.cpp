//===- ShapeOptions.cpp - -fshape -----------------------------------------===//

#include "compiler/driver/options/ShapeOptions.h"

#include "compiler/import/InputShapes.h"

#include "mlir/IR/BuiltinTypeInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace frit;
using llvm::StringRef;

/// Returns the bounds of a range and the powers of two, times `multiple`,
/// between them. Padding then at most doubles the work.
static std::vector<int64_t> chooseSizes(int64_t least, int64_t most,
                                        int64_t multiple) {
  std::vector<int64_t> sizes = {least};
  for (int64_t size = multiple; size < most; size *= 2)
    if (size > least)
      sizes.push_back(size);
  if (most != least)
    sizes.push_back(most);
  return sizes;
}

/// Joins ranges that overlap or touch; sorts them.
static void joinRanges(std::vector<std::pair<int64_t, int64_t>> &ranges) {
  llvm::sort(ranges);
  size_t count = 0;
  for (auto [first, last] : ranges)
    if (count > 0 && first <= ranges[count - 1].second)
      ranges[count - 1].second = std::max(ranges[count - 1].second, last);
    else
      ranges[count++] = {first, last};
  ranges.resize(count);
}

/// Reads the sizes of a symbol: `8`, `1..64`, `1,8,64` or `1..64,128`. After
/// them, `/32` says that they are the multiples of 32 among these, and all of
/// these numbers must be multiples.
static bool parseSymbol(StringRef name, StringRef text, ImportOptions &import,
                        std::vector<SymbolSizes> &openSymbols) {
  SymbolSizes symbol;
  symbol.name = name.str();
  auto [sizes, multiple] = text.split('/');
  if (text.contains('/') &&
      (multiple.getAsInteger(10, symbol.multiple) || symbol.multiple < 1 ||
       symbol.multiple > INT32_MAX))
    return false;
  llvm::SmallVector<StringRef> parts;
  sizes.split(parts, ',');
  for (StringRef part : parts) {
    auto [first, last] = part.split("..");
    int64_t least, most;
    // Larger numbers are not sizes, and their powers of two would overflow.
    if (first.getAsInteger(10, least) || least < 1 || least > INT32_MAX)
      return false;
    most = least;
    if (part.contains("..") &&
        (last.getAsInteger(10, most) || most < least || most > INT32_MAX))
      return false;
    if (least % symbol.multiple || most % symbol.multiple)
      return false;
    symbol.ranges.push_back({least, most});
    llvm::append_range(symbol.sizes, chooseSizes(least, most, symbol.multiple));
  }
  joinRanges(symbol.ranges);
  llvm::sort(symbol.sizes);
  symbol.sizes.erase(llvm::unique(symbol.sizes), symbol.sizes.end());
  // Listed sizes serve all below them.
  symbol.least = symbol.isList() ? symbol.multiple : symbol.sizes.front();
  symbol.most = symbol.sizes.back();
  // The last of several flags counts.
  llvm::erase_if(openSymbols,
                 [&](const SymbolSizes &known) { return known.name == name; });
  import.symbols.erase(name);
  if (symbol.sizes.size() == 1)
    import.symbols[name] = symbol.most;
  else
    openSymbols.push_back(std::move(symbol));
  return true;
}

/// Reads `input:1x3` or `1x3`, where each size may be a list or range.
static bool parseInput(StringRef spec, ImportOptions &import,
                       std::vector<SymbolSizes> &openSymbols) {
  size_t colon = spec.rfind(':');
  StringRef name = colon == StringRef::npos ? "" : spec.take_front(colon);
  StringRef text = colon == StringRef::npos ? spec : spec.drop_front(colon + 1);
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<StringRef> parts;
  if (text != "scalar")
    text.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t size;
    if (part.contains("..") || part.contains(',')) {
      std::string symbol = importer::openDimName(name, sizes.size());
      if (!parseSymbol(symbol, part, import, openSymbols))
        return false;
      // A single size fixes the symbol.
      size = mlir::ShapedType::kDynamic;
    } else if (part.getAsInteger(10, size) || size < 0) {
      return false;
    }
    sizes.push_back(size);
  }
  import.inputShapes[name] = sizes;
  return true;
}

bool frit::parseShape(StringRef spec, ImportOptions &import,
                      std::vector<SymbolSizes> &openSymbols) {
  auto [symbol, text] = spec.split('=');
  if (!spec.contains('=') || symbol.empty())
    return parseInput(spec, import, openSymbols);
  // A name for a dimension that has none, or another: x.0=batch. The dimension
  // may be a multiple of one that has the name: y.0=2*batch.
  StringRef name = text.drop_while(llvm::isDigit);
  if (name.size() < text.size() && !name.consume_front("*"))
    name = "";
  if (!name.empty() && !llvm::isDigit(name.front()) && !text.contains(':')) {
    import.dimNames[symbol] = text.str();
    return true;
  }
  return text.contains('x') ? parseInput(spec, import, openSymbols)
                            : parseSymbol(symbol, text, import, openSymbols);
}

std::string frit::suggestSizes(std::vector<SymbolSizes> openSymbols) {
  std::vector<std::vector<int64_t>> before;
  for (const SymbolSizes &symbol : openSymbols)
    before.push_back(symbol.sizes);
  while (countVariants(openSymbols) > kMostVariants) {
    // Of the dimension with most sizes, leave out one between two that are
    // near. The first two say where a range begins, and the last where it ends.
    SymbolSizes &symbol = *llvm::max_element(
        openSymbols, [](const SymbolSizes &a, const SymbolSizes &b) {
          return a.sizes.size() < b.sizes.size();
        });
    std::vector<int64_t> &sizes = symbol.sizes;
    if (sizes.size() < 4 || symbol.ranges.size() != 1)
      return "";
    size_t best = 2;
    for (size_t i = 3; i + 1 < sizes.size(); ++i)
      if (sizes[i + 1] * sizes[best - 1] < sizes[best + 1] * sizes[i - 1])
        best = i;
    sizes.erase(sizes.begin() + best);
  }
  std::string text;
  for (auto [symbol, sizes] : llvm::zip_equal(openSymbols, before)) {
    if (symbol.sizes == sizes)
      continue;
    text += " -fshape=" + symbol.name + "=" + std::to_string(sizes[0]) + "..";
    text +=
        llvm::join(llvm::map_range(llvm::drop_begin(symbol.sizes),
                                   [](int64_t n) { return std::to_string(n); }),
                   ",");
    if (symbol.multiple > 1)
      text += "/" + std::to_string(symbol.multiple);
  }
  return text;
}

int64_t frit::countVariants(llvm::ArrayRef<SymbolSizes> openSymbols) {
  int64_t count = 1;
  for (const SymbolSizes &symbol : openSymbols)
    count = std::min<int64_t>(count * int64_t(symbol.sizes.size()), INT32_MAX);
  return count;
}
