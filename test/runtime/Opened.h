//===- Opened.h - Open a model for a test ---------------------------------===//

#ifndef FRIT_TEST_RUNTIME_OPENED_H
#define FRIT_TEST_RUNTIME_OPENED_H

#include "Check.h"
#include "PlanWriter.h"
#include "frit/runtime.hpp"

#include <chrono>
#include <span>
#include <string>
#include <utility>

namespace frit::test {

/// Returns options to open a model on a device. 0 threads mean one per core.
inline frit_module_options optionsFor(const char *device, uint32_t flags = 0,
                                      uint32_t threads = 0) {
  frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
  options.device = device;
  options.flags = flags;
  options.threads = threads;
  return options;
}

/// Returns the same options, with remarks as failures.
inline frit_module_options refuseRemarks(frit_module_options options) {
  options.remark = [](void *, const char *message) {
    printf("remark: %s\n", message);
    CHECK(!"no remark");
  };
  return options;
}

/// Returns the same options, with a line added to `remarks` for each remark.
inline frit_module_options keepRemarks(frit_module_options options,
                                       std::string &remarks) {
  options.remark_user = &remarks;
  options.remark = [](void *user, const char *message) {
    *static_cast<std::string *>(user) += std::string(message) + "\n";
  };
  return options;
}

/// An open model and a context of it.
struct Opened {
  Opened(Model given, const frit_module_options &options)
      : model(std::move(given)) {
    CHECK(!frit::Module::open(*model.get(), module, &options));
    CHECK(!frit::Context::create(module, context));
  }

  Model model;
  frit::Module module;
  frit::Context context;
};

/// Ends a plan for sm_90a.
inline Model finishForGpu(PlanWriter &plan, const std::string &cubin,
                          uint64_t arenaBytes) {
  plan.target("sm_90a");
  plan.module(cubin);
  plan.program().arenaBytes = arenaBytes;
  return plan.finish("opened");
}

/// A plan for sm_90a, opened on the GPU; remarks are failures.
struct OpenedPlan : Opened {
  OpenedPlan(PlanWriter &plan, const std::string &cubin, uint64_t arenaBytes,
             uint32_t flags)
      : Opened(finishForGpu(plan, cubin, arenaBytes),
               refuseRemarks(optionsFor("cuda", flags))) {}

  /// Returns microseconds per call of 200 queued calls.
  double timeCalls(std::span<const frit_tensor> inputs,
                   const frit_tensor &output) {
    constexpr int kCalls = 200;
    auto start = std::chrono::steady_clock::now();
    for (int call = 0; call < kCalls; ++call)
      CHECK(!context.runAsync(inputs, {&output, 1}));
    CHECK(!context.synchronize());
    std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - start;
    return took.count() * 1e6 / kCalls;
  }
};

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_OPENED_H
