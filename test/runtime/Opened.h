//===- Opened.h - Run a plan on the GPU -----------------------------------===//

#ifndef FRIT_TEST_RUNTIME_OPENED_H
#define FRIT_TEST_RUNTIME_OPENED_H

#include "Check.h"
#include "PlanWriter.h"
#include "TestModel.h"
#include "frit/runtime.hpp"

#include <chrono>
#include <span>
#include <string>

namespace frit::test {

/// A plan for sm_90a, opened on the GPU; remarks are failures.
class Opened {
public:
  Opened(PlanWriter &plan, const std::string &cubin, uint64_t arenaBytes,
         unsigned flags) {
    plan.target("sm_90a");
    plan.module(cubin);
    plan.program().arenaBytes = arenaBytes;
    model.plan = plan.finish("opened");
    frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
    options.device = "cuda";
    options.flags = flags;
    options.remark = [](void *, const char *message) {
      printf("remark: %s\n", message);
      CHECK(!"no remark");
    };
    CHECK(!frit::Module::open(*model.get(), module, &options));
    CHECK(!frit::Context::create(module, context));
  }

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

  Model model;
  frit::Module module;
  frit::Context context;
};

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_OPENED_H
