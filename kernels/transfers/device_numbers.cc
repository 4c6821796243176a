#include "kernels/transfers/device_numbers.h"

#include <cstring>

#include "kernels/device/gpu_context.h"
#include "tensor/errors.h"

namespace dtnn {

absl::StatusOr<DeviceNumbers> DeviceNumbers::Create(DeviceContext& context, DType dtype,
                                                    int64_t count) {
  DeviceNumbers numbers;
  numbers.context_ = &context;
  const Shape shape{count};
  DTNN_ASSIGN_OR_RETURN(numbers.device_, Tensor::Allocate(context.device(), dtype, shape));
  DTNN_RETURN_IF_ERROR(context.FillZero(numbers.device_));
  if (context.device().is_cpu()) return numbers;
  for (Slot& slot : numbers.slots_) {
    DTNN_ASSIGN_OR_RETURN(
        std::shared_ptr<Buffer> memory,
        Buffer::Allocate(context.device(), size_t(count) * SizeOf(dtype), MemoryKind::kPinned));
    slot.pinned = Tensor::View(std::move(memory), 0, dtype, shape);
  }
  return numbers;
}

absl::Status DeviceNumbers::SetBytes(DType dtype, std::span<const std::byte> bytes) {
  if (device_.empty() || dtype != device_.dtype() ||
      bytes.size() != size_t(device_.num_elements()) * SizeOf(dtype)) {
    return InvalidArgument("numbers of the device: ", bytes.size(), " bytes of ", Name(dtype),
                           " are not what they were made for");
  }
  if (context_->device().is_cpu()) {
    std::memcpy(device_.raw_data(), bytes.data(), bytes.size());
    return absl::OkStatus();
  }
  gpu::Stream& stream = static_cast<GpuContext*>(context_)->stream();
  Slot& slot = slots_[next_];
  if (slot.read == nullptr) {
    DTNN_ASSIGN_OR_RETURN(slot.read, stream.gpu().CreateEvent());
  } else {
    DTNN_RETURN_IF_ERROR(slot.read->Synchronize());
  }
  next_ = (next_ + 1) % kSlots;
  std::memcpy(slot.pinned.raw_data(), bytes.data(), bytes.size());
  DTNN_RETURN_IF_ERROR(stream.Copy(device_.raw_data(), slot.pinned.raw_data(), bytes.size()));
  return stream.Record(*slot.read);
}

}  // namespace dtnn
