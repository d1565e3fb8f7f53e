//===- ByteRows.cpp - Convolutions of few channels of bytes ---------------===//
//
// The skeleton byte_rows: convolutions whose rows of x lie in shared memory, so
// that TMA is not asked for each pixel once per tap (byte_rows.cuh), also with
// the pointwise convolution that follows (byte_chain.cuh).
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/integer/ByteTiles.h"
#include "codegen/cuda/integer/IntegerText.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Neighbouring columns of a thread, and matrices of 8 columns that are dealt
/// out together if codes become an operand.
static constexpr int64_t kRowNeighbours = 8, kChainedGroup = 2;
/// Maximum tiles whose rows of x are in shared memory and blocks per SM, and
/// minimum tiles per block, which loads the filters once.
static constexpr int64_t kMostTilesOfRows = 4, kMostBlocksOfRows = 2,
                         kLeastRowTiles = 2;
/// Minimum part of the pixels of a tile that are pixels of y.
static constexpr double kLeastRowFill = 0.75;

namespace {
/// Shared memory of either kernel.
struct RowsLayout {
  ByteRowsLayout rows;
  int64_t filters = 0; ///< of the pointwise convolution; 0 without one

  ByteChainLayout chain() const { return {rows, filters}; }
  bool fits() const { return filters ? chain().fits() : rows.fits(); }
  int64_t sharedBytes() const {
    return filters ? chain().sharedBytes() : rows.sharedBytes();
  }
};
} // namespace

/// Returns the convolution whose rows lie in shared memory.
static IntegerProduct rowsOf(const IntegerProduct &product) {
  return product.isChain ? describeFirst(product) : product;
}

static RowsLayout layOutRows(const IntegerProduct &product, int64_t stages,
                             int64_t occupancy) {
  IntegerProduct conv = rowsOf(product);
  return {{conv.c, conv.k, conv.r, conv.s, conv.w, conv.q, stages, occupancy},
          product.isChain ? product.k : 0};
}

static int64_t countRowTiles(const IntegerProduct &product) {
  return product.n *
         ceilDiv(product.p, layOutRows(product, 1, 1).rows.tileRows());
}

/// Returns why byte_rows.cuh does not compute a convolution.
static nn::Legality checkRows(const IntegerProduct &conv) {
  if (conv.strideH * conv.strideW * conv.dilationH * conv.dilationW != 1)
    return nn::Mismatch("it has strides or dilations");
  bool isLine = conv.c == 16 || conv.c == 32 || conv.c == 64;
  if (!isLine || conv.s * conv.c % 32)
    return nn::Mismatch("its channels are neither 16, 32 nor 64, or those of a "
                        "row of taps no multiple of 32");
  if (conv.k != 32 && conv.k != 64 && conv.k != 128)
    return nn::Mismatch("its filters are neither 32, 64 nor 128");
  int64_t most = ByteRowsLayout::groups * ByteRowsLayout::pixels;
  if (conv.q > most)
    return nn::Mismatch("its rows have more than " + Twine(most) + " pixels");
  bool isPadded = conv.padTop || conv.padLeft || conv.p + conv.r - 1 > conv.h ||
                  conv.q + conv.s - 1 > conv.w;
  if (isPadded && layOutRows(conv, 1, 1).rows.isBare())
    return nn::Mismatch("it pads 16 channels");
  return std::nullopt;
}

/// Returns why the skeleton does not compute a convolution, or two.
static nn::Legality checkByteRows(const IntegerProduct &product,
                                  const Machine &machine) {
  if (machine.arch.mma != Mma::wgmma)
    return nn::Mismatch("the target has no WGMMA");
  if ((product.first && !product.isChain) || product.hasFloats())
    return nn::Mismatch("it adds two products, or multiplies floats");
  if (!product.isCentered)
    return nn::Mismatch("its zero points are not known to be 0");
  if (!product.isChain)
    return checkRows(product);
  IntegerProduct first = describeFirst(product);
  if (!isByteProduct(product) || product.k % ByteChainLayout::columns)
    return nn::Mismatch("its second convolution is not pointwise, or has no "
                        "multiple of 128 filters");
  if (first.k > 64 || first.c == ByteRowsLayout::bareBytes)
    return nn::Mismatch("its first convolution has more than 64 filters, or 16 "
                        "channels");
  return checkRows(first);
}

