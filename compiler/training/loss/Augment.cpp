//===- Augment.cpp - Batches of images from bytes -------------------------===//
//
//   func.func @main(%x: tensor<8x3x32x32xf32> {nn.name = "image"})
// ==>
//   func.func @main(%bytes: tensor<8x40x40x3xui8> {nn.name = "image"}) {
//     %draws = nn.random_uniform …           // a row, a column, a mirror each
//     %pixels = … the place of each pixel of the crop in the batch
//     %crop = nn.gather %bytes as rows of channels, %pixels
//     %x = (%crop / 255 - mean) / deviation, as channels first
//
// An evaluation takes the crop at the center. Pixels of the padding are black.
//
//===----------------------------------------------------------------------===//

#include "compiler/training/loss/Augment.h"

#include "compiler/training/Training.h"
#include "compiler/transform/Graph.h"
#include "dialects/nn/TensorExpr.h"
#include "dialects/nn/training/Random.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class Augmenter {
public:
  Augmenter(NNBuilder &b, const AugmentOptions &options,
            ArrayRef<int64_t> shape, bool trains)
      : b(b), options(options), trains(trains), samples(shape[0]),
        channels(shape[1]), rows(shape[2]), columns(shape[3]),
        height(options.height ? options.height : rows),
        width(options.width ? options.width : columns) {}

  RankedTensorType inputType() const {
    return RankedTensorType::get(
        {samples, height, width, channels},
        IntegerType::get(b.getContext(), 8, IntegerType::Unsigned));
  }
  bool hasRoom() const { return height >= rows && width >= columns; }
  /// Returns what the model reads, made from the input.
  Value build(Value input);

private:
  TensorExpr number(int64_t value) { return {b, b.integer(value)}; }
  TensorExpr iota(ArrayRef<int64_t> shape, int64_t axis) {
    return {b, b.iota(shape, axis)};
  }
  TensorExpr clamped(TensorExpr x, int64_t size);
  TensorExpr drawnBelow(Value draws, int64_t kind, int64_t count);
  TensorExpr crop(TensorExpr input);
  TensorExpr perChannel(function_ref<double(int64_t)> of);

  NNBuilder &b;
  const AugmentOptions &options;
  bool trains;
  int64_t samples, channels, rows, columns, height, width;
};
} // namespace

TensorExpr Augmenter::clamped(TensorExpr x, int64_t size) {
  Value most = MinOp::create(b, x, number(size - 1));
  return {b, MaxOp::create(b, most, number(0))};
}

/// Returns an integer from 0 to `count` - 1 for each sample, as N×1×1.
TensorExpr Augmenter::drawnBelow(Value draws, int64_t kind, int64_t count) {
  Value own =
      SliceOp::create(b, draws, kind * samples, samples, ArrayRef<int64_t>{1});
  TensorExpr scaled =
      TensorExpr(b, b.reshape(own, {samples, 1, 1})) * double(count);
  // The product may be rounded up to `count`.
  return clamped({b, b.cast(FloorOp::create(b, scaled), b.getI64Type())},
                 count);
}

/// Returns the pixels of each image's crop, N×rows×columns×channels, as f32
/// from 0 to 255.
TensorExpr Augmenter::crop(TensorExpr input) {
  TensorExpr y = iota({1, rows, 1}, 1), x = iota({1, 1, columns}, 2);
  bool pads = trains && options.padding > 0;
  if (trains) {
    Value draws = RandomUniformOp::create(b, number(0), number(0),
                                          ArrayRef<int64_t>{3 * samples}, 0);
    int64_t padding = options.padding;
    if (options.flip > 0) {
      Value own =
          SliceOp::create(b, draws, 2 * samples, samples, ArrayRef<int64_t>{1});
      TensorExpr drawn(b, b.reshape(own, {samples, 1, 1}));
      x = where(drawn < options.flip, number(columns - 1) - x, x);
    }
    y = y + drawnBelow(draws, 0, height + 2 * padding - rows + 1) -
        number(padding);
    x = x + drawnBelow(draws, 1, width + 2 * padding - columns + 1) -
        number(padding);
  } else {
    // As torchvision's CenterCrop, which rounds halves to even.
    y = y + number(std::lrint(double(height - rows) / 2));
    x = x + number(std::lrint(double(width - columns) / 2));
  }
  TensorExpr image = iota({samples, 1, 1}, 0);
  TensorExpr row = pads ? clamped(y, height) : y;
  TensorExpr column = pads ? clamped(x, width) : x;
  TensorExpr pixel = (image * number(height) + row) * number(width) + column;
  Value flat = b.reshape(input, {samples * height * width, channels});
  TensorExpr found(b, b.cast(GatherOp::create(b, flat, pixel), b.getF32Type()));
  if (!pads)
    return found;
  TensorExpr isInside = equal(row, y) & equal(column, x);
  return where({b, b.reshape(isInside, {samples, rows, columns, 1})}, found,
               0.0);
}

