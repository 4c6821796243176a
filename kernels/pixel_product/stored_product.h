// The products of PixelProduct as matrices that are stored by rows, which CPUs and GPUs multiply,
// and what both check before it.
//
// The stored rows are pixels in NHWC and channels in NCHW, where each product is thus that of the
// transposed matrices.

#ifndef DTNN_KERNELS_PIXEL_PRODUCT_STORED_PRODUCT_H_
#define DTNN_KERNELS_PIXEL_PRODUCT_STORED_PRODUCT_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "kernels/gpu/images.h"
#include "kernels/operands/operand.h"
#include "kernels/pixel_product/pixel_product.h"
#include "tensor/status_macros.h"

namespace dtnn {

inline constexpr std::string_view kPixelProduct = "pixel product";

enum class PixelProductKind : uint8_t { kScores, kWeigh, kGather };

// The operands of a call, by their letters.
struct PixelMatrices {
  const Tensor &x, &y, &s;
};

inline absl::Status CheckPixelProduct(const PixelProductSpec& spec, Device device,
                                      const PixelMatrices& operands) {
  const int64_t samples = operands.x.shape().rank() > 0 ? operands.x.shape()[0] : 0;
  const auto check = [&](std::string_view name, const Tensor& image, const ImageExtents& extents) {
    return CheckOperand(kPixelProduct, name, image, device, spec.dtype,
                        SampleShape(extents, spec.format).Prepend(samples), Pitch::kAllowed);
  };
  DTNN_RETURN_IF_ERROR(check("x", operands.x, spec.x));
  DTNN_RETURN_IF_ERROR(check("y", operands.y, spec.y));
  return check("s", operands.s, spec.s());
}

// The matrices of an image, one for each sample and head.
template <typename T>
struct StoredMatrix {
  ImageGrid grid;
  ImageView<T> view;
  int64_t head;   // elements from one head to the next
  int64_t pitch;  // from one stored row to the next

  static StoredMatrix Of(const Tensor& image, const PixelProductSpec& spec) {
    const ImageGrid grid = ImageGrid::Of(image.shape(), spec.format);
    const auto view = ImageView<T>::Of(image, spec.format);
    return {grid, view, grid.channels / spec.heads * view.channel,
            grid.channels_last ? view.pixel : view.channel};
  }
  DTNN_HOST_DEVICE T* Begin(int64_t sample, int64_t h) const {
    return view.data + sample * view.image + h * head;
  }
};

// C = (accumulate ? C : 0) + factor * op(A) op(B), op(A) m x k, op(B) k x n.
template <typename T>
struct StoredProduct {
  bool transpose_a, transpose_b;
  bool factor_of_a;  // the smaller operand, which takes the factor
  int64_t samples, heads, m, n, k;
  StoredMatrix<const T> a, b;
  StoredMatrix<T> c;
  double factor;
  bool accumulate;

  static StoredProduct Of(const PixelProductSpec& spec, PixelProductKind kind,
                          const PixelMatrices& operands, bool accumulate) {
    using Constant = StoredMatrix<const T>;
    using Kind = PixelProductKind;
    const bool scores = kind == Kind::kScores, gather = kind == Kind::kGather;
    // As pixels by channels: left * right.
    const Tensor &left = scores ? operands.x : operands.s,
                 &right = kind == Kind::kWeigh ? operands.y
                          : scores             ? operands.y
                                               : operands.x,
                 &result = scores   ? operands.s
                           : gather ? operands.y
                                    : operands.x;
    const int64_t of_x = spec.x.height * spec.x.width, of_y = spec.y.height * spec.y.width,
                  depth = spec.x.channels / spec.heads;
    const int64_t rows = gather ? of_y : of_x, columns = scores ? of_y : depth,
                  terms = scores   ? depth
                          : gather ? of_x
                                   : of_y;
    const int64_t samples = left.shape()[0];
    const auto matrix = [&](const Tensor& image) { return Constant::Of(image, spec); };
    const auto to = StoredMatrix<T>::Of(result, spec);
    if (spec.format == TensorFormat::kNHWC) {
      return {gather, scores,       scores,        samples, spec.heads,  rows,      columns,
              terms,  matrix(left), matrix(right), to,      spec.factor, accumulate};
    }
    // The transposed: right^T left^T, of matrices that are stored as their transposed.
    return {scores, gather,        !scores,      samples, spec.heads,  columns,   rows,
            terms,  matrix(right), matrix(left), to,      spec.factor, accumulate};
  }
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_PIXEL_PRODUCT_STORED_PRODUCT_H_
