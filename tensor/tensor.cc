#include "tensor/tensor.h"

#include <cstring>
#include <utility>

#include "tensor/errors.h"

namespace dtnn {

absl::StatusOr<Tensor> Tensor::Allocate(Device device, DType dtype, const Shape& shape) {
  size_t bytes;
  if (__builtin_mul_overflow(size_t(shape.NumElements()), SizeOf(dtype), &bytes)) {
    return InvalidArgument("a tensor of shape ", shape.ToString(), " exceeds the address space");
  }
  absl::StatusOr<std::shared_ptr<Buffer>> buffer = Buffer::Allocate(device, bytes);
  if (!buffer.ok()) return buffer.status();
  return View(*std::move(buffer), 0, dtype, shape);
}

absl::StatusOr<Tensor> Tensor::Zeros(DType dtype, const Shape& shape) {
  absl::StatusOr<Tensor> tensor = Allocate(Device::Cpu(), dtype, shape);
  if (tensor.ok()) std::memset(tensor->raw_data(), 0, tensor->buffer_->size());
  return tensor;
}

Tensor Tensor::View(std::shared_ptr<Buffer> buffer, size_t offset, DType dtype,
                    const Shape& shape) {
  assert(offset + shape.NumElements() * SizeOf(dtype) <= buffer->size());
  Tensor tensor;
  tensor.buffer_ = std::move(buffer);
  tensor.offset_ = offset;
  tensor.shape_ = shape;
  tensor.dtype_ = dtype;
  return tensor;
}

Tensor Tensor::Samples(int64_t begin, int64_t count, TensorFormat format) const {
  assert(begin >= 0 && count >= 0 && begin + count <= shape_[0]);
  Tensor view = *this;
  const Shape sample = shape_.DropFirst();
  view.shape_ = sample.Prepend(count);
  int64_t distance = sample.NumElements();
  if (pitch_ > 0) {
    const bool pixels = sample.rank() == 3 && format == TensorFormat::kNHWC;
    distance = pixels ? sample[0] * sample[1] * pitch_ : pitch_;
  }
  view.offset_ += size_t(begin * distance) * SizeOf(dtype_);
  return view;
}

Tensor Tensor::Channels(int64_t begin, int64_t count, TensorFormat format) const {
  const int rank = shape_.rank();
  assert(rank == 2 || rank == 4);
  const bool innermost = rank == 2 || format == TensorFormat::kNHWC;
  const int64_t channels = shape_[innermost ? rank - 1 : 1];
  assert(begin >= 0 && count >= 0 && begin + count <= channels);
  if (count == channels) return *this;  // a dense tensor stays dense
  Tensor view = *this;
  view.pitch_ = innermost ? RowPitch() : ImagePitch();
  const int64_t distance = innermost ? 1 : shape_[2] * shape_[3];
  view.offset_ += size_t(begin * distance) * SizeOf(dtype_);
  if (rank == 2) {
    view.shape_ = Shape{shape_[0], count};
  } else if (innermost) {
    view.shape_ = Shape{shape_[0], shape_[1], shape_[2], count};
  } else {
    view.shape_ = Shape{shape_[0], count, shape_[2], shape_[3]};
  }
  return view;
}

Tensor Tensor::Reshaped(const Shape& shape) const {
  assert(dense() && shape.NumElements() == shape_.NumElements());
  Tensor view = *this;
  view.shape_ = shape;
  return view;
}

}  // namespace dtnn
