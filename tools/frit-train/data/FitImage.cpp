//===- FitImage.cpp - Resize images ---------------------------------------===//
//
// The filter of PIL: a triangle as wide as two pixels of the result, or of the
// image if that has fewer. Columns and then rows are filtered, each with
// weights of 22 bits behind the point, and rounded to 8 bits.
//
//===----------------------------------------------------------------------===//

#include "tools/frit-train/data/Image.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace frit::train;

/// Bits of a weight behind the point, as PIL's PRECISION_BITS.
static constexpr int kWeightBits = 22;

namespace {
/// The part of an image that is kept along one axis.
struct Axis {
  uint64_t from;    ///< pixels of the image
  uint64_t resized; ///< pixels of the whole, resized
  uint64_t first;   ///< the first that is kept
  uint64_t kept;
};

/// The pixels of an image that make one of the result, and their weights.
struct Taps {
  uint64_t first = 0;
  std::vector<int32_t> weights;
};
} // namespace

static std::vector<Taps> tapsOf(const Axis &axis) {
  double scale = double(axis.from) / double(axis.resized);
  double support = std::max(scale, 1.);
  std::vector<Taps> all(axis.kept);
  for (uint64_t i = 0; i < axis.kept; ++i) {
    double center = (double(i + axis.first) + 0.5) * scale;
    int64_t first = std::max<int64_t>(int64_t(center - support + 0.5), 0);
    int64_t end =
        std::min<int64_t>(int64_t(center + support + 0.5), int64_t(axis.from));
    std::vector<double> weights;
    double sum = 0;
    for (int64_t x = first; x < end; ++x) {
      double distance = std::fabs((double(x) - center + 0.5) / support);
      weights.push_back(std::max(1 - distance, 0.));
      sum += weights.back();
    }
    all[i].first = uint64_t(first);
    for (double weight : weights)
      all[i].weights.push_back(int32_t(
          0.5 + (sum != 0 ? weight / sum : weight) * (1 << kWeightBits)));
  }
  return all;
}

/// Sums `taps` of bytes that are `stride` apart.
static uint8_t filter(const Taps &taps, const uint8_t *from, uint64_t stride) {
  int32_t sum = 1 << (kWeightBits - 1);
  from += taps.first * stride;
  for (int32_t weight : taps.weights) {
    sum += *from * weight;
    from += stride;
  }
  return uint8_t(std::clamp(sum >> kWeightBits, 0, 255));
}

/// Returns the image's luminance, as PIL converts to "L".
static Image luminanceOf(const Image &image) {
  Image gray{image.height, image.width, 1, Storage(image.height * image.width)};
  for (uint64_t i = 0; i < gray.pixels.size(); ++i) {
    const uint8_t *rgb = &image.pixels[i * 3];
    gray.pixels[i] = uint8_t(
        (rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
  }
  return gray;
}

static void resize(const Image &image, const Axis &rows, const Axis &columns,
                   uint8_t *to) {
  uint64_t channels = image.channels, width = columns.kept * channels;
  std::vector<Taps> across = tapsOf(columns), down = tapsOf(rows);
  // The rows that any row of the result needs.
  uint64_t first = down.front().first;
  uint64_t end = down.back().first + down.back().weights.size();
  Storage narrow((end - first) * width);
  for (uint64_t y = first; y < end; ++y) {
    const uint8_t *row = &image.pixels[y * image.width * channels];
    for (uint64_t x = 0; x < columns.kept; ++x)
      for (uint64_t c = 0; c < channels; ++c)
        narrow[(y - first) * width + x * channels + c] =
            filter(across[x], row + c, channels);
  }
  for (uint64_t y = 0; y < rows.kept; ++y) {
    down[y].first -= first;
    for (uint64_t x = 0; x < width; ++x)
      to[y * width + x] = filter(down[y], narrow.data() + x, width);
  }
}

void frit::train::fitImage(const Image &image, uint64_t height, uint64_t width,
                           uint64_t channels, uint8_t *to) {
  if (channels == 1 && image.channels == 3)
    return fitImage(luminanceOf(image), height, width, 1, to);
  // The smallest size of the image's proportions that covers the result. The
  // longer side is rounded down, as in torchvision.
  bool isWide = image.width * height >= width * image.height;
  uint64_t high = isWide ? height : width * image.height / image.width;
  uint64_t wide = isWide ? height * image.width / image.height : width;
  high = std::max(high, height);
  wide = std::max(wide, width);
  auto center = [](uint64_t size, uint64_t kept) {
    return uint64_t(std::lrint(double(size - kept) / 2));
  };
  Axis rows{image.height, high, center(high, height), height};
  Axis columns{image.width, wide, center(wide, width), width};
  if (high != image.height || wide != image.width)
    return resize(image, rows, columns, to);
  for (uint64_t y = 0; y < height; ++y)
    memcpy(to + y * width * channels,
           &image.pixels[((rows.first + y) * wide + columns.first) * channels],
           width * channels);
}
