//===- graph_test.cpp - The edges of a model's CUDA graph -----------------===//
//
// Runs on the fake driver of ../fuzz/Driver.cpp.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Opened.h"
#include "PlanWriter.h"
#include "frit/runtime.hpp"
#include "test/fuzz/Driver.h"

#include <dlfcn.h>

using namespace frit::test;
using frit::cuda::FakeEdge;

namespace {

/// A step of a test's list. Kernels wait by themselves, except `old` ones.
struct Node {
  enum Kind { kernel, old, copy, guard } kind = kernel;
  bool followsLast = true; ///< the step before it
  std::vector<uint32_t> follows = {};
  uint32_t held = 0; ///< number of steps in the guard
};

Model makeModel(const std::vector<Node> &nodes) {
  PlanWriter plan;
  plan.output("y", DType::f32, {4});
  uint32_t waiting = plan.kernel("waiting");
  plan.kernels.back().waits = 1;
  uint32_t old = plan.kernel("old");
  for (const Node &node : nodes) {
    Step &step =
        node.kind == Node::guard
            ? plan.guard(PlanWriter::arena(0, 1, false), true, node.held, "n")
            : plan.step(node.kind == Node::copy ? StepKind::copy
                                                : StepKind::launch,
                        "n",
                        {PlanWriter::arena(0, 16, false),
                         PlanWriter::arena(16, 16, true)});
    if (node.kind == Node::kernel || node.kind == Node::old)
      step.kernel = node.kind == Node::old ? old : waiting;
    if (!node.followsLast) {
      step.follows = {uint32_t(plan.follows.size()),
                      uint32_t(node.follows.size())};
      plan.follows.insert(plan.follows.end(), node.follows.begin(),
                          node.follows.end());
    }
  }
  plan.target("sm_90");
  plan.module(emptyElf());
  plan.program().arenaBytes = 32;
  return plan.finish("graph");
}

std::vector<FakeEdge> lastEdges() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  CHECK(library);
  auto ask = reinterpret_cast<decltype(&frit::cuda::fritFakeEdges)>(
      dlsym(library, "fritFakeEdges"));
  CHECK(ask);
  const FakeEdge *edges = nullptr;
  size_t count = ask(&edges);
  return {edges, edges + count};
}

/// Returns the edges of the graph of a call, or of a profile.
std::vector<FakeEdge> edgesOf(const std::vector<Node> &nodes,
                              unsigned flags = 0, bool profile = false) {
  auto [model, module, context] =
      Opened(makeModel(nodes), optionsFor("cuda", flags));
  float y[4];
  frit_tensor output = module.bindOutput(0, y);
  if (profile)
    CHECK(!frit_profile(
        context.get(), nullptr, 0, &output, 1,
        [](void *, const frit_step_info *) {}, nullptr));
  else
    CHECK(!context.run({}, {output}));
  return lastEdges();
}

} // namespace

using Edges = std::vector<FakeEdge>;
static constexpr bool kFull = true, kAhead = false;

/// Kernels 1 and 2 are concurrent, and 3 follows both.
static const std::vector<Node> diamond = {
    {}, {}, {Node::kernel, false, {0}}, {Node::kernel, false, {1, 2}}};

static void testBranches() {
  CHECK(
      (edgesOf(diamond) ==
       Edges{{1, 2, kAhead}, {1, 3, kAhead}, {2, 4, kAhead}, {3, 4, kAhead}}));
  CHECK((edgesOf(diamond, FRIT_NO_PROGRAMMATIC_LAUNCH) ==
         Edges{{1, 2, kFull}, {1, 3, kFull}, {2, 4, kFull}, {3, 4, kFull}}));
  // The last step follows one of two ends; nothing follows the other.
  CHECK(
      (edgesOf(
           {{}, {}, {Node::kernel, false, {0}}, {Node::kernel, false, {1}}}) ==
       Edges{{1, 2, kAhead}, {1, 3, kAhead}, {2, 4, kAhead}}));
  // Two steps without predecessor.
  CHECK((
      edgesOf({{}, {Node::kernel, false, {}}, {Node::kernel, false, {0, 1}}}) ==
      Edges{{1, 3, kAhead}, {2, 3, kAhead}}));
}

/// Checks that steps that do not wait by themselves have full edges, in and
/// out.
static void testFullEdges() {
  CHECK((edgesOf({{},
                  {Node::copy},
                  {},
                  {Node::kernel, false, {1}},
                  {Node::kernel, false, {2, 3}}}) == Edges{{1, 2, kFull},
                                                           {2, 3, kFull},
                                                           {2, 4, kFull},
                                                           {3, 5, kAhead},
                                                           {4, 5, kAhead}}));
  CHECK((edgesOf({{},
                  {},
                  {Node::kernel, false, {0}},
                  {Node::old, false, {1, 2}},
                  {}}) == Edges{{1, 2, kAhead},
                                {1, 3, kAhead},
                                {2, 4, kFull},
                                {3, 4, kFull},
                                {4, 5, kAhead}}));
  // A kernel after a copy and a kernel.
  CHECK((edgesOf({{Node::copy}, {}, {Node::kernel, false, {0, 1}}}) ==
         Edges{{1, 2, kFull}, {1, 3, kFull}, {2, 3, kAhead}}));
}

