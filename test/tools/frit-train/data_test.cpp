//===- data_test.cpp - Order, files and batches of samples ----------------===//

#include "compiler/support/TemporaryFolder.h"
#include "test/runtime/CountingTensor.h"
#include "tools/frit-train/Classifier.h"
#include "tools/frit-train/Shortage.h"
#include "tools/frit-train/data/Dataset.h"
#include "tools/frit-train/data/Loader.h"
#include "tools/frit-train/data/Shuffle.h"
#include "tools/support/Files.h"
#include "tools/support/SafetensorsFile.h"

#include <fstream>
#include <random>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

using namespace frit::train;
using namespace frit::test;

static frit::TemporaryFolder folder;

//===----------------------------------------------------------------------===//
// Shuffling
//===----------------------------------------------------------------------===//

static void testPermutation() {
  for (uint64_t count : {1, 2, 3, 7, 10, 64, 1000, 4097}) {
    Shuffle shuffle(3, 1, count);
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < count; ++i)
      seen.insert(shuffle.at(i));
    CHECK(seen.size() == count && *seen.rbegin() == count - 1);
  }
}

/// The formula of Shuffle.h, computed by other means gives the first ones; each
/// seed and epoch has another order.
static void testKeys() {
  auto first = [](uint64_t seed, uint64_t epoch) {
    Shuffle shuffle(seed, epoch, 1000000);
    std::string text;
    for (uint64_t i = 0; i < 4; ++i)
      text += std::to_string(shuffle.at(i)) + " ";
    return text;
  };
  CHECK(first(0, 0) == "419279 476066 871074 144001 ");
  std::set<std::string> all;
  for (uint64_t seed = 0; seed < 8; ++seed)
    for (uint64_t epoch = 0; epoch < 8; ++epoch)
      all.insert(first(seed, epoch));
  CHECK(all.size() == 64);
}

/// Every sample comes to every place equally often, and so do pairs.
static void testUniform() {
  constexpr uint64_t count = 6, epochs = 36000;
  std::vector<double> places(count * count), pairs(count * count);
  for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
    Shuffle shuffle(1, epoch, count);
    for (uint64_t i = 0; i < count; ++i)
      ++places[i * count + shuffle.at(i)];
    ++pairs[shuffle.at(0) * count + shuffle.at(1)];
  }
  double squares = 0;
  for (double seen : places)
    squares += (seen - 6000) * (seen - 6000) / 6000;
  // 25 degrees of freedom; more than 60 has a chance of 1e-4.
  CHECK(squares < 60);
  squares = 0;
  for (uint64_t i = 0; i < count; ++i)
    for (uint64_t j = 0; j < count; ++j)
      if (i != j)
        squares += (pairs[i * count + j] - 1200) *
                   (pairs[i * count + j] - 1200) / 1200;
  CHECK(squares < 65); // 29 degrees of freedom
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static std::string write(const char *name, const std::vector<Tensor> &tensors) {
  std::string path = folder.file(name);
  if (path.ends_with(".safetensors")) {
    std::vector<TensorView> views;
    for (const Tensor &tensor : tensors)
      views.push_back({tensor.name, tensor.dtype, tensor.dims, tensor.data});
    CHECK(!writeSafetensors(path, views, {{"made by", "a test"}}));
  } else {
    CHECK(!writeTensors(path, tensors));
  }
  return path;
}

static const std::vector<Input> kInputs = {{"x", FRIT_F32, {4, 3}},
                                           {"labels", FRIT_I64, {4}}};

static bool holds(const Dataset &data) {
  for (uint64_t sample = 0; sample < data.count(); ++sample) {
    float x[3];
    int64_t label;
    CHECK(!data.copy(sample, 0, reinterpret_cast<uint8_t *>(x)));
    CHECK(!data.copy(sample, 1, reinterpret_cast<uint8_t *>(&label)));
    if (x[0] != float(3 * sample) || x[2] != float(3 * sample + 2) ||
        label != int64_t(sample))
      return false;
  }
  return data.count() == 10;
}

