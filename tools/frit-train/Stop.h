//===- Stop.h - Stopping between two steps --------------------------------===//

#ifndef FRIT_TRAIN_STOP_H
#define FRIT_TRAIN_STOP_H

namespace frit::train {

/// While it lives, the first SIGINT, SIGTERM, SIGHUP or SIGPIPE only asks to
/// stop; the next one acts as before. A signal that is ignored stays so.
class StopSignals {
public:
  StopSignals();
  StopSignals(const StopSignals &) = delete;
  ~StopSignals();

  /// The signal that asked to stop; 0 if none has.
  static int received();
};

} // namespace frit::train

#endif // FRIT_TRAIN_STOP_H
