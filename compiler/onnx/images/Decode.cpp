//===- Decode.cpp - Decode images -----------------------------------------===//

#include "compiler/onnx/images/Decode.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Error.h"

#include <cstdlib>

using namespace llvm;
using namespace frit::importer;

using Bytes = ArrayRef<uint8_t>;

/// Largest side of an image, so that no file claims a huge one.
static constexpr int64_t kMostSide = 1 << 13;

static StringRef textAt(Bytes bytes, size_t at, size_t size) {
  return StringRef(reinterpret_cast<const char *>(bytes.data()) + at, size);
}

/// Returns an empty image of this size; none if it is out of range.
static std::optional<Image> imageOf(int64_t width, int64_t height) {
  if (width < 1 || width > kMostSide || height < 1 || height > kMostSide)
    return std::nullopt;
  return Image{height, width, {}};
}

static void addPixel(Image &image, uint8_t red, uint8_t green, uint8_t blue) {
  for (uint8_t channel : {red, green, blue})
    image.pixels.push_back(channel);
}

//===----------------------------------------------------------------------===//
// BMP
//===----------------------------------------------------------------------===//

static std::optional<Image> decodeBmp(Bytes bytes) {
  constexpr size_t kHeads = 54;
  if (bytes.size() < kHeads)
    return std::nullopt;
  auto word = [&](size_t at) { return support::endian::read32le(&bytes[at]); };
  auto height = static_cast<int32_t>(word(22));
  unsigned bits = support::endian::read16le(&bytes[28]);
  auto image = imageOf(static_cast<int32_t>(word(18)),
                       std::abs(static_cast<int64_t>(height)));
  if (!image || word(30) != 0 || (bits != 24 && bits != 32))
    return std::nullopt;
  // Rows are multiples of 4 bytes, the lowest first unless the height is
  // negative.
  size_t step = bits / 8, row = (image->width * step + 3) / 4 * 4;
  if (word(10) > bytes.size() || bytes.size() - word(10) < row * image->height)
    return std::nullopt;
  for (int64_t y = 0; y < image->height; ++y) {
    int64_t stored = height < 0 ? y : image->height - 1 - y;
    const uint8_t *pixel = bytes.data() + word(10) + stored * row;
    for (int64_t x = 0; x < image->width; ++x, pixel += step)
      addPixel(*image, pixel[2], pixel[1], pixel[0]);
  }
  return image;
}

//===----------------------------------------------------------------------===//
// PNM
//===----------------------------------------------------------------------===//

/// Decodes P5, gray, or P6, in color.
static std::optional<Image> decodePnm(Bytes bytes) {
  bool isColor = bytes[1] == '6';
  StringRef rest = textAt(bytes, 2, bytes.size() - 2);
  unsigned numbers[3];
  for (unsigned &number : numbers) {
    rest = rest.ltrim();
    while (rest.consume_front("#"))
      rest = rest.drop_until([](char c) { return c == '\n'; }).ltrim();
    if (rest.consumeInteger(10, number))
      return std::nullopt;
  }
  auto image = imageOf(numbers[0], numbers[1]);
  if (!image || numbers[2] != 255 || rest.empty())
    return std::nullopt;
  rest = rest.drop_front(); // one space
  size_t count = image->width * image->height, step = isColor ? 3 : 1;
  if (rest.size() < count * step)
    return std::nullopt;
  for (size_t i = 0; i < count; ++i) {
    StringRef pixel = rest.substr(i * step, step);
    addPixel(*image, pixel.front(), pixel[step / 2], pixel.back());
  }
  return image;
}

//===----------------------------------------------------------------------===//
// PNG
//===----------------------------------------------------------------------===//

/// Undoes the filter of a row, whose pixels have `step` bytes. `above` is the
/// row before it.
static bool unfilter(unsigned kind, MutableArrayRef<uint8_t> row, Bytes above,
                     size_t step) {
  for (size_t i = 0; i < row.size(); ++i) {
    int left = i < step ? 0 : row[i - step], up = above[i];
    int corner = i < step ? 0 : above[i - step];
    int toLeft = std::abs(up - corner), toUp = std::abs(left - corner);
    int toCorner = std::abs(left + up - 2 * corner);
    int nearest = toLeft <= toUp && toLeft <= toCorner ? left
                  : toUp <= toCorner                   ? up
                                                       : corner;
    int added[] = {0, left, up, (left + up) / 2, nearest};
    if (kind >= std::size(added))
      return false;
    row[i] += added[kind];
  }
  return true;
}

static std::optional<Image> decodePng(Bytes bytes) {
  std::optional<Image> image;
  SmallVector<uint8_t> packed;
  unsigned kind = 0;
  // A chunk has a length, a type, its data and a checksum.
  for (size_t at = 8; at <= bytes.size() && bytes.size() - at >= 12;) {
    size_t size = support::endian::read32be(&bytes[at]);
    if (size > bytes.size() - at - 12)
      return std::nullopt;
    StringRef type = textAt(bytes, at + 4, 4);
    Bytes data = bytes.slice(at + 8, size);
    if (type == "IHDR" && size == 13) {
      kind = data[9];
      if (data[8] == 8 && data[12] == 0)
        image = imageOf(support::endian::read32be(&data[0]),
                        support::endian::read32be(&data[4]));
    } else if (type == "IDAT") {
      packed.append(data.begin(), data.end());
    }
    at += size + 12;
  }
  // Gray, color, and both with alpha.
  size_t step = kind == 0 ? 1 : kind == 2 ? 3 : kind == 4 ? 2 : 4;
  if (!image || !(kind == 0 || kind == 2 || kind == 4 || kind == 6) ||
      !compression::zlib::isAvailable())
    return std::nullopt;
  size_t row = image->width * step, size = image->height * (row + 1);
  SmallVector<uint8_t> rows;
  if (auto error = compression::zlib::decompress(packed, rows, size)) {
    consumeError(std::move(error));
    return std::nullopt;
  }
  if (rows.size() != size)
    return std::nullopt;
  SmallVector<uint8_t> above(row, 0);
  for (int64_t y = 0; y < image->height; ++y) {
    MutableArrayRef<uint8_t> own =
        MutableArrayRef(rows).slice(y * (row + 1) + 1, row);
    if (!unfilter(rows[y * (row + 1)], own, above, step))
      return std::nullopt;
    for (int64_t x = 0; x < image->width; ++x) {
      const uint8_t *pixel = &own[x * step];
      bool isColor = step >= 3;
      addPixel(*image, pixel[0], pixel[isColor ? 1 : 0],
               pixel[isColor ? 2 : 0]);
    }
    above.assign(own.begin(), own.end());
  }
  return image;
}

std::optional<Image> frit::importer::decodeImage(Bytes bytes) {
  StringRef all = textAt(bytes, 0, bytes.size());
  if (all.starts_with("BM"))
    return decodeBmp(bytes);
  if (all.starts_with("P5") || all.starts_with("P6"))
    return decodePnm(bytes);
  if (all.starts_with("\x89PNG\r\n\x1a\n"))
    return decodePng(bytes);
  return std::nullopt;
}
