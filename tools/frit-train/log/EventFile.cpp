//===- EventFile.cpp - A log that TensorBoard shows -----------------------===//
//
// An event file is a sequence of TFRecords, each a message of event.proto:
//
//   u64 length, u32 masked CRC of the length, the message, u32 its masked CRC
//
// The numbers are little-endian. The CRC is CRC-32C.
//
//===----------------------------------------------------------------------===//

#include "tools/frit-train/log/EventFile.h"
#include "tools/frit-train/log/event.pb.h"
#include "tools/support/Files.h"
#include "tools/support/JsonText.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace frit::train;

/// CRC-32C of the bytes, each of which shifts the polynomial's remainder.
static uint32_t crc32c(std::string_view bytes) {
  static constexpr auto table = [] {
    std::array<uint32_t, 256> remainders{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t rest = byte;
      for (int bit = 0; bit < 8; ++bit)
        rest = (rest >> 1) ^ (rest & 1 ? 0x82f63b78u : 0);
      remainders[byte] = rest;
    }
    return remainders;
  }();
  uint32_t crc = ~0u;
  for (unsigned char byte : bytes)
    crc = (crc >> 8) ^ table[(crc ^ byte) & 0xff];
  return ~crc;
}

template <typename T> static void append(std::string &text, T number) {
  text.append(reinterpret_cast<const char *>(&number), sizeof number);
}

/// Appends the CRC of `bytes`, masked as in TFRecords.
static void appendCrc(std::string &text, std::string_view bytes) {
  uint32_t crc = crc32c(bytes);
  append(text, ((crc >> 15) | (crc << 17)) + 0xa282ead8u);
}

static double secondsNow() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

EventFile::~EventFile() {
  if (file >= 0)
    close(file);
}

Fault EventFile::open(const std::string &folder) {
  auto fails = [&] {
    return writingFault(path, {errno, std::generic_category()});
  };
  path = folder;
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    return fails();
  // Later runs come later in the order of names.
  char name[80];
  snprintf(name, sizeof name, "/events.out.tfevents.%017.6f.%d.frit",
           secondsNow(), int(getpid()));
  path += name;
  file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0)
    return fails();
  frit::events::Event first;
  first.set_wall_time(secondsNow());
  first.set_file_version("brain.Event:2");
  return writeRecord(first.SerializeAsString());
}

Fault EventFile::writeRecord(const std::string &event) {
  std::string record;
  append(record, uint64_t(event.size()));
  appendCrc(record, std::string(record));
  record += event;
  appendCrc(record, event);
  size_t done = 0;
  while (done < record.size()) {
    ssize_t count = ::write(file, record.data() + done, record.size() - done);
    if (count >= 0)
      done += size_t(count);
    else if (errno != EINTR)
      return writingFault(path, {errno, std::generic_category()});
  }
  return {};
}

Fault EventFile::write(const Json &line) {
  auto step = line.find("step");
  if (file < 0 || step == line.end())
    return {};
  frit::events::Event event;
  event.set_wall_time(secondsNow());
  event.set_step(step->get<int64_t>());
  for (const auto &[name, value] : line.items())
    if (name != "step" && value.is_number()) {
      auto *scalar = event.mutable_summary()->add_value();
      // Names that are not UTF-8 are repaired, as in the other log.
      scalar->set_tag(Json::parse(jsonText(name)).get<std::string>());
      scalar->set_simple_value(float(value.get<double>()));
    }
  return event.has_summary() ? writeRecord(event.SerializeAsString()) : Fault();
}
