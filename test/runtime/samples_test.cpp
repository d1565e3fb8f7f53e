//===- samples_test.cpp - Data for which a model is run -------------------===//

#include "CountingTensor.h"
#include "tools/support/Files.h"
#include "tools/support/Samples.h"

#include <cmath>
#include <filesystem>
#include <unistd.h>

using namespace frit::tools;
using namespace frit::test;

static std::string folder;

static std::string write(const char *name, const std::vector<Tensor> &tensors) {
  std::string path = folder + "/" + name;
  CHECK(!writeTensors(path, tensors));
  return path;
}

/// Returns the error of fitting the file to `inputs`, or how many calls it has.
static std::string fit(const std::string &path, std::vector<Tensor> inputs) {
  Samples samples;
  Fault fault = samples.read(path);
  if (!fault)
    fault = samples.fit(std::move(inputs));
  if (!fault)
    return std::to_string(samples.count());
  size_t place = fault.message().find(path + ": ");
  return place == std::string::npos
             ? fault.message()
             : fault.message().substr(place + path.size() + 2);
}

static void testShapes() {
  std::string path = write("x.npy", {makeTensor("", FRIT_F32, {7, 3})});
  CHECK(fit(path, {makeTensor("x", FRIT_F32, {7, 3})}) == "1");
  CHECK(fit(path, {makeTensor("x", FRIT_F32, {1, 3})}) == "7");
  CHECK(fit(path, {makeTensor("x", FRIT_F32, {3, 3})}) == "2");
  CHECK(fit(path, {makeTensor("x", FRIT_F32, {3})}) == "7");
  CHECK(fit(path, {makeTensor("x", FRIT_F32, {8, 3})}) ==
        "a call takes 'x' as 8x3xf32, and it is 7x3xf32; the data may be "
        "longer in the first dimension, or have another in front");
  CHECK(fit(path, {makeTensor("x", FRIT_F32, {1, 4})}).starts_with("a call"));
  CHECK(fit(path, {makeTensor("x", FRIT_I32, {1, 3})}).starts_with("a call"));
  CHECK(fit(path, {makeTensor("x", FRIT_F32, {1, 3}),
                   makeTensor("y", FRIT_F32, {1, 3})}) ==
        "it has no tensor for the input 'x', as its tensor has no name");
}

static void testNames() {
  std::string path = write("xy.npz", {makeTensor("x", FRIT_F32, {4, 3}),
                                      makeTensor("label", FRIT_I64, {4}),
                                      makeTensor("m", FRIT_F32, {1, 2})});
  Samples samples;
  CHECK(!samples.read(path));
  CHECK(!samples.fit(
      {makeTensor("m", FRIT_F32, {1, 2}), makeTensor("x", FRIT_F32, {2, 3})}));
  CHECK(samples.count() == 2);
  // One mask is for both calls.
  for (size_t call = 0; call < 2; ++call) {
    std::vector<frit_tensor> bound = samples.call(call);
    CHECK(bound.size() == 2);
    CHECK(static_cast<const float *>(bound[0].data)[1] == 1);
    CHECK(static_cast<const float *>(bound[1].data)[0] == float(call * 6));
    CHECK(bound[1].rank == 2 && bound[1].dims[0] == 2);
  }
  CHECK(fit(path, {makeTensor("z", FRIT_F32, {4, 3})}) ==
        "it has no tensor for the input 'z', only 'x', 'label', 'm'");
  path = write("uneven.npz", {makeTensor("x", FRIT_F32, {4, 3}),
                              makeTensor("y", FRIT_F32, {3, 3})});
  CHECK(fit(path, {makeTensor("x", FRIT_F32, {1, 3}),
                   makeTensor("y", FRIT_F32, {1, 3})}) ==
        "'y' is for 3 calls, and others are for 4");
}

static void testTypes() {
  Tensor wide = makeTensor("x", FRIT_F64, {2, 3});
  std::string path = write("wide.npz", {wide});
  Samples samples;
  CHECK(!samples.read(path));
  CHECK(!samples.fit({makeTensor("x", FRIT_F32, {1, 3})}));
  CHECK(static_cast<const float *>(samples.call(1)[0].data)[2] == 5);
  CHECK(!samples.fit({makeTensor("x", FRIT_F16, {2, 3})}));
  CHECK(samples.count() == 1 && samples.call(0)[0].dtype == FRIT_F16);
  // Data of the right type are neither converted nor copied again.
  CHECK(!samples.fit({makeTensor("x", FRIT_F16, {1, 3})}));
  const void *data = samples.call(1)[0].data;
  CHECK(!samples.fit({makeTensor("x", FRIT_F16, {1, 3})}));
  CHECK(samples.count() == 2 && samples.call(1)[0].data == data);
  wide.set(4, NAN);
  CHECK(fit(write("nan.npz", {wide}), {makeTensor("x", FRIT_F32, {1, 3})}) ==
        "'x' has nan at [1, 1], which is no number of the input's type");
  CHECK(fit(write("nan.npy", {wide}), {makeTensor("x", FRIT_F64, {1, 3})}) ==
        "'x' has nan at [1, 1], which is no number of the input's type");
  wide.set(4, 1e300);
  CHECK(fit(write("huge.npz", {wide}), {makeTensor("x", FRIT_F32, {1, 3})}) ==
        "'x' has 1e+300 at [1, 1], which is no number of the input's type");
  Tensor ids = makeTensor("x", FRIT_I64, {2, 3});
  ids.set(5, 300);
  path = write("ids.npz", {ids});
  CHECK(fit(path, {makeTensor("x", FRIT_I32, {1, 3})}) == "2");
  CHECK(fit(path, {makeTensor("x", FRIT_U8, {1, 3})}) ==
        "'x' has 300 at [1, 2], which is no integer of the input's type");
}

static void testFolders() {
  std::filesystem::create_directory(folder + "/parts");
  CHECK(fit(folder + "/parts", {}) ==
        "the folder '" + folder + "/parts' has no files");
  write("parts/b.npy", {makeTensor("", FRIT_F32, {2, 3})});
  write("parts/a.npy", {makeTensor("", FRIT_F32, {1, 3})});
  CHECK(fit(folder + "/parts", {makeTensor("x", FRIT_F32, {1, 3})}) == "3");
  CHECK(fit(folder + "/none", {}).starts_with("cannot read '"));
}

int main() {
  char name[] = "/tmp/frit-test-XXXXXX";
  CHECK(mkdtemp(name));
  folder = name;
  testShapes();
  testNames();
  testTypes();
  testFolders();
  std::filesystem::remove_all(folder);
  return finish("samples_test");
}
