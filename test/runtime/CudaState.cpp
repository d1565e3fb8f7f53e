//===- CudaState.cpp - State on a GPU -------------------------------------===//

#include "Check.h"
#include "CudaLaunches.h"
#include "DerivedModel.h"
#include "Opened.h"
#include "StateModel.h"

#include <array>
#include <vector>

using namespace frit;
using namespace frit::test;

/// Checks that trial calls of libraries, when a context or peer is created, do
/// not change the state that the calls write.
static void testLibraries(const std::string &cubin, unsigned flags) {
  constexpr int64_t kSize = 16;
  std::vector<float> first(kSize * kSize), identity(kSize * kSize);
  for (int64_t i = 0; i < kSize * kSize; ++i) {
    first[i] = float(i);
    identity[i] = i % (kSize + 1) ? 0.0f : 1.0f;
  }
  PlanWriter plan;
  Buffer w = plan.constant("identity", DType::f32, {kSize, kSize}, identity,
                           /*resident=*/true);
  (void)plan.constant("first", DType::f32, {kSize, kSize}, first,
                      /*resident=*/false);
  Buffer d = plan.state("d", DType::f32, {kSize, kSize}, /*constant=*/1);
  Buffer x = plan.input("x", DType::f32, {kSize, kSize});
  Gemm product;
  product.m = product.n = product.k = kSize;
  product.lda = product.ldb = product.ldd = kSize;
  plan.gemm(product, "product", {x, w, PlanWriter::written(d)});
  plan.target("sm_90a");
  plan.module(cubin);
  plan.function("product");
  Model model = plan.finish("product into state");
  frit_module_options options = refuseRemarks(optionsFor("cuda", flags));
  Module module;
  Context context, peer;
  CHECK(!Module::open(*model.get(), module, &options));
  CHECK(!Context::create(module, context));
  static const int64_t dims[] = {kSize, kSize};
  std::vector<float> found(first.size());
  frit_tensor read = {"d", found.data(), FRIT_F32, 2, dims, FRIT_HOST};
  CHECK(!context.readState({&read, 1}) && found == first);
  std::vector<float> values(first.size());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = float(i % 7) - 3;
  CHECK(!context.run({module.bindInput(0, values.data())}, {}));
  CHECK(!context.createPeer(module, peer));
  CHECK(!peer.readState({&read, 1}) && found == values);
  // Write more than a command can contain.
  frit_tensor written = {"d", first.data(), FRIT_F32, 2, dims, FRIT_HOST};
  CHECK(!peer.writeState({&written, 1}));
  CHECK(!context.readState({&read, 1}) && found == first);
}

/// Checks that writes of small tensors and reads to the device are only
/// enqueued, between the calls before and after them.
static void testOrder(const std::string &cubin, unsigned flags) {
  StateModelOptions kind;
  kind.cubin = &cubin;
  kind.guarded = false;
  Model model = makeStateModel(kind);
  frit_module_options options = refuseRemarks(optionsFor("cuda", flags));
  Module module;
  Context context;
  CHECK(!Module::open(*model.get(), module, &options));
  CHECK(!Context::create(module, context));
  std::vector<frit_tensor> inputs, outputs;
  for (uint32_t i = 0; i < 2; ++i) {
    inputs.push_back(
        module.bindInput(i, frit_context_input_buffer(context.get(), i)));
    outputs.push_back(
        module.bindOutput(i, frit_context_output_buffer(context.get(), i)));
    inputs[i].location = outputs[i].location = FRIT_DEVICE;
  }
  float count = 0, found = -1;
  for (int call = 0; call < 1000; ++call) {
    count = float(call * 10);
    frit_tensor write = stateTensor("count", &count, true);
    CHECK(!context.writeState({&write, 1}));
    count = -1; // The value has been copied.
    for (int i = 0; i < 3; ++i)
      CHECK(!context.runAsync(inputs, outputs));
    if (call % 100)
      continue;
    frit_tensor read = stateTensor("count", &found, true);
    CHECK(!context.readState({&read, 1}));
    CHECK(found == float(call * 10 + 3));
  }
}

void frit::test::testState(const std::string &cubin) {
  for (unsigned flags : {0u, unsigned(FRIT_NO_CUDA_GRAPH)}) {
    StateModelOptions kind;
    kind.cubin = &cubin;
    for (bool guarded : {true, false}) {
      kind.guarded = guarded;
      checkState(refuseRemarks(optionsFor("cuda", flags)), kind);
    }
    checkDerived(refuseRemarks(optionsFor("cuda", flags)), {"sm_90a", cubin});
    testLibraries(cubin, flags);
    testOrder(cubin, flags);
  }
}
