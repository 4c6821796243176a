#include "kernels/collective/device_collectives.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "kernels/collective/simulated_collectives.h"
#include "kernels/operands/operand.h"
#include "tensor/errors.h"
#ifdef DTNN_WITH_CUDA
#include "kernels/collective/nccl_collectives.h"
#endif

namespace dtnn {
namespace {

absl::Status NoCollectives(Device device) {
  return Unimplemented(device.ToString(), " has no collectives of its own");
}

}  // namespace

absl::StatusOr<CollectiveId> DeviceCollectives::NewId(DeviceContext& context) {
  const Device device = context.device();
  if (device.type == DeviceType::kSimulated) return NewSimulatedCollectiveId();
#ifdef DTNN_WITH_CUDA
  if (device.type == DeviceType::kCuda) return NewNcclId();
#endif
  return NoCollectives(device);
}

absl::StatusOr<std::unique_ptr<DeviceCollectives>> DeviceCollectives::Create(
    DeviceContext& context, const CollectiveId& id, const CollectivePlace& place) {
  const Device device = context.device();
  if (place.rank < 0 || place.rank >= place.ranks || place.timeout.count() <= 0) {
    return InvalidArgument("rank ", place.rank, " of ", place.ranks, " and a timeout of ",
                           place.timeout.count(), " ms: no place in a group");
  }
  absl::StatusOr<std::unique_ptr<DeviceCollectives>> made = NoCollectives(device);
  if (device.type == DeviceType::kSimulated) made = CreateSimulatedCollectives(context, id, place);
#ifdef DTNN_WITH_CUDA
  if (device.type == DeviceType::kCuda) made = CreateNcclCollectives(context, id, place);
#endif
  DTNN_RETURN_IF_ERROR(made.status());
  DTNN_RETURN_IF_ERROR((*made)->Start());
  return made;
}

int64_t DeviceCollectives::Hardware(const DeviceContext& context) {
  return static_cast<const GpuContext&>(context).stream().gpu().properties().hardware;
}

absl::Status DeviceCollectives::Start() {
  gpu::Gpu& gpu = context_.stream().gpu();
  DTNN_ASSIGN_OR_RETURN(stream_, gpu.CreateStream("collectives"));
  DTNN_ASSIGN_OR_RETURN(order_, gpu.CreateEvent());
  return absl::OkStatus();
}

bool DeviceCollectives::outstanding() const {
  return std::ranges::any_of(sums_, [](const Sum& sum) { return !sum.what.empty(); });
}

absl::Status DeviceCollectives::AllReduce(size_t number, const Tensor& tensor) {
  DTNN_RETURN_IF_ERROR(CheckOperand("all-reduce", "the tensor", tensor, context_.device(),
                                    tensor.dtype(), tensor.shape(), Pitch::kNone));
  if (!IsFloating(tensor.dtype())) {
    return InvalidArgument("all-reduce on ", context_.device().ToString(), ": ",
                           Name(tensor.dtype()), ", expected float32 or float64");
  }
  DTNN_RETURN_IF_ERROR(CheckGroup());
  if (sums_.size() <= number) sums_.resize(number + 1);
  Sum& sum = sums_[number];
  if (!sum.what.empty()) return FailedPrecondition(sum.what, ": number ", number, " is in use");
  if (sum.done == nullptr) {
    DTNN_ASSIGN_OR_RETURN(sum.done, context_.stream().gpu().CreateEvent());
  }
  if (const absl::Status status = Queue(tensor, *sum.done); !status.ok()) {
    Abort();  // the others would wait for this rank
    return status;
  }
  sum.what = StrCat("all-reduce of ", tensor.num_elements(), " ", Name(tensor.dtype()), " on ",
                    context_.device().ToString(), " of rank ", place_.rank);
  return absl::OkStatus();
}

absl::Status DeviceCollectives::Queue(const Tensor& tensor, gpu::Event& done) {
  DTNN_RETURN_IF_ERROR(context_.stream().Record(*order_));
  DTNN_RETURN_IF_ERROR(stream_->Wait(*order_));
  DTNN_RETURN_IF_ERROR(DoAllReduce(*stream_, tensor));
  return stream_->Record(done);
}

absl::Status DeviceCollectives::MayWait(std::string_view what,
                                        std::chrono::steady_clock::time_point begin) {
  absl::Status status = WithContext(place_.check(), what);
  if (status.ok() && std::chrono::steady_clock::now() - begin > place_.timeout) {
    status = absl::DeadlineExceededError(StrCat(what, ": not all ranks have come within ",
                                                double(place_.timeout.count()) / 1000, " s"));
  }
  if (!status.ok()) Abort();
  return status;
}

absl::Status DeviceCollectives::Await(size_t number) {
  if (number >= sums_.size() || sums_[number].what.empty()) {
    return FailedPrecondition("all-reduce: number ", number, " is not on its way");
  }
  Sum& sum = sums_[number];
  const std::string what = std::exchange(sum.what, "");
  const auto begin = std::chrono::steady_clock::now();
  auto pause = std::chrono::microseconds(5);
  while (true) {
    DTNN_ASSIGN_OR_RETURN(const bool done, sum.done->Query());
    DTNN_RETURN_IF_ERROR(WithContext(CheckGroup(), what));
    if (done) return context_.stream().Wait(*sum.done);
    DTNN_RETURN_IF_ERROR(MayWait(what, begin));
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(1000));
  }
}

}  // namespace dtnn
