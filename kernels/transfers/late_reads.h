// Results that the host reads later than it queued the work that makes them: copies to pinned
// memory in a ring. Reading waits for the copies that are read, not for what was queued after them,
// so the device never runs out of work because the host looks at results.

#ifndef DTNN_KERNELS_TRANSFERS_LATE_READS_H_
#define DTNN_KERNELS_TRANSFERS_LATE_READS_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "tensor/gpu/driver.h"
#include "tensor/tensor.h"

namespace dtnn {

class LateReads {
 public:
  struct Kind {
    DType dtype;
    Shape largest;
  };
  // For sets of one tensor of each kind, perhaps with fewer samples; at most `slots` sets wait. Of
  // a device that is not the CPU.
  static absl::StatusOr<LateReads> Create(DeviceContext& context, std::span<const Kind> kinds,
                                          size_t slots);
  LateReads() = default;

  // Queues the copies of a set of dense tensors, after all that was queued before.
  // FailedPrecondition when all slots wait. Not in a capture.
  absl::Status Add(std::span<const Tensor> tensors);
  size_t waiting() const { return waiting_; }
  // The oldest set, on the host, valid until it is the turn of its slot again.
  absl::StatusOr<std::span<const Tensor>> Take();
  // Forgets what waits.
  void Drop() { waiting_ = 0; }

 private:
  struct Slot {
    std::vector<Tensor> pinned, taken;  // of the largest set, and as large as what was added
    std::unique_ptr<gpu::Event> copied;
    bool used = false;
  };

  DeviceContext* context_ = nullptr;
  std::vector<Slot> slots_;
  size_t next_ = 0, waiting_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_TRANSFERS_LATE_READS_H_
