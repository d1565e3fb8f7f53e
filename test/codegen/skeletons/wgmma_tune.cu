//===- wgmma_tune.cu - Times all tilings of models' products --------------===//
//
// Usage: wgmma_tune HEADERS [WORD], where HEADERS is codegen/cuda; built
// by nvcc -std=c++20 -gencode arch=compute_90a,code=sm_90a -I DIR
// -I runtime/include -lnvrtc -lcublasLt, where DIR/frit has its device headers.
//
// For each product and convolution of the models (those whose name contains
// WORD), compiles wgmma_gemm.cuh or wgmma_conv.cuh for every tiling that may
// pay, compares the results with each other, and prints the fastest tilings
// beside the best that cuBLASLt's heuristics find. Times are of short bursts,
// which a cool GPU runs at its highest clock; wgmma_sustained.cu measures
// sustained load.
//
//===----------------------------------------------------------------------===//

#include "wgmma_candidates.h"

#include <chrono>

using namespace harness;

static void tune(const Job &job, Memory &memory) {
  const Shape &shape = job.shape;
  int count = launchesOf(shape, memory);
  Candidate peer;
  std::vector<unsigned char> want;
  if (!shape.taps) {
    require(cudaMemset(memory.d, 0xff, memory.room));
    std::vector<Candidate> library = cublasCandidates(shape, memory, count, 64);
    for (Candidate &candidate : library)
      candidate.time = candidate.replay->time(3);
    sortByTime(library, library.size());
    if (!library.empty()) {
      peer = library[0];
      want = sample(shape, memory);
    }
  }
  std::vector<Candidate> results = timeCuts(job, memory, count, want);
  sortByTime(results, results.size());
  // Time again in rotation, so that clocks and temperature are equal for all.
  size_t finalists = std::min<size_t>(results.size(), 4);
  double peerTime = 0;
  for (size_t i = 0; i < finalists; ++i)
    results[i].time = 0;
  constexpr int rounds = 4;
  for (int round = 0; round < rounds; ++round) {
    if (peer.replay)
      peerTime += peer.replay->time(3) / rounds;
    for (size_t i = 0; i < finalists; ++i)
      results[i].time += results[i].replay->time(3) / rounds;
  }
  sortByTime(results, finalists);
  double time = results[0].time, speed = shape.work() / time * 1e-6;
  printf("%-26s %6ld %5ld %5ld %8.2f us %6.1f TFLOP/s, %3.0f%% of 790, %3.0f%% "
         "of 4.3 TB/s",
         shape.name.c_str(), long(shape.m), long(shape.n), long(shape.k), time,
         speed, speed / 7.9, shape.bytes() / time * 1e-6 / 4.3 * 100);
  if (peer.replay)
    printf("; cublasLt %8.2f us, %.2f times", peerTime, peerTime / time);
  printf("\n");
  for (const Candidate &result : results)
    printf("    %8.2f us  %s%s\n", result.time, result.name.c_str(),
           result.right ? "" : "  WRONG");
}

int main(int argc, char **argv) {
  require(argc > 1, "usage: wgmma_tune HEADERS [WORD]");
  std::vector<Shape> wanted;
  for (const Shape &shape : shapes())
    if (argc <= 2 || shape.name.find(argv[2]) != std::string::npos)
      wanted.push_back(shape);
  // Compile all before timing.
  auto begin = std::chrono::steady_clock::now();
  std::vector<Job> jobs = compileAll(wanted, readHeaders(argv[1]));
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  printf("compiled %zu products in %.1f s\n", jobs.size(), seconds);
  Memory memory;
  for (const Job &job : jobs) {
    tune(job, memory);
    fflush(stdout);
  }
  printf("%d wrong results\n", failures);
  return failures != 0;
}
