// The power between two readings of energy, for counters in traces.

#ifndef DTNN_MODELS_OBSERVE_TRACE_WATTS_BETWEEN_H_
#define DTNN_MODELS_OBSERVE_TRACE_WATTS_BETWEEN_H_

#include <optional>

#include "tensor/trace/observer.h"

namespace dtnn {

// Both are events of Activity::kEnergy. Nothing where `before` is none, or where one of them has
// failed and so has no joules.
inline std::optional<double> WattsBetween(const Event& before, const Event& reading) {
  if (before.end == 0 || reading.end <= before.end || reading.bytes < before.bytes) {
    return std::nullopt;
  }
  // Microjoules per nanosecond are kilowatts.
  return 1e3 * double(reading.bytes - before.bytes) / double(reading.end - before.end);
}

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_TRACE_WATTS_BETWEEN_H_
