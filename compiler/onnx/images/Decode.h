//===- Decode.h - Decode images -------------------------------------------===//

#ifndef FRIT_COMPILER_ONNX_IMAGES_DECODE_H
#define FRIT_COMPILER_ONNX_IMAGES_DECODE_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace frit::importer {

/// An image of 8 bits a channel, red first, row by row from the top.
struct Image {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> pixels; ///< 3 bytes each
};

/// Decodes the bytes of an uncompressed BMP, a binary PNM or a PNG without
/// interlacing. None if they are something else, or damaged.
std::optional<Image> decodeImage(llvm::ArrayRef<uint8_t> bytes);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_IMAGES_DECODE_H
