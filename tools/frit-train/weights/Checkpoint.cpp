//===- Checkpoint.cpp - Checkpoints of the state --------------------------===//

#include "tools/frit-train/weights/Checkpoint.h"
#include "compiler/support/Interrupts.h"
#include "tools/support/Files.h"
#include "tools/support/Mapped.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

using namespace frit::train;

static constexpr std::string_view kPrefix = "step-", kSuffix = ".safetensors",
                                  kPartial = ".partial",
                                  kBest = "best.safetensors";

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static std::string nameOf(uint64_t steps) {
  std::string number = std::to_string(steps);
  number.insert(0, number.size() < 6 ? 6 - number.size() : 0, '0');
  return std::string(kPrefix) + number + std::string(kSuffix);
}

static bool parse(std::string_view text, uint64_t &number) {
  auto [end, fault] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc() && end == text.data() + text.size();
}

/// Parses the name of a checkpoint, or returns false.
static bool parseName(std::string_view name, uint64_t &steps) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix))
    return false;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(std::min(name.size(), kSuffix.size()));
  return parse(name, steps);
}

static bool isCheckpoint(std::string_view name) {
  uint64_t steps;
  return parseName(name, steps) || name == kBest;
}

static bool isPartial(std::string_view name) {
  return name.ends_with(kPartial) &&
         isCheckpoint(name.substr(0, name.size() - kPartial.size()));
}

/// Returns whether a file is a checkpoint, or one that is being written.
static bool isOwnName(std::string_view name) {
  return isCheckpoint(name) || isPartial(name);
}

/// Returns the names of the files in a folder.
static std::vector<std::string> filesIn(const std::string &folder) {
  std::vector<std::string> names;
  std::unique_ptr<DIR, int (*)(DIR *)> list(opendir(folder.c_str()), closedir);
  while (dirent *entry = list ? readdir(list.get()) : nullptr)
    names.push_back(entry->d_name);
  return names;
}

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

static constexpr const char *kFormat = "2";

/// Returns a checksum of the tensors' names, types and shapes and of all
/// metadata except the checksum itself.
static std::string digest(const Metadata &metadata,
                          const std::vector<TensorView> &state) {
  std::string text;
  for (const TensorView &tensor : state)
    text += tensor.name + ":" + tensor.type() + "\n";
  for (const auto &[key, value] : metadata)
    if (key != "frit.header")
      text += key + "=" + value + "\n";
  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325ull;
  for (unsigned char byte : text)
    hash = (hash ^ byte) * 0x100000001b3ull;
  char result[17];
  snprintf(result, sizeof result, "%016llx", (unsigned long long)hash);
  return result;
}

/// Returns a checksum of the tensors' elements, in their order.
static std::string checksum(const std::vector<TensorView> &state) {
  uLong crc = crc32_z(0, nullptr, 0);
  for (const TensorView &tensor : state)
    if (!tensor.data.empty())
      crc = crc32_z(crc, tensor.data.data(), tensor.data.size());
  return std::to_string(crc);
}

static Metadata makeMetadata(const Position &position,
                             const std::vector<TensorView> &state) {
  Metadata metadata = {
      {"frit.checkpoint", kFormat},
      {"frit.model", position.model},
      {"frit.crc32", checksum(state)},
      {"frit.steps", std::to_string(position.steps)},
      {"frit.epoch", std::to_string(position.epoch)},
      {"frit.batches_in_epoch", std::to_string(position.inEpoch)},
      {"frit.samples", std::to_string(position.samples)},
      {"frit.batch", std::to_string(position.batch)},
      {"frit.seed", std::to_string(position.seed)},
      {"frit.shuffle", position.isShuffled ? "1" : "0"}};
  if (const Best &best = position.best; !best.metric.empty()) {
    metadata["frit.best_metric"] = best.metric;
    metadata["frit.evaluations_since_best"] = std::to_string(best.since);
    if (best.value) {
      char number[40];
      snprintf(number, sizeof number, "%.17g", *best.value);
      metadata["frit.best_value"] = number;
      metadata["frit.best_step"] = std::to_string(best.step);
    }
  }
  metadata["frit.header"] = digest(metadata, state);
  return metadata;
}

