#include "tensor/gpu/arrivals.h"

#include <cstring>
#include <utility>

#include "tensor/errors.h"

namespace dtnn::gpu {

absl::StatusOr<std::unique_ptr<Arrivals>> Arrivals::Create(Stream& copies, size_t bytes) {
  std::unique_ptr<Arrivals> arrivals(new Arrivals(copies, bytes));
  Gpu& gpu = copies.gpu();
  for (Pinned& pinned : arrivals->pinned_) {
    DTNN_ASSIGN_OR_RETURN(pinned.crossed, gpu.CreateEvent());
    DTNN_ASSIGN_OR_RETURN(void* const memory, gpu.AllocatePinned(bytes, "arrivals"));
    pinned.memory = static_cast<std::byte*>(memory);
  }
  DTNN_ASSIGN_OR_RETURN(arrivals->taken_, gpu.CreateEvent());
  DTNN_ASSIGN_OR_RETURN(void* const memory, gpu.Allocate(bytes, "arrivals"));
  arrivals->arrived_ = static_cast<std::byte*>(memory);
  return arrivals;
}

Arrivals::~Arrivals() {
  Gpu& gpu = copies_.gpu();
  for (const Pinned& pinned : pinned_) (void)gpu.Free(pinned.memory);
  (void)gpu.Free(arrived_);
}

absl::Status Arrivals::Put(Stream& user, void* to, const void* from, size_t bytes) {
  if (bytes > bytes_) {
    return InvalidArgument(copies_.gpu().name(), ": ", bytes,
                           " bytes arrive where there is room for ", bytes_);
  }
  Pinned& pinned = pinned_[next_];
  if (pinned.used) DTNN_RETURN_IF_ERROR(pinned.crossed->Synchronize());
  std::memcpy(pinned.memory, from, bytes);
  if (used_) DTNN_RETURN_IF_ERROR(copies_.Wait(*taken_));
  DTNN_RETURN_IF_ERROR(copies_.Copy(arrived_, pinned.memory, bytes));
  DTNN_RETURN_IF_ERROR(copies_.Record(*pinned.crossed));
  pinned.used = true;
  next_ = 1 - next_;
  DTNN_RETURN_IF_ERROR(user.Wait(*pinned.crossed));
  DTNN_RETURN_IF_ERROR(user.Copy(to, arrived_, bytes));
  DTNN_RETURN_IF_ERROR(user.Record(*taken_));
  used_ = true;
  return absl::OkStatus();
}

}  // namespace dtnn::gpu
