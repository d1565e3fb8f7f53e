//===- files_test.cpp - The tensor files of frit-run ----------------------===//
//
// Writes files and reads them back, as other programs write them, and damaged.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "tools/support/Bytes.h"
#include "tools/support/Files.h"
#include "tools/support/RandomData.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <unistd.h>
#include <zlib.h>

using namespace frit::tools;
using namespace frit::test;

static Tensor makeTensor(frit_dtype dtype, std::vector<int64_t> dims) {
  Tensor tensor;
  tensor.name = frit_dtype_name(dtype);
  tensor.dtype = dtype;
  tensor.dims = std::move(dims);
  CHECK(allocate(tensor));
  fillRandom(tensor, {7, true, -3, 90});
  return tensor;
}

static bool same(const Tensor &a, const Tensor &b) {
  return a.dtype == b.dtype && a.dims == b.dims && a.data == b.data;
}

/// Checks that reading and writing keeps every bit pattern of small floats.
static void testSmallFloats() {
  for (frit_dtype dtype : {FRIT_F16, FRIT_BF16, FRIT_F8E4M3, FRIT_F8E5M2}) {
    unsigned count = frit_dtype_size(dtype) == 1 ? 256 : 65536;
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.dims = {1};
    CHECK(allocate(tensor));
    unsigned wrong = 0;
    for (unsigned bits = 0; bits < count; ++bits) {
      memcpy(tensor.data.data(), &bits, tensor.data.size());
      double value = tensor.at(0);
      tensor.set(0, value);
      unsigned back = 0;
      memcpy(&back, tensor.data.data(), tensor.data.size());
      wrong += !std::isnan(value) && back != bits;
    }
    CHECK(wrong == 0);
  }
  Tensor half = makeTensor(FRIT_F16, {1});
  half.set(0, 65519);
  CHECK(half.at(0) == 65504);
  half.set(0, 65520);
  CHECK(std::isinf(half.at(0)));
  half.set(0, 0x1.002p0); // a tie goes to the even neighbour
  CHECK(half.at(0) == 1);
  half.set(0, 0x1p-25);
  CHECK(half.at(0) == 0);
}

static void testNumpy(const std::string &folder) {
  std::vector<Tensor> written, read;
  for (int dtype = FRIT_F32; dtype <= FRIT_BOOL; ++dtype)
    written.push_back(makeTensor(frit_dtype(dtype), {2, 3, dtype}));
  written.push_back(makeTensor(FRIT_F64, {}));
  written.back().name = "scalar";
  written.push_back(makeTensor(FRIT_I8, {0, 4}));
  written.back().name = "empty";
  std::string path = folder + "/all.npz";
  CHECK(!writeTensors(path, written));
  CHECK(!readTensors(path, read) && read.size() == written.size());
  for (size_t i = 0; i < read.size(); ++i) {
    CHECK(read[i].name == written[i].name);
    if (written[i].dtype == FRIT_BF16)
      CHECK(read[i].dtype == FRIT_F32 && read[i].at(5) == written[i].at(5));
    else
      CHECK(same(read[i], written[i]));
  }
  unlink(path.c_str());
  path = folder + "/one.npy";
  CHECK(!writeTensors(path, {written[0]}));
  CHECK(!readTensors(path, read) && same(read[0], written[0]));
  unlink(path.c_str());

  auto npy = [](std::string header) {
    header.resize(118, ' ');
    std::vector<uint8_t> bytes = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0};
    bytes.insert(bytes.end(), header.begin(), header.end());
    bytes.resize(bytes.size() + 16);
    return bytes;
  };
  Tensor tensor;
  auto readWith = [&](const char *header) {
    return readNpy(npy(header), tensor);
  };
  CHECK(!readWith("{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}"));
  Fault fault =
      readWith("{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}");
  CHECK(fault.message() == "frit does not read elements of type '<c8'");
  CHECK(fault.status() == kBadInput);
  CHECK(
      readWith("{'descr': '<f4', 'fortran_order': False, 'shape': (-4, -1)}"));
  CHECK(readWith("{'descr': [('a', '<f4')], 'shape': (2,)}"));
}

