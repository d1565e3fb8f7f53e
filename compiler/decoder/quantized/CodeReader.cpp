//===- CodeReader.cpp - Scales, groups and codes of a matrix --------------===//

#include "compiler/decoder/quantized/CodeReader.h"

#include "compiler/import/Elements.h"
#include "dialects/nn/NN.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

static constexpr StringRef kFloats[] = {"f16", "bf16", "f32"};

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

bool CodeReader::hasType(StringRef name, ElementsAttr value,
                         ArrayRef<StringRef> types) const {
  std::string own;
  llvm::raw_string_ostream(own) << value.getElementType();
  if (llvm::is_contained(types, own))
    return true;
  tensors.fail(name) << "has elements of the type " << own << ", not "
                     << llvm::join(types, " or ");
  return false;
}

bool CodeReader::hasShape(StringRef name, ElementsAttr value,
                          ArrayRef<int64_t> shape) const {
  ArrayRef<int64_t> own = value.getShapedType().getShape();
  if (own == shape)
    return true;
  int64_t whole[] = {rows, columns};
  tensors.fail(name) << "has the shape " << nn::shapeText(own) << ", but "
                     << nn::shapeText(shape) << " belongs to a matrix of "
                     << nn::shapeText(whole);
  return false;
}

int64_t CodeReader::bitsOf(
    StringRef name, ElementsAttr words,
    llvm::function_ref<SmallVector<int64_t>(int64_t bits)> shapeOf) const {
  static constexpr int64_t all[] = {2, 4, 8};
  ArrayRef<int64_t> known =
      scheme.bits.empty() ? ArrayRef(all) : ArrayRef(scheme.bits);
  ArrayRef<int64_t> shape = words.getShapedType().getShape();
  for (int64_t bits : known)
    if (shape == ArrayRef(shapeOf(bits)))
      return bits;
  int64_t whole[] = {rows, columns};
  tensors.fail(name) << "has the shape " << nn::shapeText(shape) << ", but "
                     << nn::shapeText(shapeOf(known[0]))
                     << " belongs to a matrix of " << nn::shapeText(whole)
                     << " in " << known[0] << " bits";
  return 0;
}

ElementsAttr CodeReader::need(StringRef suffix, StringRef codes,
                              ArrayRef<StringRef> types) {
  std::string name = nameOf(suffix);
  ElementsAttr value = tensors.read(name);
  if (!value) {
    emitError(tensors.locate(tensors.fileOf(nameOf(codes))))
        << "lacks the tensor '" << name << "', which the codes of '"
        << nameOf(codes) << "' need";
    return {};
  }
  return hasType(name, value, types) ? value : ElementsAttr();
}

