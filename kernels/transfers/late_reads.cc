#include "kernels/transfers/late_reads.h"

#include <utility>

#include "kernels/device/gpu_context.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

size_t BytesOf(const Tensor& tensor) {
  return size_t(tensor.num_elements()) * SizeOf(tensor.dtype());
}

gpu::Stream& StreamOf(DeviceContext& context) { return static_cast<GpuContext&>(context).stream(); }

}  // namespace

absl::StatusOr<LateReads> LateReads::Create(DeviceContext& context, std::span<const Kind> kinds,
                                            size_t slots) {
  if (context.device().is_cpu() || slots == 0) {
    return InvalidArgument("late reads from ", context.device().ToString(), " through ", slots,
                           " slots, expected a GPU and at least one");
  }
  LateReads reads;
  reads.context_ = &context;
  for (size_t i = 0; i < slots; ++i) {
    Slot& slot = reads.slots_.emplace_back();
    for (const Kind& kind : kinds) {
      DTNN_ASSIGN_OR_RETURN(
          std::shared_ptr<Buffer> memory,
          Buffer::Allocate(context.device(),
                           size_t(kind.largest.NumElements()) * SizeOf(kind.dtype),
                           MemoryKind::kPinned));
      slot.pinned.push_back(Tensor::View(std::move(memory), 0, kind.dtype, kind.largest));
    }
    slot.taken = slot.pinned;
    DTNN_ASSIGN_OR_RETURN(slot.copied, StreamOf(context).gpu().CreateEvent());
  }
  return reads;
}

absl::Status LateReads::Add(std::span<const Tensor> tensors) {
  if (waiting_ == slots_.size()) {
    return absl::FailedPreconditionError("late reads: all slots wait to be read");
  }
  Slot& slot = slots_[next_];
  if (tensors.size() != slot.pinned.size()) {
    return InvalidArgument("late reads: ", tensors.size(), " tensors, expected ",
                           slot.pinned.size());
  }
  // Only what was dropped is not done yet.
  if (slot.used) DTNN_RETURN_IF_ERROR(slot.copied->Synchronize());
  gpu::Stream& stream = StreamOf(*context_);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    const Tensor& pinned = slot.pinned[i];
    if (!tensor.dense() || tensor.dtype() != pinned.dtype() || BytesOf(tensor) > BytesOf(pinned)) {
      return InvalidArgument("late reads: a tensor of shape ", tensor.shape().ToString(),
                             " and type ", Name(tensor.dtype()), " does not fit one of ",
                             pinned.shape().ToString(), " and type ", Name(pinned.dtype()));
    }
    DTNN_RETURN_IF_ERROR(stream.Copy(pinned.raw_data(), tensor.raw_data(), BytesOf(tensor)));
    slot.taken[i] = Tensor::View(pinned.buffer(), 0, tensor.dtype(), tensor.shape());
  }
  DTNN_RETURN_IF_ERROR(stream.Record(*slot.copied));
  slot.used = true;
  next_ = (next_ + 1) % slots_.size();
  ++waiting_;
  return absl::OkStatus();
}

absl::StatusOr<std::span<const Tensor>> LateReads::Take() {
  if (waiting_ == 0) return absl::FailedPreconditionError("late reads: nothing waits to be read");
  Slot& slot = slots_[(next_ + slots_.size() - waiting_) % slots_.size()];
  DTNN_RETURN_IF_ERROR(slot.copied->Synchronize());
  --waiting_;
  return slot.taken;
}

}  // namespace dtnn
