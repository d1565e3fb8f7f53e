//===- wgmma_shapes.h - Products of models, and tilings to try ------------===//
//
// The products and convolutions of the tracked models that wgmma_tune.cu times,
// and the tiles, stages, clusters and splits to try on each.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_WGMMA_SHAPES_H
#define FRIT_TEST_CODEGEN_SKELETONS_WGMMA_SHAPES_H

#include "hopper.h"

#include <string>
#include <vector>

/// A product, or a convolution where `taps` > 0, of f16 with bias and relu or
/// another function of tile.cuh.
struct Shape {
  std::string name;
  int64_t m, n, k;
  bool wide = false;     // f32 results, no bias
  bool residual = false; // of D's size
  int images = 0, size = 0, taps = 0, stride = 1;
  /// The epilogue function of tile.cuh; null: bias and relu.
  const char *function = nullptr;

  std::string epilogue() const {
    return function ? function : wide ? "Identity" : "Relu";
  }

  int channels() const { return taps ? int(k) / taps / taps : 0; }
  int pad() const { return taps / 2; }
  int out() const { return (size + 2 * pad() - taps) / stride + 1; }
  double work() const { return 2.0 * m * n * k; }
  double bytes() const {
    double in = taps ? double(images) * size * size * channels() : m * k;
    return 2.0 * (in + n * k) +
           double(m) * n * ((wide ? 4 : 2) * (residual ? 2 : 1));
  }
};

inline std::vector<Shape> shapes() {
  std::vector<Shape> result = {{"square 4096", 4096, 4096, 4096},
                               {"square 8192", 8192, 8192, 8192}};
  auto transformer = [&](std::string name, int64_t m, int64_t width) {
    result.push_back({name + " qkv", m, 3 * width, width});
    result.push_back({name + " out", m, width, width, false, true});
    result.push_back({name + " up", m, 4 * width, width});
    result.push_back({name + " down", m, width, 4 * width, false, true});
  };
  transformer("bert b1", 384, 1024);
  transformer("bert b32", 12288, 1024);
  transformer("vit b1", 197, 768);
  transformer("vit b32", 6304, 768);
  transformer("gpt b1", 1024, 768);
  result.push_back({"gpt head", 1024, 50304, 768, true});
  for (int b : {1, 32, 128}) {
    std::string name = "resnet b" + std::to_string(b);
    auto plain = [&](int size, int c, int k) {
      result.push_back({name + " 1x1 " + std::to_string(size) + " " +
                            std::to_string(c) + "-" + std::to_string(k),
                        int64_t(b) * size * size, k, c, false, k == 4 * c});
    };
    auto conv = [&](int size, int c, int k, int taps, int stride) {
      Shape shape = {name + " " + std::to_string(taps) + "x" +
                     std::to_string(taps) + "/" + std::to_string(stride) + " " +
                     std::to_string(size) + " " + std::to_string(c) + "-" +
                     std::to_string(k)};
      shape.n = k;
      shape.k = int64_t(c) * taps * taps;
      shape.images = b;
      shape.size = size;
      shape.taps = taps;
      shape.stride = stride;
      shape.m = int64_t(b) * shape.out() * shape.out();
      result.push_back(shape);
    };
    plain(56, 64, 64);
    conv(56, 64, 64, 3, 1);
    plain(56, 64, 256);
    plain(56, 256, 64);
    for (int i = 0, size = 56, c = 128; i < 3; ++i, size /= 2, c *= 2) {
      plain(size, 2 * c, c);
      conv(size, c, c, 3, 2);
      conv(size, 2 * c, 4 * c, 1, 2);
      plain(size / 2, c, 4 * c);
      plain(size / 2, 4 * c, c);
      conv(size / 2, c, c, 3, 1);
    }
    result.push_back({name + " fc", b, 1000, 2048});
  }
  return result;
}

/// Returns the tilings to try.
inline std::vector<harness::Cut> cutsOf(const Shape &shape) {
  std::vector<harness::Cut> result;
  int64_t steps = shape.taps
                      ? shape.taps * shape.taps * ((shape.channels() + 63) / 64)
                      : (shape.k + 63) / 64;
  for (int tileM : {64, 128, 192})
    for (int tileN : {64, 128, 192, 256}) {
      if (tileM == 192 && tileN == 256)
        continue;
      if (tileN >= 128 && tileN >= 2 * shape.n)
        continue;
      if (tileM >= 128 && tileM >= 2 * shape.m)
        continue;
      int64_t tiles =
          (shape.m + tileM - 1) / tileM * ((shape.n + tileN - 1) / tileN);
      int64_t area = tileM * tileN;
      // Small tiles only if large ones leave SMs idle.
      if (tiles > 132 * 5 && area < 128 * 128 && tileN < shape.n)
        continue;
      if (tiles > 132 * 12 && tileM == 64)
        continue;
      if (tiles < 16 && area > 128 * 128 && shape.m * shape.n > 64 * 1024)
        continue;
      for (int split : {1, 2, 4, 8})
        for (int cluster : {1, 2, 4}) {
          if (cluster > 1 && (split > 1 || tiles < 132))
            continue;
          if (cluster > 2 && tileN > 64)
            continue;
          if (split > 1 && (tiles * split > 160 || steps < 3 * split))
            continue;
          for (int blocks : {1, 2}) {
            // Two blocks share the registers.
            if (blocks > 1 && (tileM > 128 || tileM * tileN > 128 * 128))
              continue;
            harness::Cut cut = {tileM, tileN, 14, cluster, split, blocks};
            while (cut.stages > 2 && !cut.fits())
              --cut.stages;
            if (cut.fits())
              result.push_back(cut);
          }
        }
    }
  return result;
}

#endif // FRIT_TEST_CODEGEN_SKELETONS_WGMMA_SHAPES_H
