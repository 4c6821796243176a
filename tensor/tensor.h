// A view of a buffer as an array of `shape` and `dtype`: a cheap handle, copied by value; copies
// see the same elements. Constness is that of the handle, not of the elements.
//
// Memory order is row-major in the shape, with one freedom: the **pitch**, the distance in elements
// between consecutive "rows" that the primitives may not assume to be dense:
//   image tensors, NHWC   from one pixel to the next    (dense: channels)
//   image tensors, NCHW   from one image to the next    (dense: channels * height * width)
//   matrices (rank 2)     from one row to the next      (dense: columns)
// so a concatenation's inputs (a range of channels of the output), a slice of the batch and a range
// of an arena are all views, and none of them is copied. Every kernel accepts pitched activations.

#ifndef DTNN_TENSOR_TENSOR_H_
#define DTNN_TENSOR_TENSOR_H_

#include <cassert>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/buffer.h"
#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/format.h"
#include "tensor/shape.h"

namespace dtnn {

class Tensor {
 public:
  Tensor() = default;  // no buffer; empty() is true

  // A new dense tensor; its elements are not initialised.
  static absl::StatusOr<Tensor> Allocate(Device device, DType dtype, const Shape& shape);
  // The same with all bytes zero; host only.
  static absl::StatusOr<Tensor> Zeros(DType dtype, const Shape& shape);
  // A dense view of `buffer` from byte `offset` on. The caller has checked that it fits.
  static Tensor View(std::shared_ptr<Buffer> buffer, size_t offset, DType dtype,
                     const Shape& shape);

  bool empty() const { return buffer_ == nullptr; }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  Device device() const { return buffer_->device(); }
  const std::shared_ptr<Buffer>& buffer() const { return buffer_; }
  int64_t num_elements() const { return shape_.NumElements(); }

  // Elements from one row to the next, see above. 0 < pitch; dense tensors report the dense value
  // for the format asked.
  int64_t PixelPitch() const { return pitch_ > 0 ? pitch_ : shape_[shape_.rank() - 1]; }
  int64_t ImagePitch() const { return pitch_ > 0 ? pitch_ : shape_.DropFirst().NumElements(); }
  int64_t RowPitch() const { return pitch_ > 0 ? pitch_ : shape_[shape_.rank() - 1]; }
  bool dense() const { return pitch_ == 0; }

  // The first element; T must be the dtype, and on a GPU the pointer is for kernels only.
  template <typename T>
  T* data() const {
    assert(DTypeOf<T>() == dtype_);
    return reinterpret_cast<T*>(raw_data());
  }
  std::byte* raw_data() const { return buffer_->data() + offset_; }

  // Views. Samples [begin, begin + count) of a batch:
  Tensor Samples(int64_t begin, int64_t count, TensorFormat format) const;
  // Channels [begin, begin + count) of every image; also columns of a matrix.
  Tensor Channels(int64_t begin, int64_t count, TensorFormat format) const;
  // The same elements under another shape of the same size; the tensor must be dense.
  Tensor Reshaped(const Shape& shape) const;

 private:
  std::shared_ptr<Buffer> buffer_;
  size_t offset_ = 0;  // bytes
  Shape shape_;
  DType dtype_ = DType::kFloat32;
  int64_t pitch_ = 0;  // 0: dense
};

}  // namespace dtnn

#endif  // DTNN_TENSOR_TENSOR_H_
