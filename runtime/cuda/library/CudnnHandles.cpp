//===- CudnnHandles.cpp - A pool of unused cuDNN handles ------------------===//

#include "runtime/cuda/library/CudnnHandles.h"

#include <map>

using namespace frit::cuda;

std::shared_ptr<CudnnHandles>
CudnnHandles::of(const CudnnApi &dnn, const Api &driver, Context context) {
  // Models may have loaded different libraries.
  using Key = std::pair<unsigned long long, decltype(dnn.create)>;
  static std::mutex mutex;
  static auto *const all = new std::map<Key, std::weak_ptr<CudnnHandles>>;
  ContextWatch watch;
  watch.start(driver, context);
  std::lock_guard lock(mutex);
  std::weak_ptr<CudnnHandles> &known = (*all)[{watch.number(), dnn.create}];
  std::shared_ptr<CudnnHandles> handles = known.lock();
  if (!handles)
    known = handles = std::make_shared<CudnnHandles>(dnn, watch);
  return handles;
}

CudnnHandles::~CudnnHandles() {
  if (context.wasReset())
    return;
  for (DnnHandle handle : unused)
    dnn.destroy(handle);
}

DnnHandle CudnnHandles::take() {
  std::lock_guard lock(mutex);
  if (unused.empty()) {
    DnnHandle made = nullptr;
    return dnn.create(&made) == 0 ? made : nullptr;
  }
  DnnHandle handle = unused.back();
  unused.pop_back();
  return handle;
}

void CudnnHandles::give(DnnHandle handle) {
  if (context.wasReset())
    return;
  std::lock_guard lock(mutex);
  // The handle's last stream is about to be destroyed.
  dnn.setStream(handle, nullptr);
  unused.push_back(handle);
}
