//===- Report.cpp - Progress of a training run ----------------------------===//

#include "tools/frit-train/Report.h"
#include "tools/support/Message.h"
#include "tools/support/Table.h"

#include <algorithm>
#include <cmath>
#include <unistd.h>

using namespace frit::train;

/// Width of the progress bar on a terminal, in columns.
static constexpr uint64_t kBar = 10;

Report::Report(const Options &options, uint64_t first, uint64_t total,
               uint64_t batch, uint64_t memory)
    : options(options), first(first), total(total), batch(batch),
      memory(memory), every(options.logEvery), done(first), reported(first) {
  if (!every)
    every = std::clamp<uint64_t>(total / 100, 1, 100);
  printsSteps = !options.json && !isatty(STDOUT_FILENO);
}

Fault Report::open() {
  if (Fault fault = options.log.empty() ? Fault() : file.open(options.log))
    return fault;
  return options.events.empty() ? Fault() : events.open(options.events);
}

void Report::start() {
  started = Clock::now();
  isRunning = true;
  if (!progress && !options.place.rank)
    progress = std::make_unique<Progress>("train");
}

void Report::pause() {
  trained = seconds();
  isRunning = false;
}

double Report::seconds() const {
  return trained +
         (isRunning
              ? std::chrono::duration<double>(Clock::now() - started).count()
              : 0);
}

double Report::speed() const {
  double passed = seconds();
  return passed > 0 ? double((done - first) * batch) / passed : 0;
}

void Report::log(const Json &line) {
  if (logFault)
    return;
  logFault = file.write(line);
  if (!logFault)
    logFault = events.write(line);
  report(logFault);
}

void Report::print(const std::string &line) {
  Progress::hide();
  puts(line.c_str());
  fflush(stdout);
}

/// Formats a duration: "3 h 12 min".
static std::string formatLeft(double seconds) {
  auto whole = uint64_t(std::llround(seconds));
  if (whole < 60)
    return std::to_string(whole) + " s";
  if (whole < 3600)
    return text("%llu min %llu s", (unsigned long long)(whole / 60),
                (unsigned long long)(whole % 60));
  return text("%llu h %llu min", (unsigned long long)(whole / 3600),
              (unsigned long long)(whole / 60 % 60));
}

void Report::step(uint64_t number, uint64_t epoch,
                  const std::vector<Metric> &metrics,
                  std::optional<double> rate) {
  done = number;
  double now = seconds();
  // Print NaN without a sign.
  double loss = metrics[0].value;
  std::string lossText = text("loss %.4g", std::isnan(loss) ? NAN : loss);
  std::string rateText = rate ? text(", lr %.4g", *rate) : "";
  uint64_t filled = kBar * done / total;
  double left = now / double(done - first) * double(total - done);
  // A narrow terminal truncates the line.
  if (progress)
    progress->update(done, total,
                     "[" + std::string(filled, '#') +
                         std::string(kBar - filled, '.') + "] " +
                         formatLeft(left) + " left, " + lossText +
                         text(", %.0f samples/s, ", speed()) +
                         formatBytes(memory) + rateText);
  if (done % every && done != total)
    return;
  double passed = now - reportedAt;
  double rateNow = passed > 0 ? double((done - reported) * batch) / passed : 0;
  reported = done;
  reportedAt = now;
  Json line = {{"step", done}, {"epoch", epoch + 1}};
  for (const Metric &metric : metrics)
    line[metric.name] = metric.value;
  if (rate)
    line["lr"] = *rate;
  line["samples_per_second"] = rateNow;
  line["seconds"] = now;
  log(line);
  if (printsSteps)
    print(text("step %llu of %llu, epoch %llu: ", (unsigned long long)done,
               (unsigned long long)total, (unsigned long long)epoch + 1) +
          lossText + rateText + text(", %.0f samples/s", rateNow));
}

void Report::evaluated(uint64_t number, uint64_t epoch,
                       const Evaluated &result) {
  Json line = {{"step", number}, {"epoch", epoch + 1}};
  result.addTo(line);
  line["seconds"] = seconds();
  log(line);
  if (!options.json)
    print(text("step %llu: ", (unsigned long long)number) + result.text());
}

void Report::saved(uint64_t number, const std::string &path) {
  log({{"step", number}, {"checkpoint", path}});
  if (options.verbose && !options.json)
    print(text("step %llu: ", (unsigned long long)number) + path);
}

void Report::stopped(uint64_t number, const MetricChoice &choice,
                     const Best &best) {
  log({{"step", number}, {"stopped", choice.logName()}});
  if (options.json)
    return;
  std::string message =
      text("step %llu: %s has not improved in %llu evaluations",
           (unsigned long long)number, choice.logName().c_str(),
           (unsigned long long)best.since);
  if (best.value)
    message += text(" after the %.5g of step %llu", *best.value,
                    (unsigned long long)best.step);
  print(message + "; the run ends");
}