/// Returns the numbers of a schedule that pays; stages are 0 if none does.
static std::pair<int64_t, int64_t> numbersFor(const IntegerProduct &product,
                                              const Machine &machine) {
  IntegerProduct conv = rowsOf(product);
  int64_t tiles = countRowTiles(product), occupancy = kMostBlocksOfRows;
  double fill = double(product.pixels()) /
                double(tiles * ByteRowsLayout::groups * ByteRowsLayout::pixels);
  if (checkByteRows(product, machine) || conv.r * conv.s == 1 ||
      fill < kLeastRowFill ||
      tiles < kLeastRowTiles * occupancy * machine.arch.sms)
    return {0, occupancy};
  int64_t stages = kMostTilesOfRows;
  while (stages > 0 && !layOutRows(product, stages, occupancy).fits())
    --stages;
  return {stages, occupancy};
}

std::optional<nn::Schedule>
frit::cuda::chooseByteRows(const IntegerProduct &product, Problem &problem,
                           const Machine &machine) {
  auto [stages, occupancy] = numbersFor(product, machine);
  if (stages == 0)
    return std::nullopt;
  return ByteRowsAttr::get(
      problem.context(), stages, occupancy,
      machine.arch.persistentBlocks(countRowTiles(product), occupancy));
}

LogicalResult
ByteRowsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                     int64_t stages, int64_t occupancy, int64_t blocks) {
  return requireRanges(emitError, {{"stages", stages, 1, kMostStages},
                                   {"occupancy", occupancy, 1, 4},
                                   {"blocks", blocks, 0, kMostBlocks}});
}

namespace {
/// What the kernel is printed from.
struct FittedRows {
  IntegerProduct product;
  RowsLayout layout;
  IntegerEnd end;
};

class ByteRows : public TunedSkeletonOf<ByteRowsAttr, FittedRows> {
  double compileMilliseconds() const override { return 250; }

  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() == Problem::Kind::quantized)
      (void)offerChosen<ByteRowsAttr>(problem, machine, offers);
    return std::nullopt;
  }

  bool canFusePair(ArrayRef<Operation *> operators,
                   const Machine &machine) const override {
    auto product = describeChain(operators);
    return product && numbersFor(*product, machine).first > 0;
  }

  std::optional<nn::StepCost> costOf(Problem &problem, ByteRowsAttr schedule,
                                     const Machine &machine) const override {
    nn::StepCost cost =
        costOfMemory(problem.fusion(), /*perThread=*/1, machine.arch);
    return nn::StepCost{cost.microseconds, 1};
  }

  nn::Match<FittedRows> fit(Problem &problem, ByteRowsAttr schedule,
                            const Machine &machine) const override {
    auto product = describeFor(problem.fusion(), machine);
    if (!product)
      return product.mismatch();
    if (nn::Legality why = checkByteRows(*product, machine))
      return *why;
    RowsLayout layout =
        layOutRows(*product, schedule.getStages(), schedule.getOccupancy());
    if (!layout.fits())
      return nn::Mismatch("its rows and filters do not fit into shared memory");
    if (nn::Legality why =
            checkBlocks(schedule.getBlocks(), countRowTiles(*product)))
      return *why;
    auto end = printEnd(*product, problem.lowered(), kRowNeighbours);
    if (!end)
      return end.mismatch();
    return FittedRows{*product, layout, *end};
  }

  KernelText print(FittedRows &fitted, Problem &problem, ByteRowsAttr schedule,
                   StringRef name) const override;
};
} // namespace

static unsigned argumentOf(Value operand) {
  return cast<BlockArgument>(operand).getArgNumber();
}

