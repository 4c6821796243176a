#include "data/transforms/pad_crop.h"

#include <algorithm>

#include "data/transforms/image_layout.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr TransformParameter kParameters[] = {
    {.name = "padding",
     .meaning = "pixels that are added on each side",
     .standard = 4,
     .low = 1,
     .high = 65536,
     .whole = true},
    {.name = "fill",
     .meaning = "what they contain: 0, or the mirrored image",
     .low = 0,
     .high = 1,
     .whole = true,
     .words = "zero,reflect"}};

class PadCropTransform final : public TransformOf<PadCropTransform> {
 public:
  explicit PadCropTransform(const PadCropOptions& options)
      : TransformOf(PadCropKind(), {double(options.padding), double(options.fill)}),
        options_(options) {}

  absl::Status Fits(const ImageExtents& extents, const Preprocessing&) const override {
    if (options_.padding < std::min(extents.height, extents.width)) return absl::OkStatus();
    return InvalidArgument("pad_crop: a padding of ", options_.padding,
                           " pixels could crop away all of the samples, ", extents.height, " x ",
                           extents.width);
  }

  bool moves_pixels() const override { return true; }
  PixelChange Change(const ImageExtents& extents, const SampleRandom& random) const override {
    const auto draw = [&](int i) {
      return int32_t(random.Below(i, 2 * options_.padding + 1) - options_.padding);
    };
    return {
        .kind = options_.fill == PadFill::kZero ? PixelChange::kMove : PixelChange::kMoveReflected,
        .bottom = int32_t(extents.height),
        .right = int32_t(extents.width),
        .down = draw(0),
        .across = draw(1)};
  }

  template <typename T>
  void Run(const SampleImage<T>& image, const SampleRandom& random) const {
    const PixelChange change = Change(image.extents, random);
    Shift(change.down, change.across, options_.fill, image);
  }

 private:
  const PadCropOptions options_;
};

// The place in 0 .. side - 1 that shows at `i`, of which fewer than `side` places are outside.
int64_t Reflected(int64_t i, int64_t side) {
  if (i < 0) return -i;
  return i < side ? i : 2 * (side - 1) - i;
}

}  // namespace

std::shared_ptr<const Transform> PadCrop(const PadCropOptions& options) {
  return std::make_shared<PadCropTransform>(options);
}

const TransformKind& PadCropKind() {
  static constexpr TransformKind kKind = {
      .name = "pad_crop",
      .effect = "pads images and keeps a random window of the original size",
      .stream = 2,
      .parameters = kParameters,
      .make = [](std::span<const double> values) {
        return PadCrop({.padding = int64_t(values[0]), .fill = PadFill(int(values[1]))});
      }};
  return kKind;
}

template <typename T>
void Shift(int64_t down, int64_t across, PadFill fill, const SampleImage<T>& image) {
  if (down == 0 && across == 0) return;
  const ImageRows rows(image.extents, image.format);
  const int64_t pitch = rows.pitch(), pixel = rows.pixel, width = rows.width;
  std::copy_n(image.values, image.size(), image.scratch);
  // Columns [begin, end) of the result are columns of the image.
  const int64_t begin = std::max<int64_t>(0, -across), end = std::min(width, width - across);
  for (int64_t plane = 0; plane < rows.planes; ++plane) {
    const T* from = image.scratch + plane * rows.height * pitch;
    T* to = image.values + plane * rows.height * pitch;
    for (int64_t y = 0; y < rows.height; ++y, to += pitch) {
      const bool inside = y + down >= 0 && y + down < rows.height;
      if (fill == PadFill::kZero && !inside) {
        std::fill_n(to, pitch, T(0));
        continue;
      }
      const T* row = from + Reflected(y + down, rows.height) * pitch;
      std::copy(row + (begin + across) * pixel, row + (end + across) * pixel, to + begin * pixel);
      if (fill == PadFill::kZero) {
        std::fill_n(to, begin * pixel, T(0));
        std::fill(to + end * pixel, to + pitch, T(0));
        continue;
      }
      const auto reflect = [&](int64_t x) {
        std::copy_n(row + Reflected(x + across, width) * pixel, pixel, to + x * pixel);
      };
      for (int64_t x = 0; x < begin; ++x) reflect(x);
      for (int64_t x = end; x < width; ++x) reflect(x);
    }
  }
}

template void Shift(int64_t, int64_t, PadFill, const SampleImage<float>&);
template void Shift(int64_t, int64_t, PadFill, const SampleImage<double>&);

}  // namespace dtnn
