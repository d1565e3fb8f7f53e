//===- CudaVariants.cpp - Models with symbolic dimensions on a GPU --------===//

#include "CudaVariants.h"
#include "Check.h"
#include "Opened.h"
#include "TestModel.h"
#include "frit/runtime.hpp"

using namespace frit::test;

/// Tests device tensors with results of another context. Its y for a batch of 3
/// is 3x4 there, twice 1..9 with zeros between.
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

  // On the device: y overwrites x.
  outputs[0].data = memory;
  outputs[0].location = FRIT_DEVICE;
  CHECK(!context.run(inputs, outputs));
  OpenCall after(3);
  for (size_t i = 0; i < after.x.size(); ++i)
    after.x[i] = 2 * call.x[i];
  outputs = after.outputs();
  CHECK(!context.run(inputs, outputs));
  CHECK(after.isRight());

  // In-place spreading of rows is unsupported.
  inputs[0].data = frit_context_input_buffer(context.get(), 0);
  CHECK(context.run(inputs, outputs).status() == FRIT_UNSUPPORTED);
}

/// Tests outputs in another context's device memory. There the two rows of z
/// are packed, but not in its own context's buffer.
static void testDeviceCounts(const frit::Module &module,
                             frit::Context &context) {
  frit::Context other, reader;
  CHECK(!frit::Context::create(module, other));
  CHECK(!frit::Context::create(module, reader));
  for (bool wait : {true, false}) {
    CountedCall call({1, -1, 2, -1, 5, 6, 7, 8});
    std::vector<frit_tensor> inputs = call.inputs(), outputs = call.outputs();
    // A call copies its input to the device.
    CHECK(!context.run(inputs, {}));
    inputs[0].data = frit_context_input_buffer(context.get(), 0);
    inputs[0].location = FRIT_DEVICE;
    for (uint32_t i = 0; i < 3; ++i) {
      outputs[i].data = frit_context_output_buffer(other.get(), i);
      outputs[i].location = FRIT_DEVICE;
    }
    CHECK(!(wait ? context.run(inputs, outputs)
                 : context.runAsync(inputs, outputs)));
    CHECK(!context.synchronize());
    int64_t dims[2];
    CHECK(!context.outputDims(1, dims));
    CHECK(dims[0] == 2 && dims[1] == 2);
    // The present contents are the next input: its first row is 1, 2, 5, 7.
    CountedCall after({});
    std::vector<frit_tensor> results = after.outputs();
    frit_tensor given = inputs[0];
    given.data = outputs[1].data;
    CHECK(!reader.run(std::vector{given}, results));
    CHECK(!reader.outputDims(0, dims));
    CHECK(dims[0] == 4);
    CHECK((after.y == std::vector<float>{1, 2, 5, 7}));
  }
  CountedCall call({1, -1, 2, -1, 5, 6, 7, 8});
  std::vector<frit_tensor> outputs = call.outputs();
  outputs[1].data = frit_context_output_buffer(context.get(), 1);
  outputs[1].location = FRIT_DEVICE;
  CHECK(!context.run(call.inputs(), outputs));
}

void frit::test::testCounts(const std::string &cubin, unsigned flags) {
  PlanWriter plan;
  writeCountedSteps(plan, /*cuda=*/true);
  plan.target("sm_90a");
  plan.module(cubin);
  auto [model, module, context] =
      Opened(plan.finish("counted"), optionsFor("cuda", flags));
  for (const std::vector<float> &x : countedInputs()) {
    CountedCall call(x);
    CHECK(!context.run(call.inputs(), call.outputs()));
    CHECK(call.isRight(context.get()));
  }
  testDeviceCounts(module, context);
  CountedCall call({200, 1, 1, 1, 1, 1, 1, 1});
  CHECK(context.run(call.inputs(), call.outputs()).status() == FRIT_BAD_MODEL);
}

void frit::test::testVariants(const std::string &cubin, unsigned flags) {
  PlanWriter plan;
  writeOpenSteps(plan, /*cuda=*/true);
  plan.target("sm_90a");
  plan.module(cubin);
  writeOpenPrograms(plan);
  auto [model, module, context] =
      Opened(plan.finish("open"), optionsFor("cuda", flags));
  for (int64_t batch : {4, 1, 3, 2, 4, 3, 3, 1}) {
    OpenCall call(batch);
    CHECK(!context.run(call.inputs(), call.outputs()));
    CHECK(call.isRight());
  }
  testDeviceTensors(module, context);
}
