#include "data/transforms/color_jitter.h"

#include <algorithm>
#include <cstdint>

#include "data/transforms/channel_mean.h"
#include "data/transforms/image_layout.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr double kMost = 10;
constexpr TransformParameter kParameters[] = {{.name = "brightness",
                                               .meaning = "how far its factor is from 1",
                                               .standard = 0.4,
                                               .low = 0,
                                               .high = kMost},
                                              {.name = "contrast",
                                               .meaning = "how far its factor is from 1",
                                               .standard = 0.4,
                                               .low = 0,
                                               .high = kMost},
                                              {.name = "saturation",
                                               .meaning = "how far its factor is from 1",
                                               .standard = 0.4,
                                               .low = 0,
                                               .high = kMost}};

// Weights of red, green and blue.
constexpr double kGrey[3] = {0.299, 0.587, 0.114};

class ColorJitterTransform final : public TransformOf<ColorJitterTransform> {
 public:
  explicit ColorJitterTransform(const ColorJitterOptions& options)
      : TransformOf(ColorJitterKind(), {options.brightness, options.contrast, options.saturation}),
        options_(options) {}

  absl::Status Fits(const ImageExtents& extents, const Preprocessing& data) const override {
    if (extents.channels != 1 && extents.channels != 3) {
      return InvalidArgument("color_jitter: needs images of 1 or 3 channels, but the samples have ",
                             extents.channels);
    }
    if (data.input == Preprocessing::Input::kValues || data.normalization.any()) {
      return absl::InvalidArgumentError(
          "color_jitter: needs values of byte / 255, but those of the data set are others");
    }
    return absl::OkStatus();
  }

  bool keeps_places() const override { return true; }
  template <typename T>
  void Run(const SampleImage<T>& image, const SampleRandom& random) const {
    const auto factor = [&](int i, double strength) {
      return random.Between(i, std::max(0.0, 1 - strength), 1 + strength);
    };
    AdjustColors({.brightness = factor(0, options_.brightness),
                  .contrast = factor(1, options_.contrast),
                  .saturation = factor(2, options_.saturation)},
                 image);
  }

 private:
  const ColorJitterOptions options_;
};

// x = factor x + constant, held to [0, 1].
template <typename T>
void Blend(T factor, T constant, const SampleImage<T>& image) {
  for (int64_t i = 0; i < image.size(); ++i) {
    image.values[i] = std::clamp(factor * image.values[i] + constant, T(0), T(1));
  }
}

template <typename T>
double GreyWeight(const SampleImage<T>& image, int64_t channel) {
  if (image.extents.channels == 1) return 1;
  return kGrey[image.input == Preprocessing::Input::kBgr ? 2 - channel : channel];
}

template <typename T>
double MeanGrey(const SampleImage<T>& image) {
  double mean = 0;
  for (int64_t c = 0; c < image.extents.channels; ++c) {
    mean += GreyWeight(image, c) * ChannelMean(image, c);
  }
  return mean;
}

template <typename T>
void Saturate(T factor, const SampleImage<T>& image) {
  const ImageStrides strides(image.extents, image.format);
  const T weights[] = {T(GreyWeight(image, 0)), T(GreyWeight(image, 1)), T(GreyWeight(image, 2))};
  for (int64_t i = 0; i < image.extents.height * image.extents.width; ++i) {
    T* pixel = image.values + i * strides.column;
    T grey = 0;
    for (int64_t c = 0; c < 3; ++c) grey += weights[c] * pixel[c * strides.channel];
    for (int64_t c = 0; c < 3; ++c) {
      T& value = pixel[c * strides.channel];
      value = std::clamp(factor * value + (1 - factor) * grey, T(0), T(1));
    }
  }
}

}  // namespace

std::shared_ptr<const Transform> ColorJitter(const ColorJitterOptions& options) {
  return std::make_shared<ColorJitterTransform>(options);
}

const TransformKind& ColorJitterKind() {
  static constexpr TransformKind kKind = {
      .name = "color_jitter",
      .effect = "changes brightness, contrast and saturation by random factors",
      .stream = 6,
      .parameters = kParameters,
      .make = [](std::span<const double> values) {
        return ColorJitter({values[0], values[1], values[2]});
      }};
  return kKind;
}

template <typename T>
void AdjustColors(const ColorFactors& factors, const SampleImage<T>& image) {
  if (factors.brightness != 1) Blend(T(factors.brightness), T(0), image);
  if (factors.contrast != 1) {
    Blend(T(factors.contrast), T((1 - factors.contrast) * MeanGrey(image)), image);
  }
  if (factors.saturation != 1 && image.extents.channels == 3) {
    Saturate(T(factors.saturation), image);
  }
}

template void AdjustColors(const ColorFactors&, const SampleImage<float>&);
template void AdjustColors(const ColorFactors&, const SampleImage<double>&);

}  // namespace dtnn
