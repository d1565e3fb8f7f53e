//===- Image.h - Decode and resize images ---------------------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_DATA_IMAGE_H
#define FRIT_TOOLS_FRIT_TRAIN_DATA_IMAGE_H

#include "tools/support/Bytes.h"

namespace frit::train {

using namespace tools;

/// An image of 8 bits per channel, rows × columns × channels.
struct Image {
  uint64_t height = 0, width = 0, channels = 0;
  Storage pixels;
};

/// Pixels of an image at most; a file with more is refused before it is
/// decoded.
inline constexpr uint64_t kMostPixels = uint64_t(1) << 27;

/// Decodes a JPEG or PNG file to red, green and blue. Transparency is left out,
/// and so is the orientation in EXIF. The bytes may be damaged.
Fault decodeImage(Bytes bytes, Image &image);

/// Fits an image to `height` × `width` pixels of 1 channel, its luminance, or
/// of 3: resizes it so that it covers them, with PIL's bilinear filter, and
/// takes the center, as torchvision's Resize and CenterCrop. Writes them to
/// `to`.
void fitImage(const Image &image, uint64_t height, uint64_t width,
              uint64_t channels, uint8_t *to);

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_DATA_IMAGE_H
