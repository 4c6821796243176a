#include "data/transforms/flip.h"

#include <algorithm>
#include <cstdint>

#include "data/transforms/image_layout.h"

namespace dtnn {
namespace {

constexpr TransformParameter kParameters[] = {{.name = "probability",
                                               .meaning = "how likely each image is mirrored",
                                               .standard = 0.5,
                                               .low = 0,
                                               .high = 1}};

class FlipTransform final : public TransformOf<FlipTransform> {
 public:
  explicit FlipTransform(const FlipOptions& options)
      : TransformOf(options.vertical ? VerticalFlipKind() : FlipKind(), {options.probability}),
        options_(options) {}

  bool moves_pixels() const override { return true; }
  PixelChange Change(const ImageExtents&, const SampleRandom& random) const override {
    if (!(random.Uniform(0) < options_.probability)) return {};
    return {.kind = options_.vertical ? PixelChange::kFlipRows : PixelChange::kFlipColumns};
  }

  template <typename T>
  void Run(const SampleImage<T>& image, const SampleRandom& random) const {
    if (Change(image.extents, random).kind == PixelChange::kNone) return;
    options_.vertical ? FlipTopBottom(image) : FlipLeftRight(image);
  }

 private:
  const FlipOptions options_;
};

template <int64_t kPixel, typename T>
void MirrorRow(T* row, int64_t width, int64_t pixel) {
  const int64_t elements = kPixel > 0 ? kPixel : pixel;
  T* left = row;
  T* right = row + (width - 1) * elements;
  for (; left < right; left += elements, right -= elements) {
    for (int64_t i = 0; i < elements; ++i) std::swap(left[i], right[i]);
  }
}

}  // namespace

std::shared_ptr<const Transform> Flip(const FlipOptions& options) {
  return std::make_shared<FlipTransform>(options);
}

const TransformKind& FlipKind() {
  static constexpr TransformKind kKind = {
      .name = "flip",
      .effect = "mirrors images left to right",
      .stream = 0,  // shared with crop, which takes other numbers of it
      .parameters = kParameters,
      .make = [](std::span<const double> values) { return Flip({.probability = values[0]}); }};
  return kKind;
}

const TransformKind& VerticalFlipKind() {
  static constexpr TransformKind kKind = {
      .name = "vertical_flip",
      .effect = "mirrors images top to bottom",
      .stream = 1,
      .parameters = kParameters,
      .make = [](std::span<const double> values) {
        return Flip({.probability = values[0], .vertical = true});
      }};
  return kKind;
}

template <typename T>
void FlipLeftRight(const SampleImage<T>& image) {
  const ImageRows rows(image.extents, image.format);
  const auto mirror = rows.pixel == 1   ? MirrorRow<1, T>
                      : rows.pixel == 3 ? MirrorRow<3, T>
                                        : MirrorRow<0, T>;
  for (int64_t y = 0; y < rows.planes * rows.height; ++y) {
    mirror(image.values + y * rows.pitch(), rows.width, rows.pixel);
  }
}

template <typename T>
void FlipTopBottom(const SampleImage<T>& image) {
  const ImageRows rows(image.extents, image.format);
  for (int64_t plane = 0; plane < rows.planes; ++plane) {
    T* first = image.values + plane * rows.height * rows.pitch();
    for (int64_t top = 0, bottom = rows.height - 1; top < bottom; ++top, --bottom) {
      T* row = first + top * rows.pitch();
      std::swap_ranges(row, row + rows.pitch(), first + bottom * rows.pitch());
    }
  }
}

template void FlipLeftRight(const SampleImage<float>&);
template void FlipLeftRight(const SampleImage<double>&);
template void FlipTopBottom(const SampleImage<float>&);
template void FlipTopBottom(const SampleImage<double>&);

}  // namespace dtnn
