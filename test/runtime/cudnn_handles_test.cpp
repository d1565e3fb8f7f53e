//===- cudnn_handles_test.cpp - Contexts reuse cuDNN's handles ------------===//

#include "Check.h"
#include "runtime/cuda/library/CudnnHandles.h"

#include <set>

using namespace frit::test;
using namespace frit::cuda;

static std::set<DnnHandle> alive;
static bool starts = true;

static CudnnApi makeLibrary() {
  CudnnApi dnn = {};
  dnn.create = [](DnnHandle *handle) {
    static char memory[16], *next = memory;
    if (!starts)
      return 1;
    *handle = reinterpret_cast<DnnHandle>(next++);
    alive.insert(*handle);
    return 0;
  };
  dnn.destroy = [](DnnHandle handle) { return alive.erase(handle) ? 0 : 1; };
  dnn.setStream = [](DnnHandle handle, Stream stream) {
    CHECK(alive.count(handle) && !stream);
    return 0;
  };
  return dnn;
}

int main() {
  CudnnApi library = makeLibrary();
  auto first = reinterpret_cast<Context>(&library);
  auto second = reinterpret_cast<Context>(&alive);
  std::shared_ptr<CudnnHandles> one = CudnnHandles::of(library, first);
  std::shared_ptr<CudnnHandles> other = CudnnHandles::of(library, first);
  std::shared_ptr<CudnnHandles> elsewhere = CudnnHandles::of(library, second);
  CHECK(one == other && one != elsewhere);

  DnnHandle a = one->take(), b = one->take();
  CHECK(a && b && a != b && alive.size() == 2);
  one->give(a);
  CHECK(elsewhere->take() != a); // another device's
  CHECK(other->take() == a);

  starts = false;
  CHECK(!one->take());
  one->give(a);
  one->give(b);
  one.reset();
  CHECK(alive.size() == 3);
  other.reset(); // the last model of the device
  CHECK(alive.size() == 1);
  CHECK(CudnnHandles::of(library, first)->take() == nullptr);
  return finish("cudnn_handles_test");
}
