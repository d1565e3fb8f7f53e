//===- Upload.cpp - Upload weights to a GPU -------------------------------===//

#include "runtime/cuda/Upload.h"
#include "runtime/exec/Background.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <thread>

using namespace frit;
using namespace frit::cuda;

/// kUploadPiece: bytes that a thread copies at a time. kWorthThreads: minimum
/// bytes for which several threads pay.
static constexpr uint64_t kUploadPiece = 2 << 20;
static constexpr uint64_t kWorthThreads = 16 << 20;
static constexpr unsigned kMostThreads = 8;

/// Uploads divided into pieces, which idle threads take.
class Uploader::Pieces {
public:
  explicit Pieces(const std::vector<Upload> &uploads) {
    for (const Upload &upload : uploads)
      for (uint64_t at = 0; at < upload.bytes; at += kUploadPiece)
        list.push_back({upload.to + at, upload.from + at,
                        std::min(kUploadPiece, upload.bytes - at)});
  }
  const Upload *take() {
    size_t index = next.fetch_add(1, std::memory_order_relaxed);
    return index < list.size() ? &list[index] : nullptr;
  }

private:
  std::vector<Upload> list;
  std::atomic<size_t> next{0};
};

/// One thread's stream and pinned double buffer of two pieces.
class Uploader::Sender {
public:
  explicit Sender(const Driver &driver) : driver(driver) {}
  ~Sender();

  void run(Pieces &pieces);
  Status status;

private:
  Result open();

  const Driver &driver;
  Stream stream = nullptr;
  Event sent[2] = {};
  void *pinned = nullptr;
};

Uploader::Sender::~Sender() {
  if (stream)
    driver.streamSynchronize(stream);
  for (Event event : sent)
    if (event)
      driver.eventDestroy(event);
  if (pinned)
    driver.memFreeHost(pinned);
  if (stream)
    driver.streamDestroy(stream);
}

Result Uploader::Sender::open() {
  if (pinned)
    return kSuccess;
  Result result = driver.memHostAlloc(&pinned, 2 * kUploadPiece, 0);
  if (result == kSuccess)
    result = driver.streamCreate(&stream, kStreamNonBlocking);
  for (Event &event : sent)
    if (result == kSuccess)
      result = driver.eventCreate(&event, kEventDisableTiming);
  return result;
}

void Uploader::Sender::run(Pieces &pieces) {
  Result result = open();
  for (unsigned count = 0; result == kSuccess; ++count) {
    const Upload *piece = pieces.take();
    if (!piece)
      break;
    // One half is filled while the other is sent.
    unsigned half = count % 2;
    uint8_t *middle = static_cast<uint8_t *>(pinned) + half * kUploadPiece;
    if (count >= 2)
      result = driver.eventSynchronize(sent[half]);
    if (result != kSuccess)
      break;
    memcpy(middle, piece->from, piece->bytes);
    result = driver.memcpyHtoDAsync(piece->to, middle, piece->bytes, stream);
    if (result == kSuccess)
      result = driver.eventRecord(sent[half], stream);
  }
  if (result == kSuccess)
    result = driver.streamSynchronize(stream);
  status = driver.check(result, "copy the weights to the GPU");
}

Uploader::Uploader(const Gpu &gpu) : gpu(gpu) {}
Uploader::~Uploader() = default;

Status Uploader::upload(const std::vector<Upload> &uploads) {
  const Driver &driver = gpu.driver;
  uint64_t total = 0;
  for (const Upload &upload : uploads)
    total += upload.bytes;
  unsigned cores = std::thread::hardware_concurrency();
  unsigned threads = std::clamp<unsigned>(cores, 1, kMostThreads);
  if (threads == 1 || total < kWorthThreads) {
    for (const Upload &upload : uploads)
      FRIT_TRY(
          driver.check(driver.memcpyHtoD(upload.to, upload.from, upload.bytes),
                       "copy the weights to the GPU"));
    // Copies of small pageable memory may return early, and frit's other
    // streams do not wait for the null stream.
    return driver.check(driver.streamSynchronize(nullptr),
                        "copy the weights to the GPU");
  }
  Pieces pieces(uploads);
  while (senders.size() < threads)
    senders.push_back(std::make_unique<Sender>(driver));
  {
    std::deque<Background> others;
    for (unsigned i = 1; i < threads; ++i)
      others.emplace_back([&, i] {
        ContextScope scope(gpu);
        senders[i]->run(pieces);
      });
    senders[0]->run(pieces);
  }
  for (const auto &sender : senders)
    FRIT_TRY(Status(sender->status));
  return Status();
}
