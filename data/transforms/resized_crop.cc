#include "data/transforms/resized_crop.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr ResizedCropOptions kStandard = {};
constexpr double kLargestRatio = 100;
constexpr TransformParameter kParameters[] = {{.name = "area_low",
                                               .meaning = "smallest share of the area that is kept",
                                               .standard = kStandard.area_low,
                                               .low = 1e-4,
                                               .high = 1},
                                              {.name = "area_high",
                                               .meaning = "largest share of the area that is kept",
                                               .standard = kStandard.area_high,
                                               .low = 1e-4,
                                               .high = 1},
                                              {.name = "ratio_low",
                                               .meaning = "smallest width / height of the part",
                                               .standard = kStandard.ratio_low,
                                               .low = 1 / kLargestRatio,
                                               .high = kLargestRatio},
                                              {.name = "ratio_high",
                                               .meaning = "largest width / height of the part",
                                               .standard = kStandard.ratio_high,
                                               .low = 1 / kLargestRatio,
                                               .high = kLargestRatio}};

class ResizedCropTransform final : public TransformOf<ResizedCropTransform> {
 public:
  explicit ResizedCropTransform(const ResizedCropOptions& options)
      : TransformOf(ResizedCropKind(),
                    {options.area_low, options.area_high, options.ratio_low, options.ratio_high}),
        options_(options) {}

  absl::Status Fits(const ImageExtents&, const Preprocessing&) const override {
    const auto ordered = [](const char* what, double low, double high) {
      if (low <= high) return absl::OkStatus();
      return InvalidArgument("resized_crop: ", what, "_low, ", low, ", is above ", what, "_high, ",
                             high);
    };
    const absl::Status area = ordered("area", options_.area_low, options_.area_high);
    return area.ok() ? ordered("ratio", options_.ratio_low, options_.ratio_high) : area;
  }

  template <typename T>
  void Run(const SampleImage<T>& image, const SampleRandom& random) const {
    Enlarge(DrawWindow(options_, image.extents, random), image);
  }

 private:
  const ResizedCropOptions options_;
};

}  // namespace

std::shared_ptr<const Transform> ResizedCrop(const ResizedCropOptions& options) {
  return std::make_shared<ResizedCropTransform>(options);
}

const TransformKind& ResizedCropKind() {
  static constexpr TransformKind kKind = {
      .name = "resized_crop",
      .effect = "keeps a random part and resizes it to the size of the image",
      .stream = 5,
      .parameters = kParameters,
      .make = [](std::span<const double> values) {
        return ResizedCrop({values[0], values[1], values[2], values[3]});
      }};
  return kKind;
}

WarpWindow DrawWindow(const ResizedCropOptions& options, const ImageExtents& extents,
                      const SampleRandom& random) {
  const int64_t height = extents.height, width = extents.width;
  const double low = std::log(options.ratio_low), high = std::log(options.ratio_high);
  constexpr int kAttempts = 10;
  for (int i = 0; i < kAttempts; ++i) {
    const double area =
        double(height * width) * random.Between(4 * i, options.area_low, options.area_high);
    const double ratio = std::exp(random.Between(4 * i + 1, low, high));
    const int64_t h = std::llround(std::sqrt(area / ratio));
    const int64_t w = std::llround(std::sqrt(area * ratio));
    if (h < 1 || w < 1 || h > height || w > width) continue;
    return {.top = random.Below(4 * i + 2, height - h + 1),
            .left = random.Below(4 * i + 3, width - w + 1),
            .height = h,
            .width = w};
  }
  const double ratio =
      std::clamp(double(width) / double(height), options.ratio_low, options.ratio_high);
  const int64_t h = std::clamp<int64_t>(std::llround(double(width) / ratio), 1, height);
  const int64_t w = std::clamp<int64_t>(std::llround(double(height) * ratio), 1, width);
  return {.top = (height - h) / 2, .left = (width - w) / 2, .height = h, .width = w};
}

template <typename T>
void Enlarge(const WarpWindow& window, const SampleImage<T>& image) {
  if (window.height == image.extents.height && window.width == image.extents.width) return;
  const double down = double(window.height) / double(image.extents.height);
  const double across = double(window.width) / double(image.extents.width);
  Warp({.y0 = double(window.top) + 0.5 * down - 0.5,
        .yy = down,
        .x0 = double(window.left) + 0.5 * across - 0.5,
        .xx = across},
       window, Outside::kEdge, image);
}

template void Enlarge(const WarpWindow&, const SampleImage<float>&);
template void Enlarge(const WarpWindow&, const SampleImage<double>&);

}  // namespace dtnn