/// Checks that steps are timed one after another, each between two events.
static void testProfile() {
  Edges edges = edgesOf(diamond, 0, /*profile=*/true);
  CHECK(edges.size() == 8);
  for (unsigned i = 0; i < edges.size(); ++i)
    CHECK((edges[i] == FakeEdge{i + 1, i + 2, kFull}));
}

/// Checks that a graph is created again if other work in the process ends a
/// capture, and that steps run without a graph after repeated failures.
static void testInvalidCaptures() {
  setenv("FRIT_FAKE_INVALID_CAPTURES", "3", 1);
  CHECK(
      (edgesOf({{}, {Node::copy}, {}}) == Edges{{1, 2, kFull}, {2, 3, kFull}}));
  setenv("FRIT_FAKE_INVALID_CAPTURES", "1000", 1);
  CHECK(edgesOf({{}, {Node::copy}, {}}).size() < 2);
  unsetenv("FRIT_FAKE_INVALID_CAPTURES");
}

/// Nodes 2 and 6 set the handles of the conditional nodes 3 and 7, whose bodies
/// are separate graphs. Later steps wait for the conditional node.
static void testGuards() {
  Node two = {Node::guard, true, {}, 2}, one = {Node::guard, true, {}, 1};
  CHECK((edgesOf({{}, two, {}, {}, one, {}, {}}) == Edges{{1, 2, kFull},
                                                          {2, 3, kFull},
                                                          {4, 5, kFull},
                                                          {3, 6, kFull},
                                                          {6, 7, kFull},
                                                          {7, 9, kFull}}));
  // A guard in a guard.
  CHECK((edgesOf({two, one, {}, {}}) ==
         Edges{{1, 2, kFull}, {3, 4, kFull}, {2, 6, kFull}}));
  // Two guards that run concurrently, and concurrent steps in one.
  Node own = {Node::guard, false, {0}, 2};
  CHECK((edgesOf({{},
                  one,
                  {},
                  own,
                  {},
                  {Node::kernel, false, {3}},
                  {Node::kernel, false, {1, 3}}}) == Edges{{1, 2, kFull},
                                                           {2, 3, kFull},
                                                           {1, 5, kFull},
                                                           {5, 6, kFull},
                                                           {3, 9, kFull},
                                                           {6, 9, kFull}}));
  // Without conditional nodes the guarded steps are nodes like others.
  setenv("FRIT_FAKE_NO_CONDITIONS", "1", 1);
  CHECK((edgesOf({{},
                  own,
                  {},
                  {Node::kernel, false, {1}},
                  {Node::kernel, false, {0}},
                  {Node::kernel, false, {1, 4}}}) == Edges{{1, 2, kAhead},
                                                           {1, 3, kAhead},
                                                           {1, 4, kAhead},
                                                           {2, 5, kAhead},
                                                           {3, 5, kAhead},
                                                           {4, 5, kAhead}}));
  unsetenv("FRIT_FAKE_NO_CONDITIONS");
}

static void testRefused() {
  auto opens = [](const std::vector<Node> &nodes) {
    Model model = makeModel(nodes);
    frit::Module module;
    return !frit::Module::open(*model.get(), module);
  };
  auto follows = [](std::vector<uint32_t> others) {
    return Node{Node::kernel, false, std::move(others)};
  };
  CHECK(opens({{}, follows({0})}));
  CHECK(!opens({{}, follows({1})}) && lastErrorHas("itself or a later step"));
  CHECK(!opens({{}, follows({~0u})}) && lastErrorHas("itself or a later step"));
  // Steps in guards, and steps outside of them.
  Node one = {Node::guard, true, {}, 1};
  CHECK(opens({{}, one, follows({1}), follows({1})}));
  CHECK(!opens({{}, one, follows({0})}) && lastErrorHas("in another guard"));
  CHECK(!opens({one, {}, follows({1})}) && lastErrorHas("in another guard"));
  CHECK(!opens({one, {}, one, follows({1})}) &&
        lastErrorHas("in another guard"));
  CHECK(!opens({one, follows({})}) && lastErrorHas("does not depend on it"));
  auto nested = [](uint32_t depth) {
    std::vector<Node> nodes;
    for (uint32_t held = depth; held; --held)
      nodes.push_back({Node::guard, true, {}, held});
    nodes.push_back({});
    return nodes;
  };
  CHECK(edgesOf(nested(1000)).size() == 1000);
  CHECK(!opens(nested(1001)) && lastErrorHas("nested too deep"));
  Model model = makeModel(diamond);
  auto *head = reinterpret_cast<Header *>(model.plan.data());
  auto *steps =
      reinterpret_cast<Step *>(model.plan.data() + head->steps.offset);
  steps[2].follows.count = 2;
  frit::Module module;
  CHECK(frit::Module::open(*model.get(), module));
  CHECK(lastErrorHas("the dependencies of a step are out of range"));
}

int main() {
  testBranches();
  testFullEdges();
  testProfile();
  testInvalidCaptures();
  testGuards();
  testRefused();
  return finish("graph_test");
}
