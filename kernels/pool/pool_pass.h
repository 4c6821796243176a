// What the implementations of Pool and AdaptivePool share: a pass over images whose windows are
// given axis by axis, its check, and the CPU's loops. No two threads write one element, and every
// element is summed in an order that the geometry alone decides: results are the same bits on any
// number of threads.

#ifndef DTNN_KERNELS_POOL_POOL_PASS_H_
#define DTNN_KERNELS_POOL_POOL_PASS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "kernels/elementwise/operands.h"
#include "kernels/pool/windows.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn::pool {

// Most images, rows, columns and channels: the products of two fit 63 bits.
inline constexpr int64_t kMostExtent = int64_t{1} << 24;
// Most elements of a window whose argmax is a byte.
inline constexpr int64_t kMostByteTaps = 255;
// Elements of a mean that are summed by themselves: one chain over all would round too much.
inline constexpr int64_t kPartOfMean = 256;

struct Geometry {
  int64_t batch = 0;  // the most images of a call
  Axis rows, columns;
  int64_t channels = 0;
  bool average = false;
  TensorFormat format = TensorFormat::kNHWC;
  DType dtype = DType::kFloat32, argmax_dtype = DType::kUint8;
};

struct Pass {
  const Geometry& geometry;
  Operand in, out;  // x, y or dx, dy; the pitch is from pixel to pixel or image to image
  void* argmax = nullptr;
  // For the backward pass: whether gradients are added to what dx holds, and whether they are
  // written where they belong, since every element of dx lies in exactly one window. Else dx is
  // zeroed.
  bool accumulate = false, tiled = false;
  int64_t block = 0;  // channels of a unit of the backward pass of pixels
};

// InvalidArgument, naming the operation and the field of its spec.
absl::Status CheckRange(std::string_view operation, std::string_view field, int64_t value,
                        int64_t least = 1, int64_t most = kMostExtent);

// InvalidArgument, naming the operation and the operand, unless `in` (x or dx) and `out` (y or dy)
// are as many images on the device, no more than the geometry's batch, of its extents and dtype.
// Both may be pitched.
absl::Status CheckImages(std::string_view operation, const Geometry& geometry, Device device,
                         std::string_view in_name, const Tensor& in, std::string_view out_name,
                         const Tensor& out);
// Unless there is an index for each of `outputs`; a mean has none.
absl::Status CheckArgmax(std::string_view operation, const Geometry& geometry, Device device,
                         const Tensor& argmax, const Shape& outputs);

// Calls run.operator()<element type, type of an index>().
template <class Run>
void WithTypes(const Pass& pass, const Run& run) {
  const bool bytes = pass.geometry.argmax_dtype == DType::kUint8;
  DispatchCpuFloating(pass.geometry.dtype, [&]<typename T>(T) {
    bytes ? run.template operator()<T, uint8_t>() : run.template operator()<T, int32_t>();
  });
}

// Gradients of `count` elements that several windows add to, while they are added up: where those
// are of 16 bits, in floats that each thread keeps, which are rounded once. Zero, until the next
// call.
template <typename T>
std::vector<Wide<T>>& ThreadSums(int64_t count) {
  thread_local std::vector<Wide<T>> sums;
  sums.assign(size_t(count), Wide<T>(0));
  return sums;
}

// The operands have been checked. `argmax` may be empty, except for the gradient of a maximum.
void RunForward(const Geometry& geometry, const Tensor& x, const Tensor& y, const Tensor& argmax);
void RunBackward(const Geometry& geometry, const Tensor& dy, const Tensor& argmax, const Tensor& dx,
                 bool accumulate);

// The vector loops over units [begin, end). NHWC forward: a row of outputs; backward: `block`
// channels of an image. NCHW: a plane.
void ForwardNhwc(const Pass& pass, int64_t begin, int64_t end);
void BackwardNhwc(const Pass& pass, int64_t begin, int64_t end);
void ForwardNchw(const Pass& pass, int64_t begin, int64_t end);
void BackwardNchw(const Pass& pass, int64_t begin, int64_t end);

}  // namespace dtnn::pool

#endif  // DTNN_KERNELS_POOL_POOL_PASS_H_
