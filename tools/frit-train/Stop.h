//===- Stop.h - Stop a run between two steps ------------------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_STOP_H
#define FRIT_TOOLS_FRIT_TRAIN_STOP_H

namespace frit::train {

/// During its lifetime, the first SIGINT, SIGTERM, SIGHUP or SIGPIPE only
/// requests a stop; the next one has its previous effect. Ignored signals stay
/// ignored.
class StopSignals {
public:
  StopSignals();
  StopSignals(const StopSignals &) = delete;
  ~StopSignals();

  /// Returns the signal that requested a stop; 0 if none has.
  static int received();
};

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_STOP_H
