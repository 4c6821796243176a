// Sums over ranks of memory of their devices, on the devices' streams: NCCL's on NVIDIA's GPUs. On
// simulated ones, whose ranks are threads of one process, threads compute them, in the order of
// ranks.
//
//   collectives.AllReduce(3, gradients)  queues the sum; number 3 is for the caller to know it by
//   collectives.Await(3)                 waits until it is done
//
// A sum begins when all ranks have come to it, after what the context was given before the call;
// what the context is given after Await comes after it. Meanwhile nobody else touches the tensor,
// and no memory of the GPU is freed, which would wait for the other ranks without an end. All ranks
// make the same calls in the same order.
//
// Errors: InvalidArgument for what does not fit the device; FailedPrecondition for ranks that
// cannot meet; DeadlineExceeded where a wait lasts longer than the timeout, or the check's own;
// Internal for the library's. After the first one the group is broken: every call returns an error,
// on all ranks at the latest after their timeouts, and tensors of sums on their way hold anything.

#ifndef DTNN_KERNELS_COLLECTIVE_DEVICE_COLLECTIVES_H_
#define DTNN_KERNELS_COLLECTIVE_DEVICE_COLLECTIVES_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/gpu_context.h"
#include "tensor/gpu/driver.h"
#include "tensor/tensor.h"

namespace dtnn {

// What the ranks of a group know it by: made by one of them, and handed to the others by other
// means. As large as NCCL's.
using CollectiveId = std::array<uint8_t, 128>;

// One rank's side of the group, and how long it waits.
struct CollectivePlace {
  int rank = 0, ranks = 1;
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
  // Asked often while it waits; an error, that another rank is lost for example, ends the wait.
  std::function<absl::Status()> check = [] { return absl::OkStatus(); };
};

class DeviceCollectives {
 public:
  // Unimplemented for a device that has none: a CPU, whose ranks exchange host memory.
  static absl::StatusOr<CollectiveId> NewId(DeviceContext& context);
  // The GPU's number, the same in all processes of its host (tensor/gpu/driver.h): every rank of a
  // group there needs another one. Only for devices for which there is an id.
  static int64_t Hardware(const DeviceContext& context);
  // All ranks together, each with a context of its own, which must outlive the group.
  static absl::StatusOr<std::unique_ptr<DeviceCollectives>> Create(DeviceContext& context,
                                                                   const CollectiveId& id,
                                                                   const CollectivePlace& place);

  // Ends what is on its way without its result.
  virtual ~DeviceCollectives() = default;
  DeviceCollectives(const DeviceCollectives&) = delete;
  DeviceCollectives& operator=(const DeviceCollectives&) = delete;

  // `tensor`: dense float32 or float64 of the device, of one size on all ranks, becomes the sum of
  // all ranks'. `number`: small, of no other sum on its way.
  absl::Status AllReduce(size_t number, const Tensor& tensor);
  absl::Status Await(size_t number);
  // This rank gives up: what is on its way ends. Any thread may call it.
  virtual void Abort() = 0;

 protected:
  DeviceCollectives(DeviceContext& context, const CollectivePlace& place)
      : context_(static_cast<GpuContext&>(context)), place_(place) {}
  // Before anything else.
  absl::Status Start();
  // Within a wait for `what`: an error, after Abort, where it must not continue.
  absl::Status MayWait(std::string_view what, std::chrono::steady_clock::time_point begin);
  // To be called by destructors of what derives from it, after Abort where sums are on their way.
  bool outstanding() const;
  void EndStream() { stream_.reset(); }

  GpuContext& context() const { return context_; }
  const CollectivePlace& place() const { return place_; }

 private:
  struct Sum {
    std::unique_ptr<gpu::Event> done;
    std::string what;  // empty: not on its way
  };

  absl::Status Queue(const Tensor& tensor, gpu::Event& done);
  // Queues it. Checked arguments.
  virtual absl::Status DoAllReduce(gpu::Stream& stream, const Tensor& tensor) = 0;
  // An error of the group, or OK.
  virtual absl::Status CheckGroup() = 0;

  GpuContext& context_;
  const CollectivePlace place_;
  std::unique_ptr<gpu::Event> order_;
  std::vector<Sum> sums_;  // by number
  std::unique_ptr<gpu::Stream> stream_;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_COLLECTIVE_DEVICE_COLLECTIVES_H_
