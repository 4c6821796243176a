#include "optim/metrics/pixel_rows.h"

#include <algorithm>

#include "tensor/errors.h"

namespace dtnn {

absl::StatusOr<PixelRows> LabelledPixels(const Tensor& predictions, const Tensor& targets,
                                         TensorFormat format) {
  const int64_t n = predictions.shape()[0];
  const ImageExtents image = ExtentsOf(predictions.shape().DropFirst(), format);
  const int64_t pixels = image.height * image.width, classes = image.channels;
  const int32_t* const labels = targets.data<int32_t>();
  PixelRows rows;
  rows.count = std::count_if(labels, labels + n * pixels, [](int32_t label) { return label >= 0; });
  if (rows.count == 0) return rows;
  if (rows.count == n * pixels && (format == TensorFormat::kNHWC || classes == 1)) {
    rows.predictions = predictions.Reshaped(Shape{rows.count, classes});
    rows.targets = targets.Reshaped(Shape{rows.count});
    return rows;
  }
  DTNN_ASSIGN_OR_RETURN(rows.predictions, Tensor::Allocate(Device::Cpu(), predictions.dtype(),
                                                           Shape{rows.count, classes}));
  DTNN_ASSIGN_OR_RETURN(rows.targets,
                        Tensor::Allocate(Device::Cpu(), DType::kInt32, Shape{rows.count}));
  const int64_t pixel_step = format == TensorFormat::kNHWC ? classes : 1;
  const int64_t channel_step = format == TensorFormat::kNHWC ? 1 : pixels;
  DispatchFloating(predictions.dtype(), [&]<typename T>(T) {
    T* to = rows.predictions.data<T>();
    int32_t* label = rows.targets.data<int32_t>();
    for (int64_t i = 0; i < n * pixels; ++i) {
      if (labels[i] < 0) continue;
      *label++ = labels[i];
      const T* const from =
          predictions.data<T>() + i / pixels * pixels * classes + i % pixels * pixel_step;
      for (int64_t c = 0; c < classes; ++c) *to++ = from[c * channel_step];
    }
  });
  return rows;
}

}  // namespace dtnn
