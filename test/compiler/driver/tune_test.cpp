//===- tune_test.cpp - Tune a model on a fake device ----------------------===//
//
// Usage: tune_test MODEL.onnx. A fake device inspects the candidates and
// returns made-up times. Tests everything around it: which problems there are,
// which candidates are compiled, the file, and resuming.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "codegen/cuda/compile/Nvrtc.h"
#include "compiler/driver/Compilation.h"
#include "compiler/driver/quantize/SampleRunner.h"
#include "compiler/driver/tuning/Tune.h"
#include "frit/runtime.hpp"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <set>

using namespace frit;
using namespace frit::test;

namespace {
/// Each schedule takes less time than the ones before. Our own kernels take
/// more than library calls, but each library call costs `edges` more between
/// our own kernels.
class FakeDevice final : public TuneDevice {
public:
  explicit FakeDevice(double edges) : edges(edges) {}

  llvm::Expected<std::string> open() override { return "a device"; }

  llvm::Expected<double> time(const frit_image &image, Pace pace) override {
    if (++timed >= fails)
      return llvm::createStringError("it burns");
    frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
    options.device = "none";
    Module module;
    CHECK(!Module::open(image, module, &options));
    CHECK(module.targetCount() == 1);
    frit_target_info target = module.target(0);
    CHECK(target.launches + target.library_calls == target.steps);
    CHECK(target.steps >= 4 && target.copies == 0);
    CHECK(target.launches ? target.cubin_bytes > 1000
                          : target.cubin_bytes == 0);
    codes.insert(target.cubin_bytes);
    bool mixed = target.launches && target.library_calls;
    if (mixed) {
      ++mixtures;
      CHECK(target.launches == target.library_calls);
      return target.launches * (own + library + edges);
    }
    if (pace == Pace::onEnd) {
      // The fastest candidate in bursts, the last one, is slower in sustained
      // runs.
      return (own + (++onEnd == 1 ? 1 : 0)) * target.steps;
    }
    double &last = target.launches ? own : library;
    last -= 0.01;
    return last * target.steps;
  }

  std::vector<uint32_t> algorithms(const frit_image &image) override {
    CHECK(image.plan_bytes > 0);
    return {7, 8, 9};
  }

  bool works() override { return timed < fails; }

  double edges;
  unsigned fails = ~0u; ///< from this time on the device fails
  double own = 20, library = 10;
  unsigned timed = 0, mixtures = 0, onEnd = 0;
  std::set<uint64_t> codes;
};

/// Refuses to run: tuning needs no data.
class NoRunner final : public SampleRunner {
  static llvm::Error refuse() {
    return llvm::createStringError("it runs nothing");
  }
  llvm::Error read(llvm::StringRef) override { return refuse(); }
  llvm::Error open(llvm::StringRef, unsigned) override { return refuse(); }
  size_t count() const override { return 0; }
  llvm::Error
  run(size_t, llvm::ArrayRef<float>,
      llvm::function_ref<void(unsigned, llvm::ArrayRef<float>)>) override {
    return refuse();
  }
};
} // namespace

static std::string read(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().str() : std::string();
}

static size_t count(const std::string &text, const char *part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != text.npos;
       at = text.find(part, at + 1))
    ++found;
  return found;
}

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  if (auto nvrtc = cuda::describeNvrtc(); !nvrtc) {
    printf("skipped: %s\n", llvm::toString(nvrtc.takeError()).c_str());
    return 77;
  }
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("frit-tune", folder))
    return 1;
  DriverOptions options;
  options.inputs.push_back({"main", argv[1]});
  options.output = (folder + "/fused.mlir").str();
  options.emit = Emit::fused;
  options.archs = {"sm_90a"};
  options.precision = "fp16";
  options.tuneGenerate = (folder + "/made-up.tune").str();

  // One problem starts before the budget ends, and none after.
  options.tuneBudget = 0.2;
  NoRunner runner;
  FakeDevice first(/*edges=*/12);
  CHECK(compile(options, first, runner) == kDone);
  CHECK(first.timed > 4 && first.codes.size() > 4 && first.mixtures == 1);
  std::string text = read(options.tuneGenerate);
  CHECK(text.find("frit-tuning 3\n") == 0 && count(text, "\n") == 2);
  CHECK(count(text, " | sm_90a | a device | #cuda.") == 1);
  CHECK(count(text,
              ("best of " + std::to_string(first.timed - first.mixtures) + "\n")
                  .c_str()));
  // Between our own kernels, the library loses more than it gains.
  CHECK(count(text, "fallback") == 0);

  // A device that failed is not used again, and nothing is written.
  FakeDevice third(/*edges=*/0);
  third.fails = 3;
  options.tuneBudget = 60;
  CHECK(compile(options, third, runner) != kDone);
  CHECK(read(options.tuneGenerate) == text);
  options.tuneBudget = 0.2;

  // A second run continues with the next problem and keeps the first.
  FakeDevice second(/*edges=*/0);
  CHECK(compile(options, second, runner) == kDone);
  std::string longer = read(options.tuneGenerate);
  CHECK(longer.find(text) == 0 && count(longer, "\n") > 2);
  CHECK(second.mixtures > 0 &&
        count(longer, "<algorithm = 9, fallback = ") == second.mixtures);

  // Long candidates are decided in sustained runs, by the mean of two times.
  FakeDevice busy(/*edges=*/12);
  busy.own = 50, busy.library = 100;
  std::string path = options.tuneGenerate;
  options.tuneGenerate = (folder + "/busy.tune").str();
  CHECK(compile(options, busy, runner) == kDone);
  CHECK(busy.onEnd >= 4 && busy.onEnd % 2 == 0 && busy.mixtures == 0);
  std::string decided = read(options.tuneGenerate);
  CHECK(count(decided, "\n") == 2);
  size_t begin = decided.find("#cuda.");
  CHECK(text.find(decided.substr(begin, decided.find('>') - begin)) ==
        text.npos);
  options.tuneGenerate = path;

  // The file's choices are used.
  options.tuneUse = options.tuneGenerate;
  options.tuneGenerate.clear();
  FakeDevice none(/*edges=*/0);
  CHECK(compile(options, none, runner) == kDone && none.timed == 0);
  std::string fused = read(options.output);
  begin = text.find("#cuda.");
  std::string schedule = text.substr(begin, text.find('>') + 1 - begin);
  CHECK(count(fused, ("schedule(" + schedule).c_str()) == 1);
  CHECK(count(fused, "algorithm = 9,") == second.mixtures);

  llvm::sys::fs::remove_directories(folder);
  return finish("tune_test");
}
