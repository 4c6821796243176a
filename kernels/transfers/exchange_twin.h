// An array of a device and its twin in pinned memory of the host, for what is exchanged with other
// ranks while the device computes: a range is fetched as soon as it is final, changed by the host,
// and returned. Copies run on a stream of their own, after what the context was given before the
// fetch; what the context is given after the return comes after it.
//
//   twin.Fetch(0, gradients.Samples(...))   queues a copy to the host
//   Tensor host = *twin.Await(0)            waits for it; other ranks' values are added
//   twin.Return(0)                          queues the copy back
//
// From Fetch to Return (or Release) nobody else writes the range on the device.

#ifndef DTNN_KERNELS_TRANSFERS_EXCHANGE_TWIN_H_
#define DTNN_KERNELS_TRANSFERS_EXCHANGE_TWIN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/gpu_context.h"
#include "tensor/gpu/driver.h"
#include "tensor/tensor.h"

namespace dtnn {

class ExchangeTwin {
 public:
  // For ranges of these numbers of elements. Null where the device's tensors are in the host's
  // memory: they need no twin.
  static absl::StatusOr<std::unique_ptr<ExchangeTwin>> Create(DeviceContext& context, DType dtype,
                                                              const std::vector<int64_t>& ranges);
  // Waits for what is queued.
  ~ExchangeTwin();
  ExchangeTwin(const ExchangeTwin&) = delete;
  ExchangeTwin& operator=(const ExchangeTwin&) = delete;

  // `array`: a dense tensor of the device, of the range's size; of the twin's dtype.
  absl::Status Fetch(size_t range, const Tensor& array);
  // What was fetched, in memory of the host.
  absl::StatusOr<Tensor> Await(size_t range);
  absl::Status Return(size_t range);
  // Gives up what was fetched and not returned: what the context is given from now on may write it.
  absl::Status Release();

 private:
  struct Range {
    Tensor host, device;  // device: empty unless it was fetched and not returned
    std::unique_ptr<gpu::Event> fetched;
  };

  explicit ExchangeTwin(GpuContext& context) : context_(&context) {}
  // What comes on `second` from now on is after what `first` has been given.
  absl::Status Order(gpu::Stream& first, gpu::Stream& second);

  GpuContext* context_;
  std::vector<Range> ranges_;
  std::unique_ptr<gpu::Event> order_;
  std::unique_ptr<gpu::Stream> stream_;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_TRANSFERS_EXCHANGE_TWIN_H_
