// Something that one thread does little by little, as its descriptors allow: it polls for it.

#ifndef DTNN_COMM_TRANSPORT_POLLED_H_
#define DTNN_COMM_TRANSPORT_POLLED_H_

#include <poll.h>

#include <chrono>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace dtnn {

class Polled {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~Polled() = default;

  // What poll is to watch, and until when at the latest.
  virtual void AddTo(std::vector<pollfd>& descriptors) const = 0;
  virtual Clock::time_point next() const = 0;
  // As far as it gets now. `polled`: what AddTo() has added, in that order, since the last call of
  // this, after poll. After an error it is of no more use.
  virtual absl::Status Turn(std::span<const pollfd> polled) = 0;
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_POLLED_H_
