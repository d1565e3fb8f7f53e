//===- CudaVariants.cpp - A model with an open dimension on a GPU ---------===//

#include "CudaVariants.h"
#include "Check.h"
#include "TestModel.h"
#include "frit/runtime.hpp"

using namespace frit::test;

/// Device memory that holds what another context computed: its y for a batch of
/// 3 is 3x4 there, twice 1..9 with zeros between.
static void testDeviceTensors(const frit::Module &module,
                              frit::Context &context) {
  frit::Context other;
  CHECK(!frit::Context::create(module, other));
  OpenCall before(3);
  CHECK(!other.run(before.inputs(), before.outputs()));
  void *memory = frit_context_output_buffer(other.get(), 0);
  OpenCall call(3);
  call.x = {2, 4, 6, 0, 8, 10, 12, 0, 14};
  std::vector<frit_tensor> inputs = call.inputs(), outputs = call.outputs();
  inputs[0].data = memory;
  inputs[0].location = FRIT_DEVICE;
  CHECK(!context.run(inputs, outputs));
  CHECK(call.isRight());

  // There and back on the device: y goes over what was x.
  outputs[0].data = memory;
  outputs[0].location = FRIT_DEVICE;
  CHECK(!context.run(inputs, outputs));
  OpenCall after(3);
  for (size_t i = 0; i < after.x.size(); ++i)
    after.x[i] = 2 * call.x[i];
  outputs = after.outputs();
  CHECK(!context.run(inputs, outputs));
  CHECK(after.isRight());

  // Spreading rows out in place is not done.
  inputs[0].data = frit_context_input_buffer(context.get(), 0);
  CHECK(context.run(inputs, outputs).status() == FRIT_UNSUPPORTED);
}

void frit::test::testVariants(const std::string &cubin, unsigned flags) {
  PlanWriter plan;
  writeOpenSteps(plan, /*cuda=*/true);
  plan.target("sm_90a").cubin = plan.blob(cubin);
  writeOpenPrograms(plan);
  Model model;
  model.plan = plan.finish("open");
  frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
  options.device = "cuda";
  options.flags = flags;
  frit::Module module;
  CHECK(!frit::Module::open(*model.get(), module, &options));
  frit::Context context;
  CHECK(!frit::Context::create(module, context));
  for (int64_t batch : {4, 1, 3, 2, 4, 3, 3, 1}) {
    OpenCall call(batch);
    CHECK(!context.run(call.inputs(), call.outputs()));
    CHECK(call.isRight());
  }
  testDeviceTensors(module, context);
}
