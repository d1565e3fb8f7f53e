//===- VariantFailure.cpp - Which sizes a model does have -----------------===//
//
// If a model cannot be imported for a size, others are tried, so that the error
// can say what to give: a table of positions ends somewhere, a window fits into
// no smaller size, and a traced module may hold numbers of the size that it was
// exported with.
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/Variants.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace frit;

/// Numbers of an error's text that are tried as sizes.
static constexpr size_t kMostTried = 8;
/// Sizes after the smallest valid one that must be valid, too.
static constexpr int64_t kMostNeighbors = 8;
/// The largest number whose multiples are tried.
static constexpr int64_t kMostMultiple = 64;

/// Returns the numbers in a text.
static SmallVector<int64_t> numbersIn(StringRef text) {
  SmallVector<int64_t> numbers;
  while (!text.empty()) {
    text = text.drop_until(llvm::isDigit);
    StringRef digits = text.take_while(llvm::isDigit);
    int64_t number;
    if (!digits.getAsInteger(10, number) &&
        !llvm::is_contained(numbers, number))
      numbers.push_back(number);
    text = text.drop_front(digits.size());
  }
  return numbers;
}

/// Returns the range of a symbol's sizes as -fshape takes it.
static std::string rangeText(const SymbolSizes &symbol, int64_t least,
                             int64_t most) {
  std::string text = std::to_string(least) + ".." + std::to_string(most);
  if (symbol.multiple > 1)
    text += "/" + std::to_string(symbol.multiple);
  return text;
}

bool Variants::imports(size_t index, int64_t size) {
  Sizes sizes = largest();
  sizes[index] = size;
  return bool(importQuietly(sizes));
}

bool Variants::explainMost(size_t index, const Mixing &error) {
  const SymbolSizes &symbol = symbols[index];
  auto isValid = [&](int64_t number) {
    return imports(index, servedSize(index, number));
  };
  int64_t last = servedCount(index) - 1;
  if (last < 1 || !isValid(0))
    return false;
  auto firstInvalid =
      llvm::partition_point(llvm::seq<int64_t>(1, last), isValid);
  const int64_t least = servedSize(index, 0),
                most = servedSize(index, *firstInvalid - 1);
  std::string given;
  if (symbol.isList()) {
    for (int64_t size : symbol.sizes)
      if (size <= most)
        given += (given.empty() ? "" : ",") + std::to_string(size);
  } else if (most > least) {
    given = rangeText(symbol, least, most);
  }
  if (given.empty())
    given = std::to_string(most);
  emitError(error.loc) << "'" << symbol.name << "' is at most " << most
                       << " in this model: give -fshape=" << symbol.name << "="
                       << given;
  return true;
}

/// Returns the bounds of the multiples of a number among a symbol's sizes; a
/// pair that is no range if there are not several.
static std::pair<int64_t, int64_t> multiplesIn(const SymbolSizes &symbol,
                                               int64_t number) {
  return {llvm::alignTo(symbol.least, number),
          llvm::alignDown(symbol.most, number)};
}

/// Returns the least number whose multiples are valid for the symbols that
/// `varies` says, as networks need that join what they upsample with what they
/// had before.
std::optional<int64_t>
Variants::validMultiple(const std::vector<bool> &varies) {
  for (int64_t number = 2; number <= kMostMultiple; number *= 2) {
    bool isValid = true, isAny = false;
    for (int64_t i = 0; i <= kMostNeighbors && isValid; ++i) {
      Sizes sizes = largest();
      for (size_t index = 0; index < symbols.size(); ++index) {
        auto [first, last] = multiplesIn(symbols[index], number);
        if (!varies[index] || symbols[index].multiple > 1 || first >= last)
          continue;
        isAny = true;
        int64_t count = (last - first) / number;
        sizes[index] = first + i * count / kMostNeighbors * number;
      }
      isValid = isAny && importQuietly(sizes);
    }
    if (isValid)
      return number;
  }
  return std::nullopt;
}

/// Returns the ranges of multiples that validMultiple found, as -fshape takes
/// them.
std::string Variants::multiplesText(const std::vector<bool> &varies,
                                    int64_t number) const {
  std::string text;
  for (auto [symbol, isVaried] : llvm::zip_equal(symbols, varies)) {
    auto [first, last] = multiplesIn(symbol, number);
    if (isVaried && symbol.multiple == 1 && first < last)
      text += llvm::formatv(" -fshape={0}={1}..{2}/{3}", symbol.name, first,
                            last, number);
  }
  return text;
}

bool Variants::explainMultiple(const Mixing &error) {
  std::vector<bool> all(symbols.size());
  for (auto [symbol, varies] : llvm::zip_equal(symbols, all))
    varies = !symbol.isList();
  std::optional<int64_t> number = validMultiple(all);
  if (number)
    emitError(error.loc) << "sizes that are multiples of " << *number
                         << " fit: give" << multiplesText(all, *number);
  return number.has_value();
}