/// Returns the map of rows of x.
static artifact::TensorMap mapOfRows(IntegerProduct product,
                                     const ByteRowsLayout &layout) {
  int64_t c = product.c;
  artifact::TensorMap map = tensorMap(
      argumentOf(product.op.getX()),
      nn::tensorType(product.op.getX()).getElementType(),
      {c, product.w, product.h, product.n},
      {c, c * product.w, c * product.w * product.h}, {c, layout.width(), 1, 1});
  map.swizzle = c;
  return map;
}

/// Returns the map of boxes of a tensor with a byte for each sum.
static artifact::TensorMap mapOfRowBoxes(const IntegerProduct &product,
                                         unsigned argument, Type element) {
  int64_t k = product.k;
  artifact::TensorMap map =
      tensorMap(argument, element, {k, product.q, product.n * product.p},
                {k, k * product.q}, {ByteChainLayout::columns, kBoxLines, 1});
  map.swizzle = kLineBytes;
  return map;
}

KernelText ByteRows::print(FittedRows &fitted, Problem &problem,
                           ByteRowsAttr schedule, StringRef name) const {
  const auto &[product, layout, end] = fitted;
  const LinalgFusion &lowered = problem.lowered();
  IntegerProduct conv = rowsOf(product);
  nn::QuantizedConvOp op = product.op;
  KernelText kernel;
  std::string maps;
  auto addMap = [&](artifact::TensorMap map) {
    maps += ", &m" + std::to_string(kernel.tensorMaps.size());
    kernel.tensorMaps.push_back(std::move(map));
  };
  std::string x = parameterOf(conv.op.getX());
  std::string operands =
      ", " + x + ", " + parameterOf(conv.op.getW()) + zeroParameters(conv);
  std::string problemText =
      name.str() + "_product{" + argumentList(lowered) + "}";
  std::string function, floor, constants;
  if (product.isChain) {
    kernel.header = "byte_chain";
    addMap(mapOfRows(conv, layout.rows));
    addMap(mapOfFilters(conv, conv.k, kChainedGroup));
    addMap(mapOfFilters(product, ByteChainLayout::columns));
    // As byte_chain.cuh decides from the end's text.
    SmallVector<Type> inputs(lowered.inputElements());
    if (end.readsBoxes)
      addMap(mapOfRowBoxes(product, *product.boxed, inputs[*product.boxed]));
    else
      maps += ", nullptr";
    Type stored = elementType(lowered.outputs().front());
    if (end.storesBoxes && storageBytes(stored) == 1)
      addMap(mapOfRowBoxes(product, unsigned(inputs.size()), stored));
    problemText += ", " + name.str() + "_first{" + problemText + "}";
    function = "frit::byteChain(" + problemText + maps;
    floor = "frit::byteChainFloor(" + problemText + operands + ", " +
            parameterOf(op.getW());
    constants = constantsText(
        "int", {{"split", 1}, {"tileN", ByteChainLayout::columns}});
  } else {
    kernel.header = "byte_rows";
    addMap(mapOfFilters(conv, conv.k));
    if (!layout.rows.isBare())
      addMap(mapOfRows(conv, layout.rows));
    function = "frit::byteRows(" + problemText + ", " + x + maps;
    floor = "frit::byteFloor(" + problemText + operands;
  }
  constants += constantsText("int", {{"stages", schedule.getStages()},
                                     {"blocks", schedule.getOccupancy()}});
  printProduct(
      kernel, product, end, lowered, name, constants,
      {.threads = layout.rows.threads(), .occupancy = schedule.getOccupancy()},
      callOrFloor(function, floor));
  kernel.grid[0] = launchBlocks(schedule.getBlocks(), countRowTiles(product));
  kernel.sharedBytes = layout.sharedBytes();
  kernel.sums = product.isChain ? ByteChainLayout::columns / 2 : product.k / 2;
  return kernel;
}

template <> std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<ByteRowsAttr>() {
  return std::make_unique<ByteRows>();
}
