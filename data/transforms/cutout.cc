#include "data/transforms/cutout.h"

#include <algorithm>

#include "data/transforms/channel_mean.h"
#include "data/transforms/image_layout.h"

namespace dtnn {
namespace {

constexpr TransformParameter kParameters[] = {
    {.name = "size",
     .meaning = "side of the square in pixels",
     .standard = 8,
     .low = 1,
     .high = 65536,
     .whole = true},
    {.name = "fill",
     .meaning = "what it is filled with: the image's mean colour, or 0",
     .low = 0,
     .high = 1,
     .whole = true,
     .words = "mean,zero"}};

class CutoutTransform final : public TransformOf<CutoutTransform> {
 public:
  explicit CutoutTransform(const CutoutOptions& options)
      : TransformOf(CutoutKind(), {double(options.size), double(options.fill)}),
        options_(options) {}

  // A mean is none of the bytes.
  bool moves_pixels() const override { return options_.fill == CutoutFill::kZero; }
  PixelChange Change(const ImageExtents& extents, const SampleRandom& random) const override {
    const int64_t height = extents.height, width = extents.width;
    const int64_t top = random.Below(0, height) - options_.size / 2;
    const int64_t left = random.Below(1, width) - options_.size / 2;
    return {.kind = PixelChange::kHide,
            .top = int32_t(std::max<int64_t>(top, 0)),
            .left = int32_t(std::max<int64_t>(left, 0)),
            .bottom = int32_t(std::min(top + options_.size, height)),
            .right = int32_t(std::min(left + options_.size, width))};
  }

  template <typename T>
  void Run(const SampleImage<T>& image, const SampleRandom& random) const {
    const PixelChange hole = Change(image.extents, random);
    const ImageStrides strides(image.extents, image.format);
    for (int64_t c = 0; c < image.extents.channels; ++c) {
      const T fill = options_.fill == CutoutFill::kMean ? T(ChannelMean(image, c)) : T(0);
      for (int64_t y = hole.top; y < hole.bottom; ++y) {
        T* row = image.values + c * strides.channel + y * strides.row;
        for (int64_t x = hole.left; x < hole.right; ++x) row[x * strides.column] = fill;
      }
    }
  }

 private:
  const CutoutOptions options_;
};

}  // namespace

std::shared_ptr<const Transform> Cutout(const CutoutOptions& options) {
  return std::make_shared<CutoutTransform>(options);
}

const TransformKind& CutoutKind() {
  static constexpr TransformKind kKind = {
      .name = "cutout",
      .effect = "fills a square at a random position",
      .stream = 3,
      .parameters = kParameters,
      .make = [](std::span<const double> values) {
        return Cutout({.size = int64_t(values[0]), .fill = CutoutFill(int(values[1]))});
      }};
  return kKind;
}

}  // namespace dtnn
