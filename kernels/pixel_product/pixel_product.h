// Products of images whose pixels are the rows of matrices: what attention is made of (Vaswani et
// al., 2017).
//
// X and Y are images of the same channels, which `heads` divides evenly; S has the pixels of X, and
// in each head a channel for each pixel of Y. For each sample and head, with X_h of (pixels of x,
// channels / heads), Y_h of (pixels of y, channels / heads), S_h of (pixels of x, pixels of y):
//
//   Scores   S_h = (accumulate ? S_h : 0) + factor * X_h Y_h^T
//   Weigh    X_h = (accumulate ? X_h : 0) + factor * S_h Y_h
//   Gather   Y_h = (accumulate ? Y_h : 0) + factor * S_h^T X_h
//
// Each is linear in both operands, and the gradients of each are the other two. Images may be
// pitched; a result overlaps no operand. Sums are made in float32 or float64 and rounded once; the
// order of summation is the same on any number of threads. 2 * pixels of x * pixels of y * channels
// flops for each sample.

#ifndef DTNN_KERNELS_PIXEL_PRODUCT_PIXEL_PRODUCT_H_
#define DTNN_KERNELS_PIXEL_PRODUCT_PIXEL_PRODUCT_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "kernels/workspace/workspace.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct PixelProductSpec {
  ImageExtents x, y;
  int64_t heads = 1;
  double factor = 1;
  TensorFormat format = TensorFormat::kNHWC;
  DType dtype = DType::kFloat32;

  ImageExtents s() const { return {x.height, x.width, heads * y.height * y.width}; }
};

class PixelProduct {
 public:
  virtual ~PixelProduct() = default;
  // (n, image) each.
  virtual absl::Status Scores(const Tensor& x, const Tensor& y, const Tensor& s, bool accumulate,
                              Workspace workspace) = 0;
  virtual absl::Status Weigh(const Tensor& s, const Tensor& y, const Tensor& x, bool accumulate,
                             Workspace workspace) = 0;
  virtual absl::Status Gather(const Tensor& s, const Tensor& x, const Tensor& y, bool accumulate,
                              Workspace workspace) = 0;
  virtual size_t workspace_bytes() const { return 0; }
};

// InvalidArgument for images without pixels, for channels that differ or that `heads` does not
// divide, and for types that the device does not compute with.
absl::StatusOr<std::unique_ptr<PixelProduct>> CreatePixelProduct(DeviceContext& context,
                                                                 const PixelProductSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_PIXEL_PRODUCT_PIXEL_PRODUCT_H_
