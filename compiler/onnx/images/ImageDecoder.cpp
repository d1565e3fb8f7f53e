//===- ImageDecoder.cpp - Images that a model has -------------------------===//

#include "compiler/onnx/images/Decode.h"
#include "compiler/onnx/reader/Expr.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Imports ImageDecoder, whose bytes must be known when compiling.
static Results imageDecoder(Node &node) {
  StringRef format = node.string("pixel_format", "RGB");
  auto numbers = node.integers(0);
  if (!numbers)
    return {};
  if (format != "RGB" && format != "BGR" && format != "Grayscale") {
    node.error() << "pixel_format '" << format << "' is not supported";
    return {};
  }
  std::vector<uint8_t> bytes(numbers->begin(), numbers->end());
  std::optional<Image> image = decodeImage(bytes);
  if (!image) {
    node.error() << "decodes BMP, PNM and PNG with 8 bits a channel, which "
                    "this is not; give the model the pixels";
    return {};
  }
  std::vector<uint8_t> pixels;
  for (size_t i = 0; i < image->pixels.size(); i += 3) {
    const uint8_t *rgb = &image->pixels[i];
    if (format == "RGB")
      pixels.insert(pixels.end(), {rgb[0], rgb[1], rgb[2]});
    else if (format == "BGR")
      pixels.insert(pixels.end(), {rgb[2], rgb[1], rgb[0]});
    else // ITU-R 601-2
      pixels.push_back(
          (rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 32768) >> 16);
  }
  int64_t channels = format == "Grayscale" ? 1 : 3;
  auto type = RankedTensorType::get(
      {image->height, image->width, channels},
      IntegerType::get(node.context(), 8, IntegerType::Unsigned));
  return {node.constant(DenseElementsAttr::get(type, ArrayRef(pixels)))};
}

ArrayRef<Hook> frit::importer::imageHooks() {
  static constexpr Hook hooks[] = {
      {"ImageDecoder", 20, 1, 1, imageDecoder},
  };
  return hooks;
}
