// What CPUs and GPUs do for each pixel, numbered image by image, and what both check before it.

#ifndef DTNN_KERNELS_CHANNEL_SOFTMAX_BODIES_H_
#define DTNN_KERNELS_CHANNEL_SOFTMAX_BODIES_H_

#include <cmath>
#include <initializer_list>

#include "absl/status/status.h"
#include "kernels/channel_softmax/channel_softmax.h"
#include "kernels/gpu/images.h"
#include "kernels/operands/operand.h"
#include "tensor/errors.h"

namespace dtnn {

// Images of one shape, with the channels of the spec: inputs (x, dx), and results (y, dy).
inline absl::Status CheckChannelSoftmax(const ChannelSoftmaxSpec& spec, Device device,
                                        std::initializer_list<const Tensor*> inputs,
                                        std::initializer_list<const Tensor*> results) {
  constexpr std::string_view kName = "channel softmax";
  const Shape& shape = (*results.begin())->shape();
  const auto check = [&](const Tensor& image, DType dtype) {
    return CheckOperand(kName, "an operand", image, device, dtype, shape, Pitch::kAllowed);
  };
  for (const Tensor* input : inputs) DTNN_RETURN_IF_ERROR(check(*input, spec.dtype));
  for (const Tensor* result : results) DTNN_RETURN_IF_ERROR(check(*result, WideOf(spec.dtype)));
  if (shape.rank() == 4 && ExtentsOf(shape.DropFirst(), spec.format).channels == spec.channels) {
    return absl::OkStatus();
  }
  return InvalidArgument(kName, ": shape ", shape.ToString(), ", expected images of ",
                         spec.channels, " channels");
}

template <typename T>
struct ChannelSoftmaxForward {
  using W = Wide<T>;
  ImageGrid grid;
  ImageView<const T> x;
  ImageView<W> y;

  void Declare(int64_t, gpu::Accesses& accesses) {
    x.Declare(grid, accesses);
    y.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t pixels = grid.height * grid.width, image = i / pixels, pixel = i % pixels;
    const T* const from = x.data + image * x.image + pixel * x.pixel;
    W* const to = y.data + image * y.image + pixel * y.pixel;
    W largest = W(from[0]);
    for (int64_t c = 1; c < grid.channels; ++c) {
      const W value = W(from[c * x.channel]);
      largest = largest < value ? value : largest;
    }
    W sum = 0;
    for (int64_t c = 0; c < grid.channels; ++c) {
      const W e = std::exp(W(from[c * x.channel]) - largest);
      to[c * y.channel] = e;
      sum += e;
    }
    const W factor = 1 / sum;
    for (int64_t c = 0; c < grid.channels; ++c) to[c * y.channel] *= factor;
  }
};

template <typename T>
struct ChannelSoftmaxBackward {
  using W = Wide<T>;
  ImageGrid grid;
  bool accumulate;
  ImageView<const W> y, dy;
  ImageView<T> dx;

  void Declare(int64_t, gpu::Accesses& accesses) {
    y.Declare(grid, accesses);
    dy.Declare(grid, accesses);
    dx.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t pixels = grid.height * grid.width, image = i / pixels, pixel = i % pixels;
    const W* const p = y.data + image * y.image + pixel * y.pixel;
    const W* const from = dy.data + image * dy.image + pixel * dy.pixel;
    T* const to = dx.data + image * dx.image + pixel * dx.pixel;
    W dot = 0;
    for (int64_t c = 0; c < grid.channels; ++c) dot += p[c * y.channel] * from[c * dy.channel];
    for (int64_t c = 0; c < grid.channels; ++c) {
      const W gradient = p[c * y.channel] * (from[c * dy.channel] - dot);
      T& result = to[c * dx.channel];
      result = T(accumulate ? W(result) + gradient : gradient);
    }
  }
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_CHANNEL_SOFTMAX_BODIES_H_