static bool parseMetadata(const Metadata &metadata, Position &position) {
  auto text = [&](const char *key) {
    auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  position.model = text("frit.model");
  uint64_t shuffle = 0;
  bool good = parse(text("frit.steps"), position.steps) &&
              parse(text("frit.epoch"), position.epoch) &&
              parse(text("frit.batches_in_epoch"), position.inEpoch) &&
              parse(text("frit.samples"), position.samples) &&
              parse(text("frit.batch"), position.batch) &&
              parse(text("frit.seed"), position.seed) &&
              parse(text("frit.shuffle"), shuffle);
  position.isShuffled = shuffle;
  Best &best = position.best;
  best.metric = text("frit.best_metric");
  if (!best.metric.empty())
    good &= parse(text("frit.evaluations_since_best"), best.since);
  if (std::string value = text("frit.best_value"); !value.empty()) {
    best.value = strtod(value.c_str(), nullptr);
    good &= parse(text("frit.best_step"), best.step);
  }
  return good;
}

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

CheckpointFolder::~CheckpointFolder() {
  if (lock >= 0)
    close(lock);
  // Leave no empty folder. One with files is not removed.
  if (isNew)
    rmdir(folder.c_str());
}

Fault CheckpointFolder::open(const std::string &path) {
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.ends_with('/'))
    trimmed.pop_back();
  auto fails = [&](const char *why, ExitStatus status = kMachine) {
    return Fault("cannot keep checkpoints in '" + path + "': " + why, status);
  };
  isNew = mkdir(trimmed.c_str(), 0777) == 0;
  if (!isNew && errno != EEXIST)
    return fails(strerror(errno));
  lock = ::open(trimmed.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock < 0 && errno == ENOTDIR)
    return fails(strerror(errno), kBadUsage);
  if (lock < 0 || access(trimmed.c_str(), W_OK | X_OK) != 0)
    return fails(strerror(errno));
  // Some network file systems have no locks.
  if (flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return fails("another frit-train is at work there");
  folder = trimmed;
  for (const std::string &name : filesIn(folder))
    if (std::string file = folder + "/" + name; isOwnName(name))
      if (std::error_code code = checkOutput(file); isOutputFault(code))
        return writingFault(file, code);
  protectNames(folder, "a checkpoint", isOwnName);
  return {};
}

void CheckpointFolder::removePartial() const {
  for (const std::string &name : filesIn(folder))
    if (isPartial(name))
      unlink((folder + "/" + name).c_str());
}

std::vector<std::string> CheckpointFolder::list() const {
  std::vector<std::pair<uint64_t, std::string>> found;
  for (const std::string &name : filesIn(folder))
    if (uint64_t steps; parseName(name, steps))
      found.emplace_back(steps, folder + "/" + name);
  std::ranges::sort(found, std::greater());
  std::vector<std::string> paths;
  for (auto &[steps, path] : found)
    paths.push_back(std::move(path));
  return paths;
}

std::string CheckpointFolder::pathOf(uint64_t steps) const {
  return folder + "/" + nameOf(steps);
}

std::string CheckpointFolder::bestPath() const {
  return folder + "/" + std::string(kBest);
}

bool CheckpointFolder::hasBest() const {
  return access(bestPath().c_str(), F_OK) == 0;
}

Fault CheckpointFolder::writeFile(const std::string &path,
                                  const Position &position,
                                  const std::vector<TensorView> &state) {
  std::vector<TensorView> sorted = state;
  std::ranges::sort(sorted, {}, &TensorView::name);
  std::string partial = path + std::string(kPartial);
  frit::addTemporary(partial);
  std::error_code failed =
      writeSafetensors(partial, sorted, makeMetadata(position, sorted));
  if (!failed && rename(partial.c_str(), path.c_str()) != 0)
    failed = std::error_code(errno, std::generic_category());
  if (failed)
    unlink(partial.c_str());
  frit::keepTemporary(partial);
  if (failed)
    return Fault("cannot write '" + path + "': " + failed.message(), kMachine);
  // Sync the folder, so that the name is on the disk too.
  fsync(lock);
  return {};
}

Fault CheckpointFolder::write(const Position &position,
                              const std::vector<TensorView> &state,
                              uint64_t keep) {
  std::string path = pathOf(position.steps);
  if (Fault fault = writeFile(path, position, state))
    return fault;
  // Checkpoints of later steps were too damaged to resume and do not count.
  std::vector<std::string> all = list();
  auto own = std::ranges::find(all, path);
  for (size_t i = size_t(own - all.begin()) + keep; i < all.size(); ++i)
    unlink(all[i].c_str());
  return {};
}

Fault CheckpointFolder::writeBest(const Position &position,
                                  const std::vector<TensorView> &state) {
  return writeFile(bestPath(), position, state);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Finds the first difference in names, types and shapes.
static Fault compareState(const std::vector<TensorView> &expected,
                          const std::vector<TensorView> &state) {
  for (const TensorView &tensor : expected) {
    auto found = std::ranges::find(state, tensor.name, &TensorView::name);
    if (found == state.end())
      return Fault("it has no tensor '" + tensor.name + "'");
    if (found->type() != tensor.type())
      return Fault("tensor '" + tensor.name + "' is " + found->type() +
                   " there, and " + tensor.type() + " in the model");
  }
  for (const TensorView &tensor : state)
    if (std::ranges::find(expected, tensor.name, &TensorView::name) ==
        expected.end())
      return Fault("the model has no state '" + tensor.name + "'");
  return {};
}

CheckpointFault
frit::train::readCheckpoint(const std::string &path,
                            const std::vector<TensorView> &expected,
                            const std::string &model, Checkpoint &checkpoint) {
  Bytes bytes;
  std::shared_ptr<const void> owner;
  if (Fault fault = mapFile(path, bytes, owner))
    return {CheckpointFault::damaged, fault.message()};
  std::string start = "the checkpoint '" + path + "' ";
  Checkpoint read{path, {}, {}};
  if (Fault fault = viewSafetensors(bytes, read.state))
    return {CheckpointFault::damaged, start + "is damaged: " + fault.message()};
  for (TensorView &tensor : read.state)
    tensor.owner = owner;
  Metadata metadata = readMetadata(bytes);
  if (metadata["frit.checkpoint"] != kFormat ||
      !parseMetadata(metadata, read.position))
    return {CheckpointFault::foreign,
            start + "was not written by this frit-train: its metadata say no "
                    "step"};
  if (read.position.model != model)
    return {CheckpointFault::foreign, start + "belongs to the model '" +
                                          read.position.model +
                                          "', and this one is '" + model + "'"};
  // Check before using the header's numbers and names.
  bool isWhole = metadata["frit.header"] == digest(metadata, read.state);
  if (isWhole)
    if (Fault fault = compareState(expected, read.state))
      return {CheckpointFault::foreign,
              start + "does not fit the model: " + fault.message()};
  if (!isWhole || metadata["frit.crc32"] != checksum(read.state))
    return {CheckpointFault::damaged,
            start + "is damaged: its checksum is another"};
  checkpoint = std::move(read);
  return {};
}
