//===- launch_graph.h - Benchmarks of launches in a CUDA graph ------------===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_LAUNCH_GRAPH_H
#define FRIT_TEST_CODEGEN_SKELETONS_LAUNCH_GRAPH_H

#include "harness.h"

#ifndef FRIT_EMULATE

namespace harness {

/// Times a graph of 20 calls of `launch`, so that what a launch costs the host
/// does not hide the time of small kernels. `work` is that of one call.
template <class Launch>
void benchGraph(const std::string &name, double work, const char *unit,
                const Launch &launch) {
  constexpr int times = 20;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  require(cudaStreamCreate(&launchStream));
  require(cudaStreamBeginCapture(launchStream, cudaStreamCaptureModeRelaxed));
  for (int i = 0; i < times; ++i)
    launch();
  require(cudaStreamEndCapture(launchStream, &graph));
  require(cudaGraphInstantiate(&executable, graph, 0));
  bench((name + ", " + std::to_string(times) + " times").c_str(), times * work,
        unit, [&] { require(cudaGraphLaunch(executable, nullptr)); });
  require(cudaGraphExecDestroy(executable));
  require(cudaGraphDestroy(graph));
  require(cudaStreamDestroy(launchStream));
  launchStream = nullptr;
}

} // namespace harness

#endif

#endif // FRIT_TEST_CODEGEN_SKELETONS_LAUNCH_GRAPH_H
