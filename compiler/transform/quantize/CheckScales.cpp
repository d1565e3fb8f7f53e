//===- CheckScales.cpp - A table of scales beside its model ---------------===//

#include "compiler/transform/quantize/CheckScales.h"

#include "compiler/transform/Names.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

Location ScaleCheck::locationOf(const ProductScales &row) {
  if (table.path.empty())
    return main.getLoc();
  return FileLineColLoc::get(main.getContext(), table.path, row.line, 0);
}

InFlightDiagnostic ScaleCheck::wrong(const ProductScales &row) {
  return emitError(locationOf(row));
}

InFlightDiagnostic ScaleCheck::warn(const ProductScales &row) {
  return emitWarning(locationOf(row));
}

LogicalResult ScaleCheck::check(const QuantizableProduct &product,
                                const ProductScales &row) {
  if (!row.weights.empty() && int64_t(row.weights.size()) != product.columns())
    return wrong(row) << "the node '" << row.node << "' has weights of "
                      << product.columns()
                      << " filters or columns, and the table has "
                      << row.weights.size() << " scales";
  if (!row.smooth.empty() && product.isConv())
    return wrong(row) << "the node '" << row.node
                      << "' is a convolution, and only inputs of products of "
                         "matrices are smoothed";
  if (!row.smooth.empty() && int64_t(row.smooth.size()) != product.depth())
    return wrong(row) << "the node '" << row.node << "' reads rows of "
                      << product.depth() << " numbers, and the table has "
                      << row.smooth.size() << " factors";
  if (row.ofRows && product.isConv())
    return wrong(row) << "the node '" << row.node
                      << "' is a convolution, and only inputs of products of "
                         "matrices have scales of rows";
  return checkWeights(product, row);
}

/// Returns the elements of a constant of f32; none if it is another value.
static ArrayRef<float> numbersOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant)
    return {};
  ArrayRef<char> bytes;
  if (auto resource =
          dyn_cast<DenseResourceElementsAttr>(constant.getValue())) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    bytes = blob ? blob->getData() : ArrayRef<char>();
  } else if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue())) {
    bytes = dense.getRawData();
  }
  return {reinterpret_cast<const float *>(bytes.data()),
          bytes.size() / sizeof(float)};
}

/// Returns the largest magnitude of each filter or column of weights, whose
/// rows are multiplied by the factors of the table.
static std::vector<float> findLargest(const QuantizableProduct &product,
                                      const ProductScales &row,
                                      ArrayRef<float> numbers) {
  auto matmul = dyn_cast<MatmulOp>(product.op);
  bool isLast = matmul && !matmul.getTransposeB();
  size_t columns = row.weights.size(), each = numbers.size() / columns;
  std::vector<float> largest(columns);
  for (auto [i, number] : llvm::enumerate(numbers)) {
    float &most = largest[isLast ? i % columns : i / each];
    size_t depth = isLast ? i / columns : i % each;
    float factor = row.smooth.empty() ? 1 : row.smooth[depth];
    most = std::max(most, std::abs(number * factor));
  }
  return largest;
}

/// Checks that weights are numbers, and that the scales of the table are
/// theirs. Floats of 8 bits must hold them; integers may cut them, after a
/// warning.
LogicalResult ScaleCheck::checkWeights(const QuantizableProduct &product,
                                       const ProductScales &row) {
  Value w = product.weights();
  ArrayRef<float> numbers = numbersOf(w);
  auto *wrongNumber = llvm::find_if_not(
      numbers, [](float number) { return std::isfinite(number); });
  if (wrongNumber != numbers.end())
    return emitError(product.op->getLoc())
           << "its weight " << wrongNumber - numbers.begin() << " is "
           << (std::isnan(*wrongNumber) ? "NaN" : "infinite")
           << ", for which there is no scale; the line \"" << product.node
           << "\" wide of a table of scales leaves it as it is";
  if (row.weights.empty() ||
      int64_t(numbers.size()) != tensorType(w).getNumElements())
    return success();
  // Numbers up to half a step beyond the largest are rounded to it. With fewer
  // codes than kFewest, integers lose half of their bits.
  constexpr float kMostFloat = kMostE4m3 + 16, kMostCode = 127.5, kFewest = 8;
  bool isFloat = row.code == InputCode::e4m3;
  for (auto [column, most] :
       llvm::enumerate(findLargest(product, row, numbers))) {
    float scale = row.weights[column];
    if (isFloat && most > kMostFloat * scale)
      return wrong(row) << "the node '" << row.node << "' has a weight of "
                        << most << " in column or filter " << column
                        << ", which at the scale " << scale
                        << " is beyond 448, the largest number of e4m3";
    bool isCut = most > kMostCode * scale;
    if (isFloat || (!isCut && (most == 0 || most >= kFewest * scale)))
      continue;
    warn(row) << "the node '" << row.node << "' has weights of up to " << most
              << " in column or filter " << column << ", which at the scale "
              << scale
              << (isCut ? " are beyond 127, the largest code"
                        : " are few codes from 0")
              << ": the table may be of other weights; without the line of "
                 "weights, scales are made of these [-Wscales]";
    return success();
  }
  return success();
}

LogicalResult ScaleCheck::checkNames(ArrayRef<QuantizableProduct> products) {
  SmallVector<StringRef> names;
  for (const QuantizableProduct &product : products)
    names.push_back(product.node);
  for (const ProductScales &row : table.rows) {
    if (llvm::is_contained(names, row.node))
      continue;
    std::string pattern;
    for (char c : row.node) {
      if (StringRef("*?[]{}\\").contains(c))
        pattern += '\\';
      pattern += c;
    }
    bool isKnown =
        checkPatterns(pattern, names, "product that can be quantized", "",
                      [&] { return wrong(row); });
    if (!isKnown)
      return failure();
  }
  return success();
}