static void testSources() {
  Tensor x = makeTensor("x", FRIT_F32, {10, 3});
  Tensor labels = makeTensor("labels", FRIT_I64, {10});
  Tensor other = makeTensor("other", FRIT_F32, {2});
  Dataset data;
  std::string archive = write("d.npz", {x, other, labels});
  CHECK(!data.open({archive}, kInputs) && holds(data));
  std::string tensors = write("d.safetensors", {other, labels, x});
  CHECK(!data.open({tensors}, kInputs) && holds(data));
  std::string xFile = write("x.npy", {x});
  std::string labelFile = write("labels.npy", {labels});
  CHECK(!data.open({"x=" + xFile, "labels=" + labelFile}, kInputs) &&
        holds(data));
  std::string place = xFile.substr(0, xFile.rfind('/'));
  CHECK(!data.open({place}, kInputs) && holds(data));

  auto fails = [&](const std::vector<std::string> &sources, const char *part) {
    std::string message = data.open(sources, kInputs).message();
    bool said = message.find(part) != message.npos;
    if (!said)
      fprintf(stderr, "%s\n", message.c_str());
    CHECK(said);
  };
  fails({xFile}, "does not say for which input it is: write NAME=");
  fails({"y=" + xFile}, "no input 'y'; the inputs of the step are: x, labels");
  fails({"x=" + xFile}, "no data for input 'labels'");
  fails({archive, "x=" + xFile}, "input 'x' are given twice");
  fails({write("w1.npz", {makeTensor("x", FRIT_U8, {10, 3}), labels})},
        "must be nx3xf32, n samples, and are 10x3xu8 in");
  fails({write("w2.npz", {makeTensor("x", FRIT_F32, {10, 4}), labels})},
        "must be nx3xf32, n samples, and are 10x4xf32");
  fails({write("w3.npz", {makeTensor("x", FRIT_F32, {9, 3}), labels})},
        "'labels' have 10 samples, and those of 'x' have 9");
  fails({write("w4.npz", {x, other})},
        "no data for input 'labels'; other tensors in");
  fails({folder.file("none.npz")}, "No such file");
}

static void testTokens() {
  std::string path = folder.file("tokens.bin");
  std::vector<uint16_t> tokens(101);
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = uint16_t(65000 + i);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<char *>(tokens.data()), 202);
  std::vector<Input> inputs = {{"ids", FRIT_I64, {2, 10}},
                               {"labels", FRIT_I64, {2, 10}}};
  Dataset data;
  CHECK(!data.openTokens(path + ",type=u16", inputs, -100));
  CHECK(data.count() == 10);
  int64_t row[10];
  CHECK(!data.copy(3, 0, reinterpret_cast<uint8_t *>(row)));
  CHECK(row[0] == 65030 && row[9] == 65039);
  CHECK(!data.copy(9, 1, reinterpret_cast<uint8_t *>(row)));
  CHECK(row[0] == 65091 && row[9] == 65100);
  CHECK(!data.openTokens(path + ",skip=2,type=u16", inputs, -100));
  CHECK(data.count() == 9);
  CHECK(!data.copy(0, 0, reinterpret_cast<uint8_t *>(row)));
  CHECK(row[0] == 65001);
  for (const char *wrong :
       {",type=f32", ",type=", ",skip=x", ",skip=203", ",skip=1", ",type=u32",
        ",end=", ",end=x", ",end=1.5"})
    CHECK(!data.openTokens(path + wrong, inputs, -100).message().empty());
  Fault fault = data.openTokens(path, kInputs, -100);
  CHECK(fault.message().find("input 'x' is 4x3xf32") != std::string::npos);
}

/// Documents of these lengths, of which the token that ends them is none, fill
/// rows of 10.
static std::vector<std::vector<uint64_t>>
pack(const std::vector<uint64_t> &lengths) {
  std::vector<int64_t> tokens;
  for (uint64_t length : lengths) {
    tokens.insert(tokens.end(), length, 1);
    tokens.push_back(7);
  }
  PackedTokens packed;
  packed.pack([&](uint64_t at) { return tokens[at]; }, tokens.size(), 7, 10);
  std::vector<std::vector<uint64_t>> rows(packed.rows());
  for (uint64_t row = 0; row < packed.rows(); ++row)
    packed.visit(row, [&](uint64_t place, uint64_t document, uint64_t position,
                          uint64_t token) {
      CHECK(place < 10 && tokens[token] == 1);
      rows[row].resize(document);
      rows[row].back() = position + 1;
    });
  return rows;
}

static void testPacking() {
  using Rows = std::vector<std::vector<uint64_t>>;
  CHECK(pack({}).empty());
  CHECK(pack({0, 0}).empty());
  CHECK(pack({10}) == Rows({{10}}));
  // The longest first, each where the least is left.
  CHECK(pack({3, 6, 4, 5, 2}) == Rows({{6, 4}, {5, 3, 2}}));
  CHECK(pack({1, 8, 9, 2, 1}) == Rows({{9, 1}, {8, 2}, {1}}));
  // Longer than a row: cut.
  CHECK(pack({23, 6}) == Rows({{10}, {10}, {6, 3}}));
}

