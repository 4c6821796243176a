#include "data/transforms/crop.h"

#include <algorithm>
#include <cassert>

#include "data/transforms/image_layout.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr TransformParameter kParameters[] = {{.name = "size",
                                               .meaning = "side of the window in pixels",
                                               .standard = 16,
                                               .low = 1,
                                               .high = 65536,
                                               .whole = true},
                                              {.name = "probability",
                                               .meaning = "how likely each image is cropped",
                                               .standard = 0.5,
                                               .low = 0,
                                               .high = 1}};

class CropTransform final : public TransformOf<CropTransform> {
 public:
  explicit CropTransform(const CropOptions& options)
      : TransformOf(CropKind(), {double(options.size), options.probability}), options_(options) {}

  absl::Status Fits(const ImageExtents& extents, const Preprocessing&) const override {
    if (options_.size < 1) {
      return InvalidArgument("crop: a window has 1 pixel or more, not ", options_.size);
    }
    if (options_.size <= std::min(extents.height, extents.width)) return absl::OkStatus();
    return InvalidArgument("crop: a window of ", options_.size,
                           " pixels is larger than the samples, ", extents.height, " x ",
                           extents.width);
  }

  bool moves_pixels() const override { return true; }
  PixelChange Change(const ImageExtents& extents, const SampleRandom& random) const override {
    if (!(random.Uniform(1) < options_.probability)) return {};
    // Uniform over the places at which a window fits.
    const auto draw = [&](int i, int64_t side) {
      return int32_t(random.Below(i, side - options_.size + 1));
    };
    const int32_t to_top = draw(6, extents.height), to_left = draw(7, extents.width);
    return {.kind = PixelChange::kMove,
            .top = to_top,
            .left = to_left,
            .bottom = to_top + int32_t(options_.size),
            .right = to_left + int32_t(options_.size),
            .down = draw(4, extents.height) - to_top,
            .across = draw(5, extents.width) - to_left};
  }

  template <typename T>
  void Run(const SampleImage<T>& image, const SampleRandom& random) const {
    const PixelChange change = Change(image.extents, random);
    if (change.kind == PixelChange::kNone) return;
    MoveWindow({.size = options_.size,
                .top = change.top + change.down,
                .left = change.left + change.across,
                .to_top = change.top,
                .to_left = change.left},
               image);
  }

 private:
  const CropOptions options_;
};

}  // namespace

std::shared_ptr<const Transform> Crop(const CropOptions& options) {
  return std::make_shared<CropTransform>(options);
}

const TransformKind& CropKind() {
  static constexpr TransformKind kKind = {
      .name = "crop",
      .effect = "keeps a random window and moves it to a random position; the rest becomes 0",
      .stream = 0,  // shared with flip, which takes other numbers of it
      .parameters = kParameters,
      .make = [](std::span<const double> values) {
        return Crop({.size = int64_t(values[0]), .probability = values[1]});
      }};
  return kKind;
}

template <typename T>
void MoveWindow(const CropMove& move, const SampleImage<T>& image) {
  const ImageExtents& extents = image.extents;
  assert(move.top >= 0 && move.top + move.size <= extents.height);
  assert(move.to_left >= 0 && move.to_left + move.size <= extents.width);
  if (move.size == extents.height && move.size == extents.width) return;
  const ImageRows rows(extents, image.format);
  const int64_t pitch = rows.pitch();
  const int64_t length = move.size * rows.pixel;
  const int64_t before = move.to_left * rows.pixel, after = pitch - before - length;
  for (int64_t plane = 0; plane < rows.planes; ++plane) {
    T* first = image.values + plane * rows.height * pitch;
    // Rows are moved in the order in which none is overwritten before it has been.
    for (int64_t i = 0; i < move.size; ++i) {
      const int64_t y = move.to_top <= move.top ? i : move.size - 1 - i;
      const T* from = first + (move.top + y) * pitch + move.left * rows.pixel;
      T* row = first + (move.to_top + y) * pitch;
      T* to = row + before;
      if (to <= from) {
        std::copy(from, from + length, to);
      } else {
        std::copy_backward(from, from + length, to + length);
      }
      std::fill_n(row, before, T(0));
      std::fill_n(to + length, after, T(0));
    }
    std::fill_n(first, move.to_top * pitch, T(0));
    std::fill(first + (move.to_top + move.size) * pitch, first + rows.height * pitch, T(0));
  }
}

template void MoveWindow(const CropMove&, const SampleImage<float>&);
template void MoveWindow(const CropMove&, const SampleImage<double>&);

}  // namespace dtnn
