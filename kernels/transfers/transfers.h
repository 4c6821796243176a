// Values between the host and the device of a context, for code that need not know which device it
// is: on the CPU there is one memory, and nothing is copied.

#ifndef DTNN_KERNELS_TRANSFERS_TRANSFERS_H_
#define DTNN_KERNELS_TRANSFERS_TRANSFERS_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace gpu {
class Arrivals;
}

// A tensor of the host with the values of a tensor of the device; waits for it. Empty for a tensor
// of a GPU that has a pitch.
absl::StatusOr<Tensor> ToHost(DeviceContext& context, const Tensor& tensor);
// The reverse, of a dense tensor.
absl::StatusOr<Tensor> ToDevice(DeviceContext& context, const Tensor& host);

// Lets the host change a dense tensor of the device, in the host's memory, and waits until the
// device has what it became; what fails leaves the device's tensor as it was, unless it is the
// host's.
absl::Status ChangeOnHost(DeviceContext& context, const Tensor& tensor,
                          absl::FunctionRef<absl::Status(const Tensor& host)> change);

// Where the device finds what the host brings again and again: batches of samples. Allocated once,
// and always the same place, to which a batch crosses while the device still computes with the one
// before (tensor/gpu/arrivals.h).
class DeviceTwin {
 public:
  // `largest`: the most samples first.
  static absl::StatusOr<DeviceTwin> Create(DeviceContext& context, DType dtype,
                                           const Shape& largest);

  // The same values for the device, of at most as many samples; the host tensor is dense. On a GPU
  // it has been read when the call returns. Not in a capture. A tensor that is on the device
  // already is copied there, in stream order.
  absl::StatusOr<Tensor> Put(const Tensor& host);
  // The place for so many samples, at most as many, for a caller that writes there what the host
  // has brought in another way. Empty on a CPU.
  Tensor Place(int64_t samples) const;
  // Gives back the memory that Put crosses through, until it is called again. Waits for the device.
  void GiveBack() { arrivals_.reset(); }

 private:
  DeviceContext* context_ = nullptr;
  Tensor twin_;  // empty on a CPU
  std::shared_ptr<gpu::Arrivals> arrivals_;
};

// Where the host finds what the device leaves again and again.
class HostTwin {
 public:
  static absl::StatusOr<HostTwin> Create(DeviceContext& context, DType dtype, const Shape& largest);

  // The same values for the host, after the next DeviceContext::Synchronize.
  absl::StatusOr<Tensor> Get(const Tensor& device) const;

 private:
  DeviceContext* context_ = nullptr;
  Tensor twin_;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_TRANSFERS_TRANSFERS_H_