/// Returns numpy's file of `tensor` in another element or byte order.
static std::vector<uint8_t> reordered(const Tensor &tensor, bool isColumnMajor,
                                      bool isBigEndian) {
  std::vector<uint8_t> file = makeNpy(tensor);
  size_t start = file.size() - tensor.data.size();
  std::string header(file.begin(), file.begin() + ptrdiff_t(start));
  if (isColumnMajor)
    header.replace(header.find("False"), 5, "True ");
  if (isBigEndian && header.find('<') != header.npos)
    header[header.find('<')] = '>';
  std::ranges::copy(header, file.begin());
  size_t size = frit_dtype_size(tensor.dtype);
  uint64_t rows = uint64_t(tensor.dims[0]), columns = uint64_t(tensor.dims[1]),
           deep = uint64_t(tensor.dims[2]);
  for (uint64_t i = 0; i < rows; ++i)
    for (uint64_t j = 0; j < columns; ++j)
      for (uint64_t k = 0; k < deep; ++k) {
        uint64_t from = (i * columns + j) * deep + k;
        uint64_t to = isColumnMajor ? (k * columns + j) * rows + i : from;
        for (size_t byte = 0; byte < size; ++byte)
          file[start + to * size + (isBigEndian ? size - 1 - byte : byte)] =
              tensor.data[from * size + byte];
      }
  return file;
}

static void testOrders() {
  for (frit_dtype dtype :
       {FRIT_F32, FRIT_F64, FRIT_F16, FRIT_I8, FRIT_I16, FRIT_I32, FRIT_I64,
        FRIT_U8, FRIT_U16, FRIT_U32, FRIT_U64, FRIT_BOOL})
    for (std::vector<int64_t> dims :
         {std::vector<int64_t>{2, 3, 4}, {1, 5, 1}, {7, 1, 2}, {3, 0, 2}})
      for (int order = 0; order < 4; ++order) {
        Tensor written = makeTensor(dtype, dims), read;
        CHECK(!readNpy(reordered(written, order & 1, order & 2), read));
        CHECK(same(read, written));
      }
}

