//===- image_test.cpp - Images beside PIL's, and damaged ones -------------===//

#include "compiler/support/TemporaryFolder.h"
#include "test/runtime/Check.h"
#include "tools/frit-train/data/Image.h"
#include "tools/frit-train/data/ImageFolder.h"
#include "tools/support/Files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <zlib.h>

using namespace frit::train;
using namespace frit::test;
namespace fs = std::filesystem;

static const fs::path kImages = FRIT_IMAGES;

static Storage readAll(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  return Storage(text.begin(), text.end());
}

static bool has(const Fault &fault, const char *part) {
  return fault.message().find(part) != std::string::npos;
}

/// Returns the largest difference from an array of expected.npz.
static int difference(const Image &image, const Tensor &expected, uint64_t at,
                      uint64_t channels) {
  uint64_t rows = uint64_t(expected.dims[1]),
           columns = uint64_t(expected.dims[2]),
           size = rows * columns * channels;
  Storage fitted(size);
  fitImage(image, rows, columns, channels, fitted.data());
  int most = 0;
  for (uint64_t i = 0; i < size; ++i)
    most = std::max(most, std::abs(fitted[i] - expected.data[at * size + i]));
  return most;
}

static void testPixels() {
  std::vector<Tensor> tensors;
  CHECK(!readTensors(kImages / "expected.npz", tensors));
  auto find = [&](const char *name) -> const Tensor & {
    return *std::ranges::find(tensors, name, &Tensor::name);
  };
  const Tensor &names = find("names");
  CHECK(names.texts.size() == 8);
  for (uint64_t i = 0; i < names.texts.size(); ++i) {
    Image image;
    CHECK(!decodeImage(readAll(kImages / names.texts[i]), image));
    CHECK(image.channels == 3);
    // Decoders of JPEG may round differently.
    int most = names.texts[i].ends_with(".png") ? 0 : 2;
    CHECK(difference(image, find("color"), i, 3) <= most);
    CHECK(difference(image, find("gray"), i, 1) <= most);
  }
}

/// An image of one pixel, and one that is all but a line.
static void testExtremes() {
  Image dot{1, 1, 3, Storage{10, 20, 30}};
  Storage fitted(5 * 4 * 3);
  fitImage(dot, 5, 4, 3, fitted.data());
  for (size_t i = 0; i < fitted.size(); ++i)
    CHECK(fitted[i] == 10 * (i % 3 + 1));
  for (bool isTall : {false, true}) {
    Image line{isTall ? 3000u : 1, isTall ? 1u : 3000, 3, Storage(9000)};
    std::ranges::fill(line.pixels, uint8_t(77));
    fitImage(line, 5, 4, 3, fitted.data());
    CHECK(std::ranges::all_of(fitted, [](uint8_t x) { return x == 77; }));
  }
}

/// No file that is cut off is an image, and none with other bytes crashes.
static void testDamage() {
  std::mt19937 random(0);
  for (const char *name : {"large.jpg", "progressive.JPEG", "clear.png",
                           "palette.png", "small.png"}) {
    Storage whole = readAll(kImages / name);
    Image image;
    CHECK(!decodeImage(whole, image));
    // What follows the pixels is not needed.
    for (size_t size = 0; size + 24 < whole.size(); size += 1 + size / 16)
      CHECK(decodeImage(Bytes(whole).first(size), image));
    for (int attempt = 0; attempt < 300; ++attempt) {
      Storage copy = whole;
      for (int i = 0; i < 4; ++i)
        copy[random() % copy.size()] = uint8_t(random());
      (void)decodeImage(copy, image);
    }
  }
  Image image;
  CHECK(has(decodeImage(readAll(kImages / "cmyk.jpg"), image), "CMYK"));
  CHECK(has(decodeImage(readAll(kImages / "expected.npz"), image),
            "it is no JPEG or PNG image"));
  Storage cut = readAll(kImages / "large.jpg");
  cut.resize(cut.size() / 2);
  CHECK(has(decodeImage(cut, image), "Premature end of JPEG file"));
}

/// A small file that claims to be huge is not decoded.
static void testSize() {
  Storage huge = readAll(kImages / "small.png");
  for (size_t i : {16, 20}) {
    huge[i] = huge[i + 1] = 0;
    huge[i + 2] = 0x80;
    huge[i + 3] = 1;
  }
  uint32_t crc = uint32_t(crc32(0, &huge[12], 17));
  for (size_t i = 0; i < 4; ++i)
    huge[29 + i] = uint8_t(crc >> (24 - 8 * i));
  Image image;
  CHECK(has(decodeImage(huge, image), "it has 32769 x 32769 pixels"));
}

static void testFolder() {
  std::string name = frit::temporaryPlace() + "/frit-images.XXXXXX";
  CHECK(mkdtemp(name.data()));
  fs::path place = name;
  for (const char *name : {"bee/deep", "ant", ".git"})
    fs::create_directories(place / name);
  fs::copy(kImages / "exact.png", place / "bee/deep/x.PNG");
  fs::copy(kImages / "gray.png", place / "bee/b.png");
  fs::copy(kImages / "large.jpg", place / "ant/z.jpg");
  fs::copy(kImages / "cmyk.jpg", place / "ant/.hidden.jpg");
  fs::copy(kImages / "make.py", place / "ant/make.py");
  CHECK(ImageFolder::isOne(place));
  CHECK(!ImageFolder::isOne(place / "ant"));
  CHECK(!ImageFolder::isOne(place / "none"));
  ImageFolder folder;
  CHECK(!folder.open(place.native() + "/"));
  CHECK(folder.classes() == std::vector<std::string>({"ant", "bee"}));
  CHECK(folder.count() == 3);
  CHECK(folder.classOf(0) == 0 && folder.classOf(1) == 1);
  Storage pixels(24 * 16 * 3);
  CHECK(!folder.read(2, 24, 16, 3, pixels.data()));
  Image exact;
  CHECK(!decodeImage(readAll(kImages / "exact.png"), exact));
  CHECK(pixels == exact.pixels);
  fs::create_directory(place / "cat");
  CHECK(has(folder.open(place), "cat' of a class has no image"));
  fs::remove(place / "ant/z.jpg");
  CHECK(has(folder.read(0, 2, 2, 3, pixels.data()), "ant/z.jpg': No such"));
  fs::remove_all(place);
}

int main() {
  testPixels();
  testExtremes();
  testDamage();
  testSize();
  testFolder();
  return finish("image_test");
}