/// Returns a number for each channel.
TensorExpr Augmenter::perChannel(function_ref<double(int64_t)> of) {
  SmallVector<float> values;
  for (int64_t channel = 0; channel < channels; ++channel)
    values.push_back(float(of(channel)));
  auto type = RankedTensorType::get({channels}, b.getF32Type());
  return {b,
          ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef(values)),
                             StringAttr())};
}

Value Augmenter::build(Value input) {
  auto deviation = [&](int64_t channel) {
    return options.deviation.empty() ? 1. : options.deviation[channel];
  };
  TensorExpr x = crop({b, input});
  x = x * perChannel([&](int64_t c) { return 1 / (255 * deviation(c)); });
  if (!options.mean.empty())
    x = x -
        perChannel([&](int64_t c) { return options.mean[c] / deviation(c); });
  return TransposeOp::create(b, x, ArrayRef<int64_t>{0, 3, 1, 2});
}

LogicalResult frit::augmentInputs(func::FuncOp main,
                                  const TrainingOptions &options, bool trains) {
  for (const AugmentOptions &augment : options.augment) {
    auto fails = [&] {
      return emitError(locationOf(options, main), "'augment': ");
    };
    BlockArgument argument;
    std::string names;
    for (BlockArgument input : main.getArguments())
      if (auto name = main.getArgAttrOfType<StringAttr>(input.getArgNumber(),
                                                        "nn.name")) {
        if (name == StringRef(augment.input))
          argument = input;
        names += (names.empty() ? "" : ", ") + name.str();
      }
    if (!argument)
      return fails() << "there is no input '" << augment.input
                     << "'; the model's are: " << names;
    auto type = tensorType(argument);
    if (type.getRank() != 4 || !isFloat(argument) || type.getDimSize(1) > 4)
      return fails() << "input '" << augment.input << "' is "
                     << shapeText(type.getShape()) << " of "
                     << type.getElementType()
                     << ", and images are samples x 1 to 4 channels x rows x "
                        "columns of floats";
    NNBuilder b(argument.getLoc(),
                OpBuilder::atBlockBegin(&main.getBody().front()));
    Augmenter augmenter(b, augment, type.getShape(), trains);
    if (!augmenter.hasRoom())
      return fails() << "'height' and 'width' of '" << augment.input
                     << "' must be at least the model's, "
                     << shapeText(type.getShape().drop_front(2));
    for (auto [key, values] : {std::pair("mean", &augment.mean),
                               std::pair("std", &augment.deviation)})
      if (!values->empty() && int64_t(values->size()) != type.getDimSize(1))
        return fails() << "'" << key << "' of '" << augment.input << "' has "
                       << values->size() << " numbers, and the images "
                       << type.getDimSize(1) << " channels";
    argument.setType(augmenter.inputType());
    Value placeholder = b.zeros(type);
    argument.replaceAllUsesWith(placeholder);
    Value image = b.cast(augmenter.build(argument), type.getElementType());
    placeholder.replaceAllUsesWith(image);
    placeholder.getDefiningOp()->erase();
  }
  main.setType(FunctionType::get(main.getContext(),
                                 main.getBody().getArgumentTypes(),
                                 main.getResultTypes()));
  return success();
}
