//===- checkpoint_test.cpp - What checkpoints survive ---------------------===//

#include "compiler/support/TemporaryFolder.h"
#include "test/runtime/Check.h"
#include "tools/frit-train/weights/Checkpoint.h"

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace frit::train;
using namespace frit::test;
namespace fs = std::filesystem;

static std::string place;

namespace {
/// State whose elements are all `value`.
struct State {
  explicit State(float value, size_t count = 6)
      : weights(count, value), step(uint64_t(value)) {}
  std::vector<TensorView> views() const {
    auto bytes = [](const auto *data, size_t count) {
      return Bytes(reinterpret_cast<const uint8_t *>(data),
                   count * sizeof *data);
    };
    return {{"fc.weight",
             FRIT_F32,
             {2, int64_t(weights.size() / 2)},
             bytes(weights.data(), weights.size())},
            {"a.step", FRIT_I64, {}, bytes(&step, 1)}};
  }
  std::vector<float> weights;
  uint64_t step;
};
} // namespace

static Position positionOf(uint64_t steps) {
  return {"net", steps, 2, 3, 100, 10, 18446744073709551615ull, true, {}};
}

static std::string pathOf(const std::string &name) {
  return place + "/" + name;
}

static CheckpointFault read(const std::string &path, Checkpoint &checkpoint,
                            const State &like = State(0)) {
  return readCheckpoint(path, like.views(), "net", checkpoint);
}

static bool has(const Fault &fault, const char *part) {
  return fault.message().find(part) != std::string::npos;
}

static void testRoundTrip() {
  CheckpointFolder folder;
  CHECK(!folder.open(place + "/"));
  CHECK(folder.list().empty());
  for (uint64_t steps : {5, 100, 1000000, 2000000})
    CHECK(!folder.write(positionOf(steps), State(float(steps)).views(), 3));
  CHECK(folder.list() ==
        std::vector<std::string>({pathOf("step-2000000.safetensors"),
                                  pathOf("step-1000000.safetensors"),
                                  pathOf("step-000100.safetensors")}));
  Checkpoint checkpoint;
  CHECK(!read(folder.list()[2], checkpoint));
  const Position &position = checkpoint.position;
  CHECK(position.steps == 100 && position.epoch == 2 && position.inEpoch == 3);
  CHECK(position.samples == 100 && position.batch == 10);
  CHECK(position.seed == 18446744073709551615ull && position.isShuffled);
  CHECK(checkpoint.state.size() == 2);
  float value;
  memcpy(&value, checkpoint.state[1].data.data(), sizeof value);
  CHECK(checkpoint.state[1].name == "fc.weight" && value == 100);
  // A second program keeps out.
  CheckpointFolder second;
  CHECK(has(second.open(place), "another frit-train is at work there"));
}

/// A checkpoint of an earlier step than damaged ones, which a run went on from,
/// stays however few are kept.
static void testKeep() {
  std::string other = pathOf("kept");
  CheckpointFolder folder;
  CHECK(!folder.open(other));
  for (uint64_t steps : {10, 20, 30})
    CHECK(!folder.write(positionOf(steps), State(1).views(), 3));
  CHECK(!folder.write(positionOf(25), State(1).views(), 1));
  CHECK(folder.list() ==
        std::vector<std::string>({other + "/step-000030.safetensors",
                                  other + "/step-000025.safetensors"}));
  fs::remove_all(other);
}

/// The best checkpoint is beside the others, and is none of those to keep.
static void testBest() {
  std::string other = pathOf("best");
  CheckpointFolder folder;
  CHECK(!folder.open(other));
  CHECK(!folder.hasBest());
  Position position = positionOf(10);
  MetricChoice choice;
  CHECK(!MetricChoice::parse("eval_f1:max", choice));
  position.best.track(choice);
  CHECK(position.best.add(choice, 0.1, 7));
  CHECK(!position.best.add(choice, NAN, 8));
  CHECK(!position.best.add(choice, 0.1, 9));
  CHECK(!position.best.add(choice, INFINITY, 10));
  CHECK(!folder.writeBest(position, State(1).views()));
  for (uint64_t steps : {20, 30})
    CHECK(!folder.write(positionOf(steps), State(1).views(), 1));
  CHECK(folder.list() ==
        std::vector<std::string>({other + "/step-000030.safetensors"}));
  CHECK(folder.hasBest());
  Checkpoint checkpoint;
  CHECK(!read(folder.bestPath(), checkpoint));
  const Best &best = checkpoint.position.best;
  CHECK(best.metric == "f1:max" && best.value == 0.1);
  CHECK(best.step == 7 && best.since == 3);
  // The same metric goes on, another begins anew.
  Best next = best;
  next.track(choice);
  CHECK(next.since == 3 && next.add(choice, 0.2, 11) && next.step == 11);
  CHECK(!MetricChoice::parse("loss", choice) && !choice.isMost);
  next.track(choice);
  CHECK(!next.value && next.since == 0 && next.add(choice, 3, 12));
  CHECK(!next.add(choice, 3.5, 13) && next.add(choice, -1, 14));
  fs::remove_all(other);
}

