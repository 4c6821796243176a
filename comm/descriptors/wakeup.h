// A descriptor by which threads wake one that sleeps in poll.
//
// It can always be made, so that it can be a member; where the system has none left, status() says
// so, and nothing would ever be woken.

#ifndef DTNN_COMM_DESCRIPTORS_WAKEUP_H_
#define DTNN_COMM_DESCRIPTORS_WAKEUP_H_

#include "absl/status/status.h"

namespace dtnn {

class Wakeup {
 public:
  Wakeup();
  Wakeup(Wakeup&& other) noexcept;
  Wakeup& operator=(Wakeup&&) = delete;
  ~Wakeup();

  // ResourceExhausted where this process or host has no more files.
  const absl::Status& status() const { return status_; }
  // Readable from Wake to Drain, which any thread may call.
  int descriptor() const { return descriptor_; }
  void Wake() const;
  void Drain() const;

 private:
  int descriptor_;
  absl::Status status_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_DESCRIPTORS_WAKEUP_H_
