// What CPUs and GPUs do for each pixel, numbered image by image, and what both check before it.

#ifndef DTNN_KERNELS_PIXEL_LOSS_BODIES_H_
#define DTNN_KERNELS_PIXEL_LOSS_BODIES_H_

#include <cmath>

#include "absl/status/status.h"
#include "kernels/gpu/images.h"
#include "kernels/operands/operand.h"
#include "kernels/pixel_loss/pixel_loss.h"
#include "tensor/errors.h"

namespace dtnn {

// The scratch tensors of a primitive, all float64: the losses of pixels, and for each image 1 by
// its labelled pixels, or 0.
struct PixelLossScratch {
  Tensor losses, shares;
  Tensor class_weights;  // empty: all 1
};

inline absl::Status CheckPixelLoss(const PixelLossSpec& spec, Device device, const Tensor& x,
                                   const Tensor& labels, const Tensor& probabilities,
                                   const Tensor& losses, const Tensor& dx) {
  constexpr std::string_view kName = "pixel loss";
  const int64_t n = x.shape().rank() == 4 ? x.shape()[0] : 0;
  if (n < 1 || n > spec.images) {
    return InvalidArgument(kName, ": x is ", x.shape().ToString(), ", expected 1 to ", spec.images,
                           " images");
  }
  const Shape images = SampleShape(spec.image, spec.format).Prepend(n);
  const DType wide = WideOf(spec.dtype);
  DTNN_RETURN_IF_ERROR(CheckOperand(kName, "x", x, device, spec.dtype, images, Pitch::kAllowed));
  DTNN_RETURN_IF_ERROR(CheckOperand(kName, "labels", labels, device, DType::kInt32,
                                    Shape{n, spec.image.height, spec.image.width}, Pitch::kNone));
  if (spec.from_logits) {
    DTNN_RETURN_IF_ERROR(
        CheckOperand(kName, "probabilities", probabilities, device, wide, images, Pitch::kAllowed));
  }
  if (!dx.empty()) {
    DTNN_RETURN_IF_ERROR(
        CheckOperand(kName, "dx", dx, device, spec.dtype, images, Pitch::kAllowed));
  }
  return CheckOperand(kName, "losses", losses, device, wide, Shape{n}, Pitch::kNone);
}

template <typename T>
struct PixelLossBody {
  using W = Wide<T>;
  ImageGrid grid;
  bool from_logits;
  double gradient_scale, smoothing;
  const float* loss_scale;      // null: 1
  const double* class_weights;  // null: all 1
  const int32_t* labels;
  const double* shares;
  double* losses;  // of pixels
  ImageView<const T> x;
  ImageView<W> probabilities;  // data is null where they are not wanted
  ImageView<T> dx;             // likewise

  void Declare(int64_t pixels, gpu::Accesses& accesses) {
    accesses.Reads(loss_scale, 1);
    accesses.Reads(class_weights, grid.channels);
    accesses.Reads(labels, pixels);
    accesses.Reads(shares, grid.images);
    accesses.Writes(losses, pixels);
    x.Declare(grid, accesses);
    probabilities.Declare(grid, accesses);
    dx.Declare(grid, accesses);
  }

  static constexpr double kLeastProbability = 1e-8;  // in logarithms
  DTNN_HOST_DEVICE static double Clip(double value, double least, double most) {
    return value < least ? least : (value > most ? most : value);  // a NaN passes
  }
  DTNN_HOST_DEVICE double WeightOf(int64_t c) const {
    return class_weights == nullptr ? 1 : class_weights[c];
  }
  // The parts of the target of class c: of the label, and of every pixel.
  DTNN_HOST_DEVICE double Share(int64_t c, int64_t label) const {
    return c == label ? (1 - smoothing) * WeightOf(c) : 0;
  }
  DTNN_HOST_DEVICE double Everywhere(int64_t c) const {
    return smoothing == 0 ? 0 : smoothing / double(grid.channels) * WeightOf(c);
  }

  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t pixels = grid.height * grid.width, image = i / pixels, pixel = i % pixels;
    const T* const from = x.data + image * x.image + pixel * x.pixel;
    T* const gradient =
        dx.data == nullptr ? nullptr : dx.data + image * dx.image + pixel * dx.pixel;
    const double scale = gradient_scale * shares[image] *
                         (loss_scale == nullptr || gradient == nullptr ? 1 : double(*loss_scale));
    if (from_logits) {
      W* const p = probabilities.data + image * probabilities.image + pixel * probabilities.pixel;
      losses[i] = OfLogits(from, labels[i], scale, p, gradient);
    } else {
      losses[i] = OfProbabilities(from, labels[i], scale, gradient);
    }
  }

