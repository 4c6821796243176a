// What the CPU's implementations of Pool and AdaptivePool share: a pass over images whose windows
// are given axis by axis. No two threads write one element, and every element is summed in the
// order of the windows: results are the same bits on any number of threads.

#ifndef DTNN_KERNELS_POOL_POOL_PASS_H_
#define DTNN_KERNELS_POOL_POOL_PASS_H_

#include <cstdint>

#include "kernels/elementwise/operands.h"
#include "kernels/pool/windows.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct PoolGeometry {
  Axis rows, columns;
  int64_t channels = 0;
  bool average = false;
  TensorFormat format = TensorFormat::kNHWC;
  DType dtype = DType::kFloat32, winner_dtype = DType::kUint8;
};

struct PoolPass {
  const PoolGeometry& geometry;
  Operand in, out;  // x, y or dx, dy; the pitch is from pixel to pixel or image to image
  void* winners = nullptr;
  // Of the backward pass: whether gradients are added to what dx holds, and whether they are
  // written where they belong, since every element of dx lies in exactly one window. Else dx is
  // zeroed.
  bool accumulate = false, tiled = false;
  int64_t block = 0;  // channels of a unit of the backward pass of pixels
};

// Calls run.operator()<element type, winner type>().
template <class Run>
void WithTypes(const PoolPass& pass, const Run& run) {
  const bool bytes = pass.geometry.winner_dtype == DType::kUint8;
  if (pass.geometry.dtype == DType::kFloat32) {
    bytes ? run.template operator()<float, uint8_t>() : run.template operator()<float, int32_t>();
  } else {
    bytes ? run.template operator()<double, uint8_t>() : run.template operator()<double, int32_t>();
  }
}

// `in` and `out` have the same batch. `winners` may be empty, except for the gradient of a maximum.
void RunPoolForward(const PoolGeometry& geometry, const Tensor& x, const Tensor& y,
                    const Tensor& winners);
void RunPoolBackward(const PoolGeometry& geometry, const Tensor& dy, const Tensor& winners,
                     const Tensor& dx, bool accumulate);

// The vector loops over units [begin, end). NHWC forward: a row of outputs; backward: `block`
// channels of an image. NCHW: a plane.
void PoolForwardNhwc(const PoolPass& pass, int64_t begin, int64_t end);
void PoolBackwardNhwc(const PoolPass& pass, int64_t begin, int64_t end);
void PoolForwardNchw(const PoolPass& pass, int64_t begin, int64_t end);
void PoolBackwardNchw(const PoolPass& pass, int64_t begin, int64_t end);

}  // namespace dtnn

#endif  // DTNN_KERNELS_POOL_POOL_PASS_H_