std::optional<Grid> CodeReader::finiteGrid(StringRef name, ElementsAttr value,
                                           bool transposed) const {
  ArrayRef<int64_t> shape = value.getShapedType().getShape();
  Grid grid{1, 1, numbersOf(value)};
  if (!llvm::all_of(grid.numbers, [](float x) { return std::isfinite(x); })) {
    tensors.fail(name) << "has a number that is not finite";
    return std::nullopt;
  }
  if (!shape.empty())
    grid.rows = shape[0];
  if (shape.size() > 1)
    grid.groups = shape[1];
  if (!transposed)
    return grid;
  Grid turned{grid.groups, grid.rows, std::vector<float>(grid.numbers.size())};
  for (int64_t row = 0; row < turned.rows; ++row)
    for (int64_t group = 0; group < turned.groups; ++group)
      turned.numbers[row * turned.groups + group] =
          grid.numbers[group * grid.groups + row];
  return turned;
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

std::optional<ColumnGroups>
CodeReader::groups(StringRef order, StringRef scales, int64_t count) {
  std::string name = nameOf(order);
  if (ElementsAttr value =
          order.empty() ? ElementsAttr() : tensors.read(name)) {
    if (!hasType(name, value, {"i32"}) || !hasShape(name, value, {columns}))
      return std::nullopt;
    std::vector<int32_t> own = integersOf(value);
    // compressed-tensors writes -1 for all columns if there is no order.
    if (llvm::any_of(own, [](int32_t group) { return group != -1; })) {
      auto made = orderedGroups(own, count);
      if (!made)
        tensors.fail(name) << "has other groups than 0 to " << count - 1
                           << ", which '" << nameOf(scales) << "' has";
      return made;
    }
  }
  for (int64_t size : scheme.groupSizes) {
    int64_t each = size == -1 ? columns : size;
    if (llvm::divideCeil(columns, each) == uint64_t(count))
      return evenGroups(columns, each);
  }
  if (scheme.groupSizes.empty() && columns % count == 0)
    return evenGroups(columns, columns / count);
  tensors.fail(nameOf(scales))
      << "has " << count << " scales for " << columns
      << " columns, which is not as \"group_size\" of config.json says";
  return std::nullopt;
}

std::optional<CodeReader::Scales> CodeReader::wordScales(StringRef codes,
                                                         StringRef order) {
  ElementsAttr value = need(".scales", codes, kFloats);
  if (!value)
    return std::nullopt;
  ArrayRef<int64_t> shape = value.getShapedType().getShape();
  int64_t count = shape.size() == 2 ? std::max<int64_t>(shape[0], 1) : 1;
  if (!hasShape(nameOf(".scales"), value, {count, rows}))
    return std::nullopt;
  auto grid = finiteGrid(nameOf(".scales"), value, /*transposed=*/true);
  auto columnGroups = groups(order, ".scales", count);
  if (!grid || !columnGroups)
    return std::nullopt;
  return Scales{std::move(*grid), 1, std::move(*columnGroups)};
}

std::optional<CodeReader::Scales>
CodeReader::rowScales(StringRef suffix, StringRef codes, bool hasBlocks) {
  ElementsAttr value = need(suffix, codes, kFloats);
  if (!value)
    return std::nullopt;
  std::string name = nameOf(suffix);
  SmallVector<int64_t> shape(value.getShapedType().getShape());
  bool isOne = shape.size() <= 2 && value.getNumElements() == 1;
  bool isByRow = !shape.empty() && shape.size() <= 2 && shape[0] == rows;
  int64_t blocks[] = {int64_t(llvm::divideCeil(rows, scheme.blockRows)),
                      int64_t(llvm::divideCeil(columns, scheme.blockColumns))};
  bool isByBlock = hasBlocks && ArrayRef(shape) == ArrayRef(blocks);
  if (!isOne && !isByBlock &&
      (!isByRow || (shape.size() == 2 && shape[1] < 1))) {
    int64_t whole[] = {rows, columns};
    InFlightDiagnostic error = tensors.fail(name);
    error << "has the shape " << nn::shapeText(shape) << ", but a matrix of "
          << nn::shapeText(whole) << " has 1, " << rows << "x1";
    if (hasBlocks)
      error << " or, in blocks of " << scheme.blockRows << "x"
            << scheme.blockColumns << ", " << nn::shapeText(blocks)
            << " scales";
    else
      error << " or " << rows << " times its groups of scales";
    return std::nullopt;
  }
  auto grid = finiteGrid(name, value, /*transposed=*/false);
  if (!grid)
    return std::nullopt;
  if (isOne)
    return Scales{std::move(*grid), rows, evenGroups(columns, columns)};
  if (isByBlock && !isByRow)
    return Scales{std::move(*grid), scheme.blockRows,
                  evenGroups(columns, scheme.blockColumns)};
  auto columnGroups = groups(".weight_g_idx", suffix, grid->groups);
  if (!columnGroups)
    return std::nullopt;
  return Scales{std::move(*grid), 1, std::move(*columnGroups)};
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

CodedMatrix CodeReader::make(nn::Code code, ArrayRef<char> bytes,
                             std::shared_ptr<const void> owner,
                             const Scales &scales,
                             ArrayRef<float> offsets) const {
  MLIRContext &context = *tensors.locate("").getContext();
  std::string name = nameOf(".weight");
  CodedMatrix made{code, {}, {}, {}, {}};
  int64_t rowBytes = columns * nn::bitsOf(code) / 8;
  Type u8 = IntegerType::get(&context, 8, IntegerType::Unsigned);
  made.codes =
      importer::makeElements(RankedTensorType::get({rows, rowBytes}, u8),
                             {bytes, std::move(owner)}, name + ".codes");
  Factors factors = makeFactors(name, rows, scales.together, scales.columns,
                                scales.grid, offsets, context);
  made.scales = factors.scales;
  made.offsets = factors.offsets;
  ArrayRef<int32_t> places = scales.columns.places;
  if (places.empty())
    return made;
  std::vector<int32_t> order(places.size());
  for (auto [column, place] : llvm::enumerate(places))
    order[place] = int32_t(column);
  made.order = DenseElementsAttr::get(
      RankedTensorType::get({columns}, IntegerType::get(&context, 32)),
      ArrayRef<int32_t>(order));
  return made;
}

CodedMatrix
CodeReader::make(const Integers &integers, ArrayRef<char> stored,
                 llvm::function_ref<void(const CodeSink &)> write) const {
  const Scales &scales = integers.scales;
  bool isFour = integers.bits <= 4 && columns % 2 == 0;
  nn::Code code = isFour ? nn::Code::int4 : nn::Code::int8;
  // A code stands for itself minus `middle`. If all zero points are alike, the
  // codes move by what they differ from that; else offsets make up for it.
  int middle = isFour ? 8 : 128, top = (1 << integers.bits) - 1;
  ArrayRef<int32_t> zeros = integers.zeros;
  int shift = middle - (zeros.empty() ? 1 << (integers.bits - 1) : zeros[0]);
  std::vector<float> offsets;
  if (!llvm::all_equal(zeros) || shift < 0 || shift + top >= 2 * middle) {
    shift = 0;
    for (auto [scale, zero] : llvm::zip_equal(scales.grid.numbers, zeros))
      offsets.push_back(scale * float(middle - zero));
  }
  ArrayRef<int32_t> places = scales.columns.places;
  if (!stored.empty() && shift == 0 && places.empty() &&
      integers.bits == nn::bitsOf(code))
    return make(code, stored, nullptr, scales, offsets);
  int64_t rowBytes = columns * nn::bitsOf(code) / 8;
  auto owner = std::make_shared<std::vector<char>>(size_t(rows * rowBytes));
  write({reinterpret_cast<uint8_t *>(owner->data()), rowBytes, isFour, shift,
         places.empty() ? nullptr : places.data()});
  return make(code, ArrayRef<char>(owner->data(), owner->size()), owner, scales,
              offsets);
}