bool Variants::explainTraced(size_t index, const Mixing &error) {
  const SymbolSizes &symbol = symbols[index];
  SmallVector<int64_t> numbers = numbersIn(error.reason);
  numbers.truncate(std::min(numbers.size(), kMostTried));
  for (int64_t size : numbers) {
    if (size < symbol.least || size >= symbol.most || !imports(index, size))
      continue;
    emitError(error.loc)
        << "the file has numbers of the '" << symbol.name << "' " << size
        << " with which it was exported, as a trace of nn.MultiheadAttention "
           "has: give -fshape="
        << symbol.name << "=" << size
        << ", or export it by torch.onnx.export(…, dynamo=True)";
    return true;
  }
  return false;
}

void Variants::explainFailure(const Mixing &error) {
  for (size_t index = 0; index < symbols.size(); ++index)
    if (explainMost(index, error) || explainTraced(index, error))
      return;
  explainMultiple(error);
}

/// Returns the symbol whose size is why the model does not exist for `sizes`:
/// it does if only that one is the largest.
size_t Variants::findInvalid(const Sizes &sizes) {
  for (size_t index = 0; index < symbols.size(); ++index) {
    Sizes others = sizes;
    others[index] = symbols[index].sizes.back();
    if (importQuietly(others))
      return index;
  }
  return 0;
}

/// Returns the size of a symbol from which on the model exists, if only smaller
/// ones are invalid, as `invalid` is.
std::optional<int64_t> Variants::leastValid(size_t index, int64_t invalid) {
  const SymbolSizes &symbol = symbols[index];
  const int64_t by = symbol.multiple, most = symbol.sizes.back();
  auto isInvalid = [&](int64_t number) {
    return !imports(index, invalid + number * by);
  };
  int64_t last = (most - invalid) / by;
  if (last < 1)
    return std::nullopt;
  int64_t valid =
      *llvm::partition_point(llvm::seq<int64_t>(1, last), isInvalid);
  if (valid == last)
    return std::nullopt; // it may have to be as long as another dimension
  for (int64_t next = valid + 1; next <= std::min(valid + kMostNeighbors, last);
       ++next)
    if (isInvalid(next))
      return std::nullopt;
  return invalid + valid * by;
}

/// Makes listed sizes serve calls from the size on from which the model exists.
/// Returns false if one of them is smaller.
bool Variants::raiseLeast(size_t index, int64_t invalid) {
  std::optional<int64_t> least = leastValid(index, invalid);
  if (!least || *least > symbols[index].sizes.front())
    return false;
  symbols[index].least = *least;
  return true;
}

/// Says of which other symbol one whose size `invalid` is invalid alone is a
/// multiple, or the other of it: the model exists if both change. Empty if
/// there is none.
std::string Variants::findRelation(size_t index, int64_t invalid) {
  for (size_t other = 0; other < symbols.size(); ++other)
    for (bool isWhole : {true, false}) {
      // `whole` is a multiple of `part`.
      size_t whole = isWhole ? index : other, part = isWhole ? other : index;
      Sizes sizes = largest();
      int64_t factor = sizes[whole] / sizes[part];
      if (other == index || sizes[whole] % sizes[part] ||
          (factor == 1 && !isWhole))
        continue;
      sizes[part] = isWhole ? symbols[part].least : invalid;
      sizes[whole] = factor * sizes[part];
      if (sizes[part] == symbols[part].sizes.back() || !importQuietly(sizes))
        continue;
      const std::string &name = symbols[whole].name, &of = symbols[part].name;
      if (factor == 1)
        return llvm::formatv("; '{0}' is as long as '{1}' where it exists: "
                             "give both one name: -fshape={0}={1}",
                             name, of)
            .str();
      return llvm::formatv("; '{0}' is {2} times '{1}' where it exists: give "
                           "-fshape={0}={2}*{1}",
                           name, of, factor)
          .str();
    }
  return "";
}

/// Reports that the model does not exist for some sizes of a symbol.
void Variants::reportInvalid(size_t index, const Mixing &mixing,
                             const Sizes &small) {
  std::string reason = mixing.reason;
  std::optional<int64_t> least;
  if (!symbols[index].isList())
    least = leastValid(index, small[index]);
  std::vector<bool> varies(symbols.size());
  varies[index] = true;
  // The multiples of a number may leave more sizes than those from one on do.
  std::optional<int64_t> number;
  if (!least || symbols[index].most - *least < *least - small[index])
    number = validMultiple(varies);
  InFlightDiagnostic error = emitError(mixing.loc);
  StringRef name = symbols[index].name;
  error << reason << " (for " << sizesText(small) << ")";
  if (number) {
    error << "; sizes that are multiples of " << *number << " fit: give"
          << multiplesText(varies, *number);
    return;
  }
  if (least) {
    error << "; larger sizes fit: begin the range there, as -fshape=" << name
          << "="
          << rangeText(symbols[index], *least, symbols[index].sizes.back());
    return;
  }
  if (std::string found = findRelation(index, small[index]); !found.empty()) {
    error << found;
    return;
  }
  if (symbols.size() > 1)
    error << "; if '" << name
          << "' is always as long as another dimension, give both one name: "
             "-fshape="
          << name << "=" << symbols[index ? 0 : symbols.size() - 1].name;
  if (symbols[index].multiple == 1)
    error << "; if it is always a multiple of some number, say so, as -fshape="
          << name << "=32..512/32";
}
