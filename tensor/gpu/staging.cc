#include "tensor/gpu/staging.h"

#include <algorithm>
#include <cstring>

#include "tensor/errors.h"

namespace dtnn::gpu {

absl::StatusOr<std::unique_ptr<Staging>> Staging::Create(Gpu& gpu, size_t bytes, int buffers) {
  if (bytes == 0 || buffers < 1) {
    return InvalidArgument(gpu.name(), ": staging through ", buffers, " buffers of ", bytes,
                           " bytes, expected at least one of at least one");
  }
  std::unique_ptr<Staging> staging(new Staging(gpu, bytes));
  DTNN_ASSIGN_OR_RETURN(staging->stream_, gpu.CreateStream("staging"));
  DTNN_ASSIGN_OR_RETURN(staging->order_, gpu.CreateEvent());
  for (int i = 0; i < buffers; ++i) {
    Buffer& buffer = staging->buffers_.emplace_back();
    DTNN_ASSIGN_OR_RETURN(buffer.copied, gpu.CreateEvent());
    DTNN_ASSIGN_OR_RETURN(void* const memory, gpu.AllocatePinned(bytes, "staging"));
    buffer.memory = static_cast<std::byte*>(memory);
  }
  return staging;
}

Staging::~Staging() {
  for (const Buffer& buffer : buffers_) (void)gpu_.Free(buffer.memory);
}

absl::StatusOr<Staging::Buffer*> Staging::Next() {
  Buffer& buffer = buffers_[next_++ % buffers_.size()];
  if (buffer.used) DTNN_RETURN_IF_ERROR(buffer.copied->Synchronize());
  buffer.used = true;
  return &buffer;
}

absl::Status Staging::Order(Stream& first, Stream& second) {
  DTNN_RETURN_IF_ERROR(first.Record(*order_));
  return second.Wait(*order_);
}

absl::Status Staging::Upload(Stream& user, void* to, const void* from, size_t bytes) {
  DTNN_RETURN_IF_ERROR(Order(user, *stream_));
  for (size_t done = 0; done < bytes; done += bytes_) {
    const size_t piece = std::min(bytes_, bytes - done);
    DTNN_ASSIGN_OR_RETURN(Buffer* const buffer, Next());
    std::memcpy(buffer->memory, static_cast<const std::byte*>(from) + done, piece);
    DTNN_RETURN_IF_ERROR(stream_->Copy(static_cast<std::byte*>(to) + done, buffer->memory, piece));
    DTNN_RETURN_IF_ERROR(stream_->Record(*buffer->copied));
  }
  return Order(*stream_, user);
}

absl::Status Staging::Download(Stream& user, void* to, const void* from, size_t bytes) {
  DTNN_RETURN_IF_ERROR(Order(user, *stream_));
  // One piece is copied to the host while the next comes from the GPU.
  std::vector<Buffer*> pieces;
  const auto finish = [&](size_t piece) -> absl::Status {
    DTNN_RETURN_IF_ERROR(pieces[piece]->copied->Synchronize());
    const size_t begin = piece * bytes_;
    std::memcpy(static_cast<std::byte*>(to) + begin, pieces[piece]->memory,
                std::min(bytes_, bytes - begin));
    return absl::OkStatus();
  };
  for (size_t done = 0; done < bytes; done += bytes_) {
    if (pieces.size() >= buffers_.size()) {
      DTNN_RETURN_IF_ERROR(finish(pieces.size() - buffers_.size()));
    }
    DTNN_ASSIGN_OR_RETURN(Buffer* const buffer, Next());
    pieces.push_back(buffer);
    DTNN_RETURN_IF_ERROR(stream_->Copy(buffer->memory, static_cast<const std::byte*>(from) + done,
                                       std::min(bytes_, bytes - done)));
    DTNN_RETURN_IF_ERROR(stream_->Record(*buffer->copied));
  }
  for (size_t i = pieces.size() - std::min(pieces.size(), buffers_.size()); i < pieces.size();
       ++i) {
    DTNN_RETURN_IF_ERROR(finish(i));
  }
  // What `user` does next may write what was read.
  return Order(*stream_, user);
}

}  // namespace dtnn::gpu
