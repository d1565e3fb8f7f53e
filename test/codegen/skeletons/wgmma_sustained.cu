//===- wgmma_sustained.cu - Products at sustained clocks ------------------===//
//
// Usage: wgmma_sustained HEADERS SECONDS [WORD]; built as wgmma_tune.cu says.
//
// A GPU under sustained load reaches its power limit and lowers its clock, so
// the tiling with the lowest power draw is the fastest; short bursts do not
// show that. For each product of the models (whose name contains WORD), runs
// every tiling and algorithm of cuBLASLt briefly on a hot GPU, then the best of
// each for SECONDS twice, and prints both rates and the clock.
//
// Then measures GELU after a product: fused into frit's kernel, compared with
// cuBLASLt's product and a separate kernel for GELU, because cuBLASLt has only
// the tanh form.
//
//===----------------------------------------------------------------------===//

#include "wgmma_candidates.h"

#include "frit/map.cuh"
#include "frit/tile.cuh"

#include <chrono>

#include <dlfcn.h>

using namespace harness;
using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

//===----------------------------------------------------------------------===//
// Sustained load
//===----------------------------------------------------------------------===//

namespace {
/// The SM clock, from NVML.
class Card {
public:
  Card() {
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!library)
      return;
    auto initialize = find<int()>(library, "nvmlInit_v2");
    auto handle =
        find<int(unsigned, void **)>(library, "nvmlDeviceGetHandleByIndex_v2");
    if (initialize && handle && !initialize() && !handle(0, &device))
      clock =
          find<int(void *, int, unsigned *)>(library, "nvmlDeviceGetClockInfo");
  }

  /// Returns the clock; 0 if unknown.
  double megahertz() const {
    unsigned value = 0;
    constexpr int multiprocessors = 1;
    if (!clock || clock(device, multiprocessors, &value))
      return 0;
    return value;
  }

private:
  template <class Function>
  static Function *find(void *library, const char *name) {
    return reinterpret_cast<Function *>(dlsym(library, name));
  }

  void *device = nullptr;
  int (*clock)(void *, int, unsigned *) = nullptr;
};

struct Sustained {
  double microseconds, megahertz;
};
} // namespace

/// Runs launches back to back for `seconds`; ignores the first 40%.
static Sustained sustain(Replay &replay, const Memory &memory, const Card &card,
                         double seconds) {
  // Keeps a few graphs queued and samples the clock.
  constexpr int depth = 4;
  static cudaEvent_t ends[depth];
  if (!ends[0])
    for (cudaEvent_t &end : ends)
      require(cudaEventCreate(&end));
  auto runFor = [&](double seconds) {
    auto begin = Clock::now();
    double clocks = 0;
    int64_t graphs = 0, looks = 0;
    for (; secondsSince(begin) < seconds; ++graphs) {
      cudaEvent_t end = ends[graphs % depth];
      if (graphs >= depth)
        require(cudaEventSynchronize(end));
      replay.launch();
      require(cudaEventRecord(end, memory.stream));
      if (graphs % 16 == 0) {
        clocks += card.megahertz();
        ++looks;
      }
    }
    require(cudaStreamSynchronize(memory.stream));
    return Sustained{secondsSince(begin) * 1e6 / (graphs * replay.launches()),
                     clocks / looks};
  };
  runFor(seconds * 0.4);
  return runFor(seconds * 0.6);
}

//===----------------------------------------------------------------------===//
// GELU in a kernel of its own
//===----------------------------------------------------------------------===//

/// Computes GELU in place, as frit emits it unfused.
static __global__ void __launch_bounds__(256) gelu(f16 *at, int count) {
  frit::map<8>(
      [&](int i) {
        float values[8];
        frit::loadVector(values, at + i);
        for (float &value : values)
          value = frit::GeluTo16Bits()(value);
        frit::storeVector(at + i, values);
      },
      count);
}

static std::vector<Shape> wantedShapes(const char *word) {
  std::vector<Shape> result;
  auto has = [](const std::string &name, const char *part) {
    return name.find(part) != std::string::npos;
  };
  for (Shape shape : shapes()) {
    if (shape.taps || shape.wide || has(shape.name, "resnet") ||
        (word && !has(shape.name, word)))
      continue;
    shape.function = "Identity";
    result.push_back(shape);
    if (has(shape.name, " up") && !has(shape.name, "gpt")) {
      shape.name += " gelu";
      shape.function = "GeluTo16Bits";
      result.push_back(shape);
    }
  }
  return result;
}

static void measure(const Job &job, Memory &memory, const Card &card,
                    double seconds) {
  const Shape &shape = job.shape;
  int count = launchesOf(shape, memory);
  bool apart = shape.epilogue() == "GeluTo16Bits";
  auto pass = [&] {
    int elements = int(shape.m * shape.n);
    gelu<<<(elements / 8 + 255) / 256, 256, 0, memory.stream>>>(
        reinterpret_cast<f16 *>(memory.d), elements);
  };
  std::vector<Candidate> all =
      cublasCandidates(shape, memory, count, 24, apart ? After(pass) : After());
  std::vector<unsigned char> want;
  if (!all.empty()) {
    all[0].replay->time(1);
    want = sample(shape, memory);
  }
  for (Candidate &candidate : timeCuts(job, memory, count, want))
    all.push_back(candidate);
  // Warm up, so that the first candidate has no advantage.
  sustain(*all[0].replay, memory, card, 1.5);
  // All of them briefly, then the best few in both orders.
  for (Candidate &candidate : all) {
    if (!candidate.right)
      printf("WRONG %s\n", candidate.name.c_str());
    candidate.time =
        sustain(*candidate.replay, memory, card, 0.3 * seconds).microseconds;
  }
  sortByTime(all, all.size());
  std::vector<Candidate> best;
  int taken[2] = {0, 0};
  for (const Candidate &candidate : all)
    if (taken[candidate.kernel != nullptr]++ < (candidate.kernel ? 4 : 2))
      best.push_back(candidate);
  std::vector<Sustained> forwards, backwards;
  for (const Candidate &candidate : best)
    forwards.push_back(sustain(*candidate.replay, memory, card, seconds));
  for (size_t i = best.size(); i-- > 0;)
    backwards.push_back(sustain(*best[i].replay, memory, card, seconds));
  printf("%s, %ld x %ld x %ld%s\n", shape.name.c_str(), long(shape.m),
         long(shape.n), long(shape.k),
         apart ? ", GELU apart behind cublasLt" : "");
  for (size_t i = 0; i < best.size(); ++i) {
    Sustained x = forwards[i], y = backwards[best.size() - 1 - i];
    double time = (x.microseconds + y.microseconds) / 2;
    printf("  %8.2f us %6.1f TFLOP/s (%.1f, %.1f) at %.0f MHz  %s\n", time,
           shape.work() / time * 1e-6, shape.work() / x.microseconds * 1e-6,
           shape.work() / y.microseconds * 1e-6,
           (x.megahertz + y.megahertz) / 2, best[i].name.c_str());
  }
  fflush(stdout);
}

int main(int argc, char **argv) {
  require(argc > 2, "usage: wgmma_sustained HEADERS SECONDS [WORD]");
  std::vector<Job> jobs = compileAll(wantedShapes(argc > 3 ? argv[3] : nullptr),
                                     readHeaders(argv[1]));
  Memory memory;
  Card card;
  for (const Job &job : jobs)
    measure(job, memory, card, atof(argv[2]));
  printf("%d wrong results\n", failures);
  return failures != 0;
}