/// Packs random documents: each token comes once, next to tokens of its own
/// document only.
static void testPackedTokens() {
  std::mt19937 random(0);
  std::vector<uint16_t> tokens;
  constexpr uint16_t end = 65535;
  uint64_t inputTokens = 0;
  for (int document = 0; document < 200; ++document) {
    uint64_t length = random() % 40;
    for (uint64_t i = 0; i < length; ++i)
      tokens.push_back(uint16_t(tokens.size()));
    tokens.push_back(end);
    inputTokens += length;
  }
  tokens.push_back(uint16_t(tokens.size())); // one that no label follows
  std::string path = folder.file("documents.bin");
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<char *>(tokens.data()),
             std::streamsize(2 * tokens.size()));
  std::vector<Input> inputs;
  for (const char *name :
       {"ids", "position_ids", "labels", "segment_ids", "attention_mask"})
    inputs.push_back({name, FRIT_I64, {2, 16}});
  Dataset data;
  CHECK(!data.openTokens(path + ",end=65535", inputs, -9));
  std::set<int64_t> seen;
  uint64_t places = 0;
  for (uint64_t row = 0; row < data.count(); ++row) {
    int64_t ids[16], positions[16], labels[16], segments[16], mask[16];
    int64_t *parts[] = {ids, positions, labels, segments, mask};
    for (size_t i = 0; i < 5; ++i)
      CHECK(!data.copy(row, i, reinterpret_cast<uint8_t *>(parts[i])));
    for (int i = 0; i < 16; ++i) {
      if (!mask[i]) {
        CHECK(ids[i] == end && labels[i] == -9);
        CHECK(positions[i] == 0 && segments[i] == 0);
        continue;
      }
      ++places;
      CHECK(mask[i] == 1 && seen.insert(ids[i]).second);
      CHECK(labels[i] == tokens[size_t(ids[i]) + 1]);
      bool isFirst = i == 0 || segments[i] != segments[i - 1];
      CHECK(segments[i] == (i == 0 ? 1 : segments[i - 1] + isFirst));
      CHECK(positions[i] == (isFirst ? 0 : positions[i - 1] + 1));
      CHECK(isFirst || ids[i] == ids[i - 1] + 1);
    }
  }
  CHECK(places == inputTokens && seen.size() == inputTokens);
  // Less than a tenth is padding.
  CHECK(data.count() * 16 < inputTokens * 10 / 9);
  inputs[4].name = "mask";
  CHECK(data.openTokens(path + ",end=65535", inputs, -9)
            .message()
            .find("one other labels") != std::string::npos);
  inputs.resize(3);
  CHECK(!data.openTokens(path + ",end=3", inputs, -9));
  std::string none = folder.file("none.bin");
  std::ofstream(none, std::ios::binary).write("\1\0\1\0", 4);
  CHECK(data.openTokens(none + ",end=1", inputs, -9)
            .message()
            .find("has no document of two tokens") != std::string::npos);
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

/// Batches come in their order and hold their samples, however many threads
/// there are.
static void testLoader() {
  std::string path =
      write("d.safetensors", {makeTensor("x", FRIT_F32, {10, 3}),
                              makeTensor("labels", FRIT_I64, {10})});
  Dataset data;
  CHECK(!data.open({path}, kInputs));
  for (unsigned workers : {1, 2, 7}) {
    auto sample = [](uint64_t number, uint64_t row) {
      return (number * 4 + row) % 10;
    };
    Loader loader(data, {4, 5, 505, workers, LabelCheck{1, 10, -100}, sample});
    for (uint64_t number = 5; number < 505; ++number) {
      const Batch &batch = loader.next();
      bool right = !batch.fault && batch.inputs.size() == 2;
      for (uint64_t row = 0; row < 4; ++row) {
        int64_t label;
        memcpy(&label, batch.inputs[1].data() + 8 * row, 8);
        right &= label == int64_t(sample(number, row));
      }
      CHECK(right);
    }
  }
  // one that is not used up
  Loader loader(data, {4, 0, 100, 3, LabelCheck{1, 9, -100},
                       [](uint64_t, uint64_t row) { return 6 + row; }});
  CHECK(loader.next().fault.message() ==
        "label 9 of sample 9 in 'labels' is out of range: the model has 9 "
        "classes, 0 to 8; --ignore-index=9 passes over it, if the loss does");
}

