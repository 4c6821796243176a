#include "data/transforms/rotate.h"

#include <cmath>
#include <numbers>

#include "data/transforms/warp.h"

namespace dtnn {
namespace {

constexpr TransformParameter kParameters[] = {{.name = "degrees",
                                               .meaning = "largest angle to either side",
                                               .standard = 15,
                                               .low = 0,
                                               .high = 180}};

class RotateTransform final : public TransformOf<RotateTransform> {
 public:
  explicit RotateTransform(const RotateOptions& options)
      : TransformOf(RotateKind(), {options.degrees}), degrees_(options.degrees) {}

  template <typename T>
  void Run(const SampleImage<T>& image, const SampleRandom& random) const {
    RotateImage(random.Between(0, -degrees_, degrees_), image);
  }

 private:
  const double degrees_;
};

}  // namespace

std::shared_ptr<const Transform> Rotate(const RotateOptions& options) {
  return std::make_shared<RotateTransform>(options);
}

const TransformKind& RotateKind() {
  static constexpr TransformKind kKind = {
      .name = "rotate",
      .effect = "rotates images by a random angle; what was outside of the image is 0",
      .stream = 4,
      .parameters = kParameters,
      .make = [](std::span<const double> values) { return Rotate({.degrees = values[0]}); }};
  return kKind;
}

template <typename T>
void RotateImage(double degrees, const SampleImage<T>& image) {
  if (degrees == 0) return;
  const double angle = degrees * std::numbers::pi / 180;
  const double sine = std::sin(angle), cosine = std::cos(angle);
  const double y = double(image.extents.height - 1) / 2, x = double(image.extents.width - 1) / 2;
  Warp({.y0 = y - cosine * y - sine * x,
        .yy = cosine,
        .yx = sine,
        .x0 = x + sine * y - cosine * x,
        .xy = -sine,
        .xx = cosine},
       {.height = image.extents.height, .width = image.extents.width}, Outside::kZero, image);
}

template void RotateImage(double, const SampleImage<float>&);
template void RotateImage(double, const SampleImage<double>&);

}  // namespace dtnn
