// The tensors of an elementwise pass as one grid of rows: what all of them agree on (`RowGrid`) and
// where each of them lies (`Operand`).
//
// If every tensor is dense, the grid is a single row and a pass is one long loop; a pitched one
// among them splits the grid into its rows (pixels, images or matrix rows, see
// kernels/operands/rows.h), in which the dense ones take part with a pitch of one row.

#ifndef DTNN_KERNELS_ELEMENTWISE_OPERANDS_H_
#define DTNN_KERNELS_ELEMENTWISE_OPERANDS_H_

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "absl/status/status.h"
#include "tensor/device.h"
#include "tensor/tensor.h"

namespace dtnn {

struct RowGrid {
  int64_t rows = 0, columns = 0;
  int64_t size() const { return rows * columns; }
};

// The memory of one tensor in a grid; elements from one row to the next: `pitch`.
struct Operand {
  void* data = nullptr;
  int64_t pitch = 0;

  template <typename T>
  T* At(int64_t row, int64_t column) const {
    return static_cast<T*>(data) + row * pitch + column;
  }
};

// The tensors have one shape; empty ones (no buffer) are ignored.
RowGrid GridOf(TensorFormat format, std::initializer_list<const Tensor*> tensors);
Operand OperandIn(const RowGrid& grid, const Tensor& tensor, TensorFormat format);

// InvalidArgument, naming the operation and what differs, unless all tensors lie on this device and
// have this dtype and the shape of the first; a pitch is allowed.
absl::Status CheckOperands(std::string_view operation, Device device, DType dtype,
                           std::initializer_list<const Tensor*> tensors);
// InvalidArgument for a spec whose dtype is not a floating type.
absl::Status CheckFloating(std::string_view operation, DType dtype);
// The same for activations, which may be bfloat16, and on a GPU float16.
absl::Status CheckFloating(std::string_view operation, Device device, DType dtype);
// What a Create function answers for a device that it has no implementation for.
absl::Status NoKernelFor(std::string_view operation, Device device);

// Elements that a thread should at least have: below it, starting another costs more than it saves.
inline constexpr int64_t kCopyGrain = 16384;  // passes as fast as memory
inline constexpr int64_t kMathGrain = 4096;  // exp, tanh, random numbers: tens of cycles per vector

}  // namespace dtnn

#endif  // DTNN_KERNELS_ELEMENTWISE_OPERANDS_H_
