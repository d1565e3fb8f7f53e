//===- Loader.cpp - Load batches ahead of their use -----------------------===//

#include "tools/frit-train/data/Loader.h"
#include "tools/support/Message.h"

#include <algorithm>
#include <chrono>
#include <cstring>

using namespace frit::train;
using Clock = std::chrono::steady_clock;

/// Batches that the caller may still use: numbers used - 2 and used - 1.
static constexpr uint64_t kInUse = 2;

//===----------------------------------------------------------------------===//
// Labels
//===----------------------------------------------------------------------===//

template <typename T>
static std::optional<uint64_t> findWrong(const LabelCheck &check,
                                         std::span<const uint8_t> data,
                                         int64_t &label) {
  for (uint64_t i = 0; i < data.size() / sizeof(T); ++i) {
    T value;
    memcpy(&value, data.data() + i * sizeof value, sizeof value);
    label = int64_t(value);
    if ((label < 0 || label >= check.classes) && label != check.ignored)
      return i;
  }
  return std::nullopt;
}

Fault frit::train::checkLabels(
    const LabelCheck &check, const Input &input, std::span<const uint8_t> data,
    uint64_t perSample, const std::function<uint64_t(uint64_t)> &sample) {
  int64_t label = 0;
  std::optional<uint64_t> wrong;
  switch (input.dtype) {
  case FRIT_I8:
    wrong = findWrong<int8_t>(check, data, label);
    break;
  case FRIT_U8:
    wrong = findWrong<uint8_t>(check, data, label);
    break;
  case FRIT_I16:
    wrong = findWrong<int16_t>(check, data, label);
    break;
  case FRIT_U16:
    wrong = findWrong<uint16_t>(check, data, label);
    break;
  case FRIT_I32:
    wrong = findWrong<int32_t>(check, data, label);
    break;
  case FRIT_U32:
    wrong = findWrong<uint32_t>(check, data, label);
    break;
  default:
    wrong = findWrong<int64_t>(check, data, label);
  }
  if (!wrong)
    return {};
  return Fault("label " + std::to_string(label) + " of sample " +
               std::to_string(sample(*wrong / perSample)) + " in '" +
               input.name + "' is out of range: the model has " +
               std::to_string(check.classes) + " classes, 0 to " +
               std::to_string(check.classes - 1) + "; --ignore-index=" +
               std::to_string(label) + " passes over it, if the loss does");
}

//===----------------------------------------------------------------------===//
// Loader
//===----------------------------------------------------------------------===//

Loader::Loader(const Dataset &data, Settings given)
    : data(data), settings(std::move(given)), assigned(settings.first),
      used(settings.first) {
  hasRing = makeRing();
  while (hasRing && threads.size() < settings.workers) {
    Thread worker([this] { work(); });
    if (!worker.runs()) {
      complain("note: the system has threads for " +
               std::to_string(threads.size()) + " of " +
               std::to_string(settings.workers) +
               " workers that load data; --workers=N asks for fewer");
      return;
    }
    threads.push_back(std::move(worker));
  }
}

bool Loader::makeRing() {
  ring.resize(kInUse + settings.workers + 1);
  for (Slot &slot : ring)
    for (size_t input = 0; input < data.inputs().size(); ++input) {
      uint64_t bytes = settings.batch * data.sampleBytes(input);
      uint8_t *memory = settings.allocate
                            ? settings.allocate(bytes)
                            : slot.memory.emplace_back(bytes).data();
      if (!memory && bytes)
        return false;
      slot.batch.inputs.emplace_back(memory, bytes);
    }
  return true;
}

Loader::~Loader() {
  {
    std::lock_guard lock(mutex);
    isEnding = true;
  }
  freed.notify_all();
  threads.clear();
}

void Loader::fill(uint64_t number, Batch &batch) const {
  batch.fault = {};
  auto sample = [&](uint64_t row) { return settings.sample(number, row); };
  for (uint64_t row = 0; row < settings.batch; ++row) {
    uint64_t index = sample(row);
    for (size_t input = 0; input < batch.inputs.size(); ++input) {
      batch.fault =
          data.copy(index, input,
                    batch.inputs[input].data() + row * data.sampleBytes(input));
      if (batch.fault)
        return;
    }
  }
  if (!settings.labels)
    return;
  const Input &input = data.inputs()[settings.labels->input];
  uint64_t perSample =
      data.sampleBytes(settings.labels->input) / frit_dtype_size(input.dtype);
  batch.fault =
      checkLabels(*settings.labels, input, batch.inputs[settings.labels->input],
                  perSample, sample);
}

void Loader::work() {
  std::unique_lock lock(mutex);
  while (true) {
    freed.wait(lock, [&] {
      return isEnding || (assigned < settings.end &&
                          assigned + kInUse < used + ring.size());
    });
    if (isEnding)
      return;
    uint64_t number = assigned++;
    Slot &slot = ring[number % ring.size()];
    slot.isReady = false;
    lock.unlock();
    fill(number, slot.batch);
    lock.lock();
    slot.isReady = true;
    filled.notify_one();
  }
}

bool Loader::isReady() {
  std::lock_guard lock(mutex);
  return assigned > used && ring[used % ring.size()].isReady;
}

const Batch &Loader::next() {
  Clock::time_point start = Clock::now();
  std::unique_lock lock(mutex);
  uint64_t number = used++;
  Slot &slot = ring[number % ring.size()];
  if (threads.empty())
    fill(number, slot.batch);
  freed.notify_all();
  filled.wait(lock, [&] {
    return threads.empty() || (assigned > number && slot.isReady);
  });
  seconds += std::chrono::duration<double>(Clock::now() - start).count();
  return slot.batch;
}