static void testLabels() {
  int32_t labels[] = {0, 2, -100, 1, 3, 0};
  auto bytes = std::span(reinterpret_cast<uint8_t *>(labels), sizeof labels);
  Input input{"labels", FRIT_I32, {2, 3}};
  auto sample = [](uint64_t row) { return 40 + row; };
  CHECK(!checkLabels({0, 4, -100}, input, bytes, 3, sample));
  CHECK(checkLabels({0, 3, -100}, input, bytes, 3, sample)
            .message()
            .starts_with("label 3 of sample 41 in 'labels'"));
  CHECK(checkLabels({0, 4, 255}, input, bytes, 3, sample)
            .message()
            .starts_with("label -100 of sample 40"));
}

//===----------------------------------------------------------------------===//
// Accuracy
//===----------------------------------------------------------------------===//

static Storage bytesOf(const auto &values) {
  Storage storage(sizeof values);
  memcpy(storage.data(), &values, sizeof values);
  return storage;
}

static void testAccuracy() {
  std::vector<Input> inputs = {{"ids", FRIT_I64, {2, 3}},
                               {"labels", FRIT_I64, {2, 3}},
                               {"x", FRIT_F32, {2, 3}}};
  Input other{"hidden", FRIT_F32, {2, 5, 6}};
  // Classes come last …
  Input last{"logits", FRIT_F32, {2, 3, 4}};
  auto classifier = Classifier::find(inputs, {other, last});
  CHECK(classifier && classifier->labels == "labels" && classifier->isLast &&
        classifier->classes == 4);
  CHECK(classifier->check(inputs, 7)->input == 1);
  // 24 scores, of which these are the best per label: 1 0 3, 2 2 2
  float scores[] = {0, 9, 0, 0, /**/ 9, 0, 0, 0,  /**/ 0,  0,  0,  9,
                    0, 0, 9, 0, /**/ 0, 1, 2, -9, /**/ -4, -3, -2, -2.5};
  int64_t labels[] = {1, 0, 2, 2, -100, 1};
  Tensor tensor{"logits", FRIT_F32, {2, 3, 4}, bytesOf(scores)};
  Score score;
  count(*classifier, tensor, inputs[1], bytesOf(labels), 2, -100, score);
  CHECK(score.right == 3 && score.all == 5);
  count(*classifier, tensor, inputs[1], bytesOf(labels), 1, -100, score);
  CHECK(score.right == 5 && score.all == 8);
  // … or second.
  Input second{"maps", FRIT_F32, {2, 4, 3}};
  classifier = Classifier::find(inputs, {other, second});
  CHECK(classifier && !classifier->isLast && classifier->classes == 4);
  float maps[24] = {};
  for (int sample = 0; sample < 2; ++sample)
    for (int place = 0; place < 3; ++place)
      maps[sample * 12 + (place + sample) * 3 + place] = 1;
  int64_t answers[] = {0, 1, 2, 1, 2, 0};
  score = {};
  Tensor map{"maps", FRIT_F32, {2, 4, 3}, bytesOf(maps)};
  count(*classifier, map, inputs[1], bytesOf(answers), 2, -100, score);
  CHECK(score.right == 5 && score.all == 6);
  CHECK(!Classifier::find(inputs, {other}));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static void testShortage() {
  constexpr uint64_t gib = 1 << 30;
  CHECK(describeShortage({2 * gib, 10 * gib, 64, 12 * gib}).empty());
  CHECK(describeShortage({}).empty());
  CHECK(describeShortage({2 * gib, 10 * gib, 64, 7 * gib}) ==
        "a step takes 12.0 GiB of the GPU's memory, and 7.0 GiB are free: 2.0 "
        "GiB are for the state, and 10.0 GiB for a batch of 64, of which about "
        "32 fit; compile it for a smaller batch, and with \"accumulate\" in "
        "train.json for the same update");
  for (uint64_t free : {gib, 2 * gib + gib / 10})
    CHECK(describeShortage({2 * gib, 10 * gib, 64, free})
              .ends_with("not even one sample fits"));
}

int main() {
  if (frit::TemporaryFolder::create(folder))
    return 1;
  testPermutation();
  testKeys();
  testUniform();
  testSources();
  testTokens();
  testPacking();
  testPackedTokens();
  testLoader();
  testLabels();
  testAccuracy();
  testShortage();
  return finish("data_test");
}