 private:
  // Results may overwrite x: each element is read for the last time where it is written.
  DTNN_HOST_DEVICE double OfLogits(const T* from, int64_t label, double scale, W* p,
                                   T* gradient) const {
    double largest = double(W(from[0]));
    for (int64_t c = 1; c < grid.channels; ++c) {
      const double value = double(W(from[c * x.channel]));
      largest = largest < value ? value : largest;
    }
    double sum = 0, total = 1;  // of the target
    for (int64_t c = 0; c < grid.channels; ++c) {
      sum += std::exp(double(W(from[c * x.channel])) - largest);
    }
    if (class_weights != nullptr) {
      total = 0;
      for (int64_t c = 0; c < grid.channels; ++c) total += Share(c, label) + Everywhere(c);
    }
    const double log_sum = largest + std::log(sum);
    double loss = 0;
    for (int64_t c = 0; c < grid.channels; ++c) {
      const double log_p = double(W(from[c * x.channel])) - log_sum, q = std::exp(log_p);
      p[c * probabilities.channel] = W(q);
      const double share = Share(c, label), everywhere = Everywhere(c);
      if (share != 0) {
        loss -= share * Clip(log_p, std::log(kLeastProbability), std::log1p(-kLeastProbability));
      }
      if (everywhere != 0) loss -= everywhere * log_p;
      if (gradient == nullptr) continue;
      const double slope = label < 0 ? 0 : (total * q - share - everywhere) * scale;
      gradient[c * dx.channel] = T(W(slope));
    }
    return label < 0 ? 0 : loss;
  }

  DTNN_HOST_DEVICE double OfProbabilities(const T* from, int64_t label, double scale,
                                          T* gradient) const {
    double loss = 0;
    for (int64_t c = 0; c < grid.channels; ++c) {
      const double target = label < 0 ? 0 : Share(c, label) + Everywhere(c);
      const double p =
          Clip(double(W(from[c * x.channel])), kLeastProbability, 1 - kLeastProbability);
      if (target != 0) loss -= target * std::log(p);
      if (gradient == nullptr) continue;
      gradient[c * dx.channel] = T(W(target == 0 ? 0 : -target / p * scale));
    }
    return loss;
  }
};

// `T`: the type of x.
template <typename T>
PixelLossBody<T> PixelLossBodyOf(const PixelLossSpec& spec, const PixelLossScratch& scratch,
                                 const Tensor& x, const Tensor& labels, const Tensor& probabilities,
                                 const Tensor& dx, const GradientScale& scale) {
  return {
      ImageGrid::Of(x.shape(), spec.format),
      spec.from_logits,
      scale.factor,
      spec.label_smoothing,
      scale.on_device.empty() ? nullptr : scale.on_device.data<float>(),
      scratch.class_weights.empty() ? nullptr : scratch.class_weights.data<double>(),
      labels.data<int32_t>(),
      scratch.shares.data<double>(),
      scratch.losses.data<double>(),
      ImageView<const T>::Of(x, spec.format),
      spec.from_logits ? ImageView<Wide<T>>::Of(probabilities, spec.format) : ImageView<Wide<T>>{},
      ImageView<T>::Of(dx, spec.format)};
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_PIXEL_LOSS_BODIES_H_
