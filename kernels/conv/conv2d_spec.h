// What a two-dimensional convolution computes: sizes, geometry, layout and epilogue; see conv2d.h
// for the formula.

#ifndef DTNN_KERNELS_CONV_CONV2D_SPEC_H_
#define DTNN_KERNELS_CONV_CONV2D_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "kernels/operands/epilogue.h"
#include "kernels/operands/pair.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct Conv2dSpec {
  int64_t batch = 0, height = 0, width = 0, channels = 0, filters = 0;
  Pair kernel = 3, stride = 1, padding = 0, dilation = 1;
  int64_t groups = 1;
  TensorFormat format = TensorFormat::kNHWC;
  // The format whose order of axes the filter has, where it is not that of the activations.
  std::optional<TensorFormat> filter_format = {};
  // The dtype of images and filter. With 16 bits scale, bias and gradients of filter and bias are
  // float32, as all sums are, and results are rounded once; float16 only on GPUs.
  DType dtype = DType::kFloat32;
  // A GPU may round the operands of float32 products to TF32.
  bool tf32 = false;
  Epilogue epilogue;  // of Forward

  int64_t out_height() const;
  int64_t out_width() const;
  Shape InputShape() const;   // with the batch
  Shape OutputShape() const;  // with the batch
  Shape FilterShape()
      const;  // (channels / groups, kh, kw, filters) or (filters, channels / groups, kh, kw)
  double Flops() const;  // of one direction

  // InvalidArgument naming the offending field: sizes < 1 or > 2^30, output < 1, groups that do not
  // divide; a padded height or width times that of the kernel > 2^22, a tensor > 2^40 bytes.
  absl::Status Validate() const;
  // One token: "n64h32w32c64_k64r3s3p1x1_nhwc_f32" plus what is not 1: "u2x2" stride, "d2x2", "g4",
  // and after the format a "w" where the filter is in the other one.
  std::string ToString() const;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_CONV_CONV2D_SPEC_H_
