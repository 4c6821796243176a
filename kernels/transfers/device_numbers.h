// A few numbers that change from step to step and that kernels read where they run, not when they
// are queued: the learning rate, the number of the step. Captured work, whose arguments are frozen,
// follows them (device/captured_work.h).

#ifndef DTNN_KERNELS_TRANSFERS_DEVICE_NUMBERS_H_
#define DTNN_KERNELS_TRANSFERS_DEVICE_NUMBERS_H_

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "tensor/gpu/driver.h"
#include "tensor/tensor.h"

namespace dtnn {

class DeviceNumbers {
 public:
  static absl::StatusOr<DeviceNumbers> Create(DeviceContext& context, DType dtype, int64_t count);
  DeviceNumbers() = default;

  // What the work queued from now on finds; T is the type, and all numbers are given. Waits only
  // for what was given kSlots calls before. Not in a capture.
  template <typename T>
  absl::Status Set(std::span<const T> numbers) {
    return SetBytes(DTypeOf<T>(), std::as_bytes(numbers));
  }

  // (count,), on the device.
  const Tensor& tensor() const { return device_; }

 private:
  static constexpr size_t kSlots = 4;
  struct Slot {
    Tensor pinned;
    std::unique_ptr<gpu::Event> read;  // null before the first use
  };

  absl::Status SetBytes(DType dtype, std::span<const std::byte> bytes);

  DeviceContext* context_ = nullptr;
  Tensor device_;
  std::array<Slot, kSlots> slots_;  // empty on a CPU
  size_t next_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_TRANSFERS_DEVICE_NUMBERS_H_