/// Returns an archive as numpy.savez_compressed writes it: deflated, with sizes
/// in an extra field of the local header and plain ones in the directory.
static std::vector<uint8_t> makeDeflated(const Tensor &tensor) {
  std::vector<uint8_t> npy = makeNpy(tensor), packed(npy.size() + 100);
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = npy.data();
  stream.avail_in = uInt(npy.size());
  stream.next_out = packed.data();
  stream.avail_out = uInt(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  std::vector<uint8_t> bytes;
  auto add = [&](uint64_t value, int size) {
    for (int i = 0; i < size; ++i)
      bytes.push_back(uint8_t(value >> (8 * i)));
  };
  uint32_t crc = uint32_t(crc32_z(0, npy.data(), npy.size()));
  add(0x04034b50, 4), add(45, 2), add(0, 2), add(8, 2), add(0, 4), add(crc, 4);
  add(0xffffffff, 4), add(0xffffffff, 4), add(5, 2), add(20, 2);
  for (char letter : std::string("t.npy"))
    bytes.push_back(uint8_t(letter));
  add(1, 2), add(16, 2), add(npy.size(), 8), add(packed.size(), 8);
  bytes.insert(bytes.end(), packed.begin(), packed.end());
  uint64_t list = bytes.size();
  add(0x02014b50, 4), add(45, 2), add(45, 2), add(0, 2), add(8, 2), add(0, 4);
  add(crc, 4), add(packed.size(), 4), add(npy.size(), 4), add(5, 2), add(0, 2);
  add(0, 2), add(0, 2), add(0, 2), add(0, 4), add(0, 4);
  for (char letter : std::string("t.npy"))
    bytes.push_back(uint8_t(letter));
  uint64_t size = bytes.size() - list;
  add(0x06054b50, 4), add(0, 4), add(1, 2), add(1, 2), add(size, 4);
  add(list, 4), add(0, 2);
  return bytes;
}

/// Returns a file with this header and 12 bytes of data.
static std::vector<uint8_t> makeSafetensors(
    std::string header =
        R"({"__metadata__":{"format":"pt"},"w":{"dtype":"BF16","shape":[2,2],)"
        R"("data_offsets":[4,12]},)"
        R"("i":{"dtype":"I32","shape":[],"data_offsets":[0,4]}})") {
  std::vector<uint8_t> bytes = {uint8_t(header.size()), 0, 0, 0, 0, 0, 0, 0};
  bytes.insert(bytes.end(), header.begin(), header.end());
  for (uint8_t byte : {5, 0, 0, 0, 0x80, 0x3f, 0, 0x40, 0x40, 0x40, 0x80, 0x40})
    bytes.push_back(byte);
  return bytes;
}

/// Returns a tensor with float_data packed, int64 dims packed, and a name.
static std::vector<uint8_t> makeOnnx() {
  std::vector<uint8_t> bytes = {0x0a, 2, 1, 2, 0x10, 1, 0x22, 8};
  const float values[] = {1.5f, -2};
  const auto *from = reinterpret_cast<const uint8_t *>(values);
  bytes.insert(bytes.end(), from, from + 8);
  for (uint8_t byte : {0x42, 1, int('x')})
    bytes.push_back(byte);
  return bytes;
}

static void testOthers() {
  std::vector<Tensor> tensors;
  Tensor written = makeTensor(FRIT_I64, {5, 70});
  CHECK(!readNpz(makeDeflated(written), tensors) && tensors.size() == 1);
  CHECK(same(tensors[0], written) && tensors[0].name == "t");

  tensors.clear();
  CHECK(!readSafetensors(makeSafetensors(), tensors));
  CHECK(tensors.size() == 2);
  for (const Tensor &tensor : tensors) {
    if (tensor.name == "i")
      CHECK(tensor.dtype == FRIT_I32 && tensor.dims.empty() &&
            tensor.at(0) == 5);
    else
      CHECK(tensor.name == "w" && tensor.at(0) == 1 && tensor.at(3) == 4);
  }

  Tensor tensor;
  CHECK(!readOnnxTensor(makeOnnx(), tensor));
  CHECK(tensor.name == "x" && tensor.dims == std::vector<int64_t>({1, 2}) &&
        tensor.at(0) == 1.5 && tensor.at(1) == -2);
  // int64 in raw_data, dims one by one
  const uint8_t raw[] = {8, 2, 0x10, 7,   0x4a, 16,  9,   0,   0,   0,   0,
                         0, 0, 0,    255, 255,  255, 255, 255, 255, 255, 255};
  CHECK(!readOnnxTensor(raw, tensor));
  CHECK(tensor.dtype == FRIT_I64 && tensor.at(0) == 9 && tensor.at(1) == -1);
}

/// Checks that a small file that claims large contents does not cause a large
/// allocation.
static void testClaims() {
  std::vector<Tensor> tensors;
  auto described = [](const char *second) {
    return makeSafetensors(
        std::string(R"({"a":{"dtype":"F4_E2M1","shape":[8],)"
                    R"("data_offsets":[0,8]},"b":{"dtype":"I4",)") +
        second + "}}");
  };
  CHECK(!readSafetensors(described(R"("shape":[4],"data_offsets":[8,12])"),
                         tensors));
  CHECK(tensors.size() == 2 && tensors[0].dtype == FRIT_F4E2M1 &&
        tensors[1].dtype == FRIT_I4);
  // Both tensors claim the same bytes.
  CHECK(readSafetensors(described(R"("shape":[8],"data_offsets":[4,12])"),
                        tensors));
  CHECK(readSafetensors(
      described(R"("shape":[0,4611686018427387904],"data_offsets":[8,8])"),
      tensors));

  // A directory with the same entry twice.
  std::vector<uint8_t> npz = makeDeflated(makeTensor(FRIT_I64, {200}));
  size_t end = npz.size() - 22, list = npz[end + 16] + (npz[end + 17] << 8);
  std::vector<uint8_t> entry(npz.begin() + ptrdiff_t(list),
                             npz.begin() + ptrdiff_t(end));
  CHECK(!readNpz(npz, tensors));
  npz.insert(npz.begin() + ptrdiff_t(end), entry.begin(), entry.end());
  npz[npz.size() - 12] = npz[npz.size() - 14] = 2;
  tensors.clear();
  CHECK(readNpz(npz, tensors) && tensors.size() == 1);

  // Entries with more elements than their shape, and with fewer.
  for (int64_t length : {199, 201}) {
    Tensor claimed = makeTensor(FRIT_I64, {200});
    claimed.dims = {length};
    tensors.clear();
    CHECK(readNpz(makeDeflated(claimed), tensors).message() ==
          "entry 't.npy' does not have the size of its shape, " +
              std::to_string(length) + "xi64");
  }

  // More dimensions than numpy allows, all of size 1.
  std::vector<uint8_t> many = {0x10, 1, 0x4a, 4, 0, 0, 0, 0};
  for (int i = 0; i < 65; ++i)
    many.insert(many.end(), {8, 1});
  Tensor tensor;
  CHECK(readOnnxTensor(many, tensor));
  CHECK(!readOnnxTensor(Bytes(many).first(many.size() - 2), tensor));
}

/// Checks whether the user or the machine is at fault when a file cannot be
/// written.
static void testWriting(const std::string &folder) {
  Tensor tensor = makeTensor(FRIT_F32, {2});
  CHECK(writeTensors(folder + "/a.npy", {tensor, tensor}).status() ==
        kBadInput);
  CHECK(writeTensors(folder + "/none/a.npz", {tensor}).status() == kMachine);
  Fault fault = writeTensors(folder, {tensor});
  CHECK(fault.status() == kBadUsage);
  CHECK(fault.message().starts_with("cannot write '" + folder + "': "));
}

static void testDamage() {
  std::vector<Tensor> several = {makeTensor(FRIT_F32, {3, 4}),
                                 makeTensor(FRIT_I64, {5})};
  std::vector<uint8_t> npz;
  CHECK(!makeNpz(several, npz));
  const std::vector<uint8_t> files[] = {
      makeNpy(several[0]), npz, makeDeflated(makeTensor(FRIT_I64, {300})),
      makeSafetensors(), makeOnnx()};
  auto readAll = [&](Bytes bytes) {
    Tensor tensor;
    std::vector<Tensor> tensors;
    (void)readNpy(bytes, tensor);
    (void)readNpz(bytes, tensors);
    (void)readSafetensors(bytes, tensors);
    (void)readOnnxTensor(bytes, tensor);
  };
  std::mt19937 random(3);
  for (const std::vector<uint8_t> &whole : files) {
    for (size_t size = 0; size < whole.size(); ++size) {
      // A copy of exactly that size, so that the sanitizer sees its end.
      std::vector<uint8_t> cut(whole.begin(), whole.begin() + ptrdiff_t(size));
      readAll(cut);
    }
    for (int round = 0; round < 3000; ++round) {
      std::vector<uint8_t> changed = whole;
      for (int flips = 1 + int(random() % 3); flips; --flips)
        changed[random() % changed.size()] = uint8_t(random());
      readAll(changed);
    }
  }
}

int main() {
  char folder[] = "/tmp/frit-test-XXXXXX";
  CHECK(mkdtemp(folder));
  testSmallFloats();
  testNumpy(folder);
  testOrders();
  testOthers();
  testClaims();
  testWriting(folder);
  testDamage();
  rmdir(folder);
  return finish("files_test");
}
