//===- CudnnHandles.cpp - A pool of unused cuDNN handles ------------------===//

#include "runtime/cuda/library/CudnnHandles.h"

#include <map>

using namespace frit::cuda;

/// Returns the number of a context, which no other of the process has; 0 if it
/// is gone.
static unsigned long long idOf(decltype(Api::ctxGetId) getId, Context context) {
  unsigned long long id = 0;
  return getId(context, &id) == kSuccess ? id : 0;
}

CudnnHandles::CudnnHandles(const CudnnApi &dnn, const Api &driver,
                           Context context)
    : dnn(dnn), getId(driver.ctxGetId), context(context),
      id(idOf(getId, context)) {}

bool CudnnHandles::wasReset() const { return idOf(getId, context) != id; }

std::shared_ptr<CudnnHandles>
CudnnHandles::of(const CudnnApi &dnn, const Api &driver, Context context) {
  // Models may have loaded different libraries.
  using Key = std::pair<unsigned long long, decltype(dnn.create)>;
  static std::mutex mutex;
  static auto *const all = new std::map<Key, std::weak_ptr<CudnnHandles>>;
  std::lock_guard lock(mutex);
  std::weak_ptr<CudnnHandles> &known =
      (*all)[{idOf(driver.ctxGetId, context), dnn.create}];
  std::shared_ptr<CudnnHandles> handles = known.lock();
  if (!handles)
    known = handles = std::make_shared<CudnnHandles>(dnn, driver, context);
  return handles;
}

CudnnHandles::~CudnnHandles() {
  if (wasReset())
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
  if (wasReset())
    return;
  std::lock_guard lock(mutex);
  // The handle's last stream is about to be destroyed.
  dnn.setStream(handle, nullptr);
  unused.push_back(handle);
}
