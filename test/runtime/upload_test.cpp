//===- upload_test.cpp - Small uploads complete before they return --------===//
//
// The driver may return before a small copy is done on the null stream, for
// which frit's streams do not wait.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "runtime/cuda/Upload.h"

#include <vector>

using namespace frit;
using namespace frit::cuda;
using namespace frit::test;

static std::vector<Upload> onTheWay;

static Result copyLater(DevicePointer to, const void *from, size_t bytes) {
  onTheWay.push_back({to, static_cast<const uint8_t *>(from), bytes});
  return kSuccess;
}

static Result arrive(Stream stream) {
  if (stream)
    return kSuccess;
  for (const Upload &copy : onTheWay)
    memcpy(reinterpret_cast<void *>(copy.to), copy.from, copy.bytes);
  onTheWay.clear();
  return kSuccess;
}

int main() {
  Gpu gpu;
  gpu.driver.memcpyHtoD = copyLater;
  gpu.driver.Api::streamSynchronize = arrive;
  const uint8_t weights[] = {1, 2, 3, 4, 5};
  uint8_t memory[5] = {};
  auto place = [&](int i) {
    return reinterpret_cast<DevicePointer>(memory + i);
  };
  CHECK(!Uploader(gpu)
             .upload({{place(0), weights, 2}, {place(2), weights + 2, 3}})
             .failed());
  CHECK(!memcmp(memory, weights, sizeof weights));
  return finish("upload_test");
}
