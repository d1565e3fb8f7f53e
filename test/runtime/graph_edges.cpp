//===- graph_edges.cpp - Print the edges of a model's CUDA graphs ---------===//
//
//   graph_edges MODEL.so FUNCTION
//
// Runs on the fake driver of ../fuzz/Driver.cpp and the fake NCCL of
// FakeNccl.cpp. Prints the graph of a context without a group and, if the
// function has collectives, of one that has joined a group: a line per edge,
// sorted, "1 -> 2 full" or "1 -> 2 ahead" (programmatic). Nodes are numbered
// from 1 in the order of their creation.
//
//===----------------------------------------------------------------------===//

#include "Opened.h"
#include "test/fuzz/Driver.h"

#include <algorithm>
#include <dlfcn.h>
#include <memory>
#include <tuple>
#include <vector>

using namespace frit::test;
using frit::cuda::FakeEdge;

/// Calls a context's function with tensors of zeros.
static void call(const frit::Module &module, frit::Context &context) {
  std::vector<frit_tensor> tensors[2];
  std::vector<std::unique_ptr<char[]>> memory;
  uint32_t counts[] = {module.inputCount(), module.outputCount()};
  for (bool isOutput : {false, true})
    for (uint32_t i = 0; i < counts[isOutput]; ++i) {
      frit_tensor_info info = isOutput ? module.output(i) : module.input(i);
      memory.push_back(std::make_unique<char[]>(info.bytes));
      tensors[isOutput].push_back({info.name, memory.back().get(), info.dtype,
                                   info.rank, info.dims, FRIT_HOST});
    }
  CHECK(!context.run(tensors[0], tensors[1]));
}

static void print(const char *title) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  CHECK(driver);
  auto ask = reinterpret_cast<decltype(&frit::cuda::fritFakeEdges)>(
      dlsym(driver, "fritFakeEdges"));
  CHECK(ask);
  const FakeEdge *all = nullptr;
  size_t count = ask(&all);
  std::vector<FakeEdge> edges(all, all + count);
  std::ranges::sort(edges, {}, [](const FakeEdge &edge) {
    return std::tuple(edge.to, edge.from, edge.full);
  });
  printf("%s: %zu edges\n", title, count);
  for (const FakeEdge &edge : edges)
    printf("%u -> %u %s\n", edge.from, edge.to, edge.full ? "full" : "ahead");
}

int main(int argc, char **argv) {
  CHECK(argc == 3);
  frit_module_options options = optionsFor("cuda");
  frit::Module first, module;
  CHECK(!frit::Module::load(argv[1], first, &options));
  CHECK(!first.openFunction(argv[2], module));
  frit::Context context;
  CHECK(!frit::Context::create(module, context));
  call(module, context);
  print("alone");
  frit_group group = {0, 1, {}};
  if (frit_group_unique_id(module.get(), &group.id) != FRIT_OK ||
      frit_context_join(context.get(), &group) != FRIT_OK)
    return 0;
  call(module, context);
  print("in a group");
  return 0;
}
