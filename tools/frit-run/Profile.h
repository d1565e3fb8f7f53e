//===- Profile.h - Results of a profile -----------------------------------===//

#ifndef FRIT_TOOLS_FRIT_RUN_PROFILE_H
#define FRIT_TOOLS_FRIT_RUN_PROFILE_H

#include "Session.h"

#include <algorithm>
#include <vector>

namespace frit::run {

struct Step {
  std::string kind, node, kernel;
  double start, duration; ///< microseconds
  uint64_t bytes, flops;
  bool library;
};

/// The device's peak rates per microsecond; 0 if unknown.
struct Peaks {
  double bytes, flops;

  /// Returns the least time of a step by the roofline model.
  double bound(const Step &step) const {
    double move = bytes > 0 ? double(step.bytes) / bytes : 0;
    double compute = flops > 0 ? double(step.flops) / flops : 0;
    return std::max(move, compute);
  }
};

struct Profile {
  std::vector<Step> steps;
  double total = 0; ///< of the steps, microseconds
  double call = 0;  ///< one call without time stamps, microseconds
  double stamp = 0; ///< estimated cost of a time stamp, microseconds
  Peaks peaks = {};
};

/// Writes the page `path`: the page that --report names with times added, or a
/// page of times only. Returns a status other than kDone after an error
/// message.
ExitStatus writePage(const std::string &path, const Profile &profile,
                     const Session &session);

} // namespace frit::run

#endif // FRIT_TOOLS_FRIT_RUN_PROFILE_H
