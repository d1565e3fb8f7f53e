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

/// Added to the numbers of contexts.
static unsigned long long resets = 0;

int main() {
  CudnnApi library = makeLibrary();
  Api driver = {};
  driver.ctxGetId = [](Context context, unsigned long long *id) {
    *id = reinterpret_cast<uintptr_t>(context) + resets;
    return kSuccess;
  };
  auto first = reinterpret_cast<Context>(&library);
  auto second = reinterpret_cast<Context>(&alive);
  std::shared_ptr<CudnnHandles> one = CudnnHandles::of(library, driver, first);
  std::shared_ptr<CudnnHandles> other =
      CudnnHandles::of(library, driver, first);
  std::shared_ptr<CudnnHandles> elsewhere =
      CudnnHandles::of(library, driver, second);
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
  CHECK(CudnnHandles::of(library, driver, first)->take() == nullptr);

  // After a reset, the library gets no handle of the context that is gone, and
  // the next model a new one.
  starts = true;
  one = CudnnHandles::of(library, driver, first);
  a = one->take();
  b = one->take();
  one->give(a);
  ++resets;
  other = CudnnHandles::of(library, driver, first);
  CHECK(other != one && other->take() != a);
  alive.clear();
  one->give(b);
  one.reset();
  CHECK(alive.empty());
  return finish("cudnn_handles_test");
}
