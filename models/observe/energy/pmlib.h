// Energy from a power meter that a PMlib server reads.
//
// The server samples a device's power; this asks it, over TCP, for the samples of one interval
// after the other: a counter is made and started, and for a reading stopped, fetched and closed,
// and the next one made. Between samples power is taken for linear. All numbers of the protocol are
// little-endian, and there is no framing: int operation, then its arguments; an int below 0 in an
// answer is an error.

#ifndef DTNN_MODELS_OBSERVE_ENERGY_PMLIB_H_
#define DTNN_MODELS_OBSERVE_ENERGY_PMLIB_H_

#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "comm/transport/tcp/socket.h"
#include "models/observe/energy/energy_source.h"
#include "models/observe/energy/power_log.h"

namespace dtnn {

struct PmlibOptions {
  Endpoint server = {.host = "127.0.0.1", .port = 6526};
  std::string device = {};      // as the server calls it
  double timeout_seconds = 10;  // of each answer
  PowerLog* keep = nullptr;     // takes all samples; must outlive the source
};

// Energy begins to count. Unavailable, DeadlineExceeded, ... with the server's address where it
// does not answer, FailedPrecondition where it knows no such device.
absl::StatusOr<std::unique_ptr<EnergySource>> OpenPmlib(const PmlibOptions& options);

// The energy, by the trapezoidal rule, of samples that are equally far apart, the first at the
// begin and the last at the end of the interval. One sample stands for all of it.
double EnergyOfSamples(std::span<const double> watts, double seconds);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_ENERGY_PMLIB_H_