/// Every file that is cut off, or in which any bit is another, is refused.
static void testDamage() {
  std::string path = pathOf("step-000100.safetensors");
  std::string whole;
  {
    std::ifstream file(path, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::string copy = pathOf("copy");
  Checkpoint checkpoint;
  auto check = [&](const std::string &bytes) {
    std::ofstream(copy, std::ios::binary) << bytes;
    return read(copy, checkpoint);
  };
  CHECK(!check(whole));
  for (size_t size = 0; size < whole.size(); ++size)
    CHECK(check(whole.substr(0, size)).isDamaged());
  for (size_t i = whole.size() - 32; i < whole.size(); ++i) {
    std::string other = whole;
    other[i] ^= 1;
    CheckpointFault fault = check(other);
    CHECK(fault.isDamaged() && has(fault, "its checksum is another"));
  }
  for (size_t i = 0; i < whole.size() - 32; ++i) {
    std::string other = whole;
    other[i] ^= 1;
    CHECK(check(other));
  }
  fs::remove(copy);
}

static void testForeign() {
  std::string path = pathOf("step-000100.safetensors");
  Checkpoint checkpoint;
  auto isForeign = [](const CheckpointFault &fault, const char *part) {
    return fault.isForeign() && has(fault, part);
  };
  CHECK(isForeign(read(path, checkpoint, State(0, 8)),
                  "tensor 'fc.weight' is 2x3xf32 there, and 2x4xf32 in the "
                  "model"));
  auto less = State(0).views();
  less.pop_back();
  CHECK(isForeign(readCheckpoint(path, less, "net", checkpoint),
                  "the model has no state 'a.step'"));
  auto more = State(0).views();
  more.push_back({"fc.bias", FRIT_F32, {2}, {}});
  CHECK(isForeign(readCheckpoint(path, more, "net", checkpoint),
                  "it has no tensor 'fc.bias'"));
  CHECK(isForeign(readCheckpoint(path, State(0).views(), "other", checkpoint),
                  "belongs to the model 'net', and this one is 'other'"));
  // written by another program
  std::string plain = pathOf("plain.safetensors");
  CHECK(!writeSafetensors(plain, State(1).views(), {}));
  CHECK(
      isForeign(read(plain, checkpoint), "was not written by this frit-train"));
  fs::remove(plain);
}

/// A disk that is full, as far as a program can tell: the older checkpoints
/// stay, and nothing else does.
static void testFullDisk() {
  CheckpointFolder folder;
  CHECK(!folder.open(place));
  std::vector<std::string> before = folder.list();
  signal(SIGXFSZ, SIG_IGN);
  rlimit limit, small{100000, RLIM_INFINITY};
  getrlimit(RLIMIT_FSIZE, &limit);
  small.rlim_max = limit.rlim_max;
  setrlimit(RLIMIT_FSIZE, &small);
  Fault fault = folder.write(positionOf(3000000), State(1, 1 << 16).views(), 1);
  setrlimit(RLIMIT_FSIZE, &limit);
  CHECK(has(fault, "step-3000000.safetensors': File too large"));
  CHECK(fault.status() == kMachine);
  CHECK(folder.list() == before);
  for (const auto &entry : fs::directory_iterator(place))
    CHECK(entry.path().extension() == ".safetensors");
}

/// kill -9 at any time leaves a newest checkpoint that is whole.
static void testKill() {
  constexpr size_t count = 1 << 18;
  for (int round = 0; round < 12; ++round) {
    int ready[2];
    CHECK(pipe(ready) == 0);
    pid_t child = fork();
    if (child == 0) {
      CheckpointFolder folder;
      if (folder.open(place))
        _exit(1);
      uint64_t start = 4000000 + 1000 * uint64_t(round);
      for (uint64_t steps = start;; ++steps) {
        if (folder.write(positionOf(steps), State(float(steps), count).views(),
                         2))
          _exit(1);
        [[maybe_unused]] ssize_t told = ::write(ready[1], "", 1);
      }
    }
    close(ready[1]);
    char byte;
    CHECK(::read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    usleep(useconds_t(1000 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    CheckpointFolder folder;
    CHECK(!folder.open(place));
    folder.removePartial();
    Checkpoint checkpoint;
    std::vector<std::string> all = folder.list();
    CHECK(!all.empty() && !read(all[0], checkpoint, State(0, count)));
    CHECK(checkpoint.position.steps >= 4000000 + 1000 * uint64_t(round));
    // The unfinished file is gone.
    for (const auto &entry : fs::directory_iterator(place))
      CHECK(entry.path().extension() == ".safetensors");
  }
}

static void testFolder() {
  CheckpointFolder folder;
  Fault fault = folder.open("/no/such/folder");
  CHECK(fault.message() ==
        "cannot keep checkpoints in '/no/such/folder': No such file or "
        "directory");
  CHECK(fault.status() == kMachine);
  CHECK(has(folder.open(pathOf("step-000100.safetensors")), "Not a directory"));
}

int main() {
  std::string name = frit::temporaryPlace() + "/frit-checkpoints.XXXXXX";
  if (!mkdtemp(name.data()))
    return 1;
  place = name + "/run";
  testRoundTrip();
  testKeep();
  testBest();
  testDamage();
  testForeign();
  testFolder();
  testFullDisk();
  testKill();
  fs::remove_all(name);
  return finish("checkpoint_test");
}
