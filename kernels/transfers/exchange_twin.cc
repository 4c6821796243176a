#include "kernels/transfers/exchange_twin.h"

#include <utility>

#include "kernels/operands/operand.h"
#include "tensor/buffer.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr std::string_view kName = "exchange";

size_t BytesOf(const Tensor& tensor) {
  return size_t(tensor.num_elements()) * SizeOf(tensor.dtype());
}

}  // namespace

absl::StatusOr<std::unique_ptr<ExchangeTwin>> ExchangeTwin::Create(
    DeviceContext& context, DType dtype, const std::vector<int64_t>& ranges) {
  if (context.device().is_cpu()) return nullptr;
  std::unique_ptr<ExchangeTwin> twin(new ExchangeTwin(static_cast<GpuContext&>(context)));
  gpu::Gpu& gpu = twin->context_->stream().gpu();
  DTNN_ASSIGN_OR_RETURN(twin->stream_, gpu.CreateStream(kName));
  DTNN_ASSIGN_OR_RETURN(twin->order_, gpu.CreateEvent());
  for (const int64_t elements : ranges) {
    DTNN_ASSIGN_OR_RETURN(
        const std::shared_ptr<Buffer> memory,
        Buffer::Allocate(context.device(), size_t(elements) * SizeOf(dtype), MemoryKind::kPinned));
    Range& range = twin->ranges_.emplace_back();
    range.host = Tensor::View(memory, 0, dtype, Shape{elements});
    DTNN_ASSIGN_OR_RETURN(range.fetched, gpu.CreateEvent());
  }
  return twin;
}

ExchangeTwin::~ExchangeTwin() {
  (void)Release();
  if (stream_ != nullptr) (void)stream_->Synchronize();
}

absl::Status ExchangeTwin::Order(gpu::Stream& first, gpu::Stream& second) {
  DTNN_RETURN_IF_ERROR(first.Record(*order_));
  return second.Wait(*order_);
}

absl::Status ExchangeTwin::Fetch(size_t index, const Tensor& array) {
  Range& range = ranges_[index];
  DTNN_RETURN_IF_ERROR(CheckOperand(kName, "the array", array, context_->device(),
                                    range.host.dtype(), range.host.shape(), Pitch::kNone));
  DTNN_RETURN_IF_ERROR(Order(context_->stream(), *stream_));
  range.device = array;
  DTNN_RETURN_IF_ERROR(stream_->Copy(range.host.raw_data(), array.raw_data(), BytesOf(array)));
  return stream_->Record(*range.fetched);
}

absl::StatusOr<Tensor> ExchangeTwin::Await(size_t index) {
  DTNN_RETURN_IF_ERROR(ranges_[index].fetched->Synchronize());
  return ranges_[index].host;
}

absl::Status ExchangeTwin::Return(size_t index) {
  const Range& range = ranges_[index];
  const Tensor device = std::exchange(ranges_[index].device, Tensor());
  if (device.empty()) return FailedPrecondition(kName, ": range ", index, " was not fetched");
  DTNN_RETURN_IF_ERROR(
      stream_->Copy(device.raw_data(), range.host.raw_data(), BytesOf(range.host)));
  return Order(*stream_, context_->stream());
}

absl::Status ExchangeTwin::Release() {
  bool outstanding = false;
  for (Range& range : ranges_) {
    outstanding |= !std::exchange(range.device, Tensor()).empty();
  }
  return outstanding ? Order(*stream_, context_->stream()) : absl::OkStatus();
}

}  // namespace dtnn
