//===- VariantFailure.cpp - Which sizes a model does have -----------------===//
//
// If a model cannot be imported for the largest size, other sizes are tried, so
// that the error can say what to give: a table of positions ends somewhere, and
// a traced module may hold numbers of the size that it was exported with.
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/Variants.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace frit;

/// Numbers of an error's text that are tried as sizes.
static constexpr size_t kMostTried = 8;

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

bool Variants::imports(size_t index, int64_t size) {
  Sizes sizes = largest();
  sizes[index] = size;
  return bool(importQuietly(sizes));
}

bool Variants::explainMost(size_t index, const Mixing &error) {
  const SymbolSizes &symbol = symbols[index];
  int64_t low = 0, high = servedCount(index) - 1;
  if (high < 1 || !imports(index, servedSize(index, low)))
    return false;
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    (imports(index, servedSize(index, middle)) ? low : high) = middle;
  }
  const int64_t least = servedSize(index, 0), most = servedSize(index, low);
  std::string given;
  if (symbol.isList()) {
    for (int64_t size : symbol.sizes)
      if (size <= most)
        given += (given.empty() ? "" : ",") + std::to_string(size);
  } else if (most > least) {
    given = std::to_string(least) + ".." + std::to_string(most) +
            (symbol.multiple > 1 ? "/" + std::to_string(symbol.multiple) : "");
  }
  if (given.empty())
    given = std::to_string(most);
  emitError(error.loc) << "'" << symbol.name << "' is at most " << most
                       << " in this model: give -fshape=" << symbol.name << "="
                       << given;
  return true;
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
}
