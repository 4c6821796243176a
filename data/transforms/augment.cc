#include "data/transforms/augment.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "tensor/philox.h"

namespace dtnn {
namespace {

// An image as planes of rows: one plane of pixels of several elements, or one per channel.
struct Rows {
  int64_t planes, height, width, pixel;  // pixel: elements of one

  Rows(const ImageExtents& extents, TensorFormat format)
      : planes(format == TensorFormat::kNHWC ? 1 : extents.channels),
        height(extents.height),
        width(extents.width),
        pixel(format == TensorFormat::kNHWC ? extents.channels : 1) {}
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

template <typename T>
void Apply(const Augmentation& augmentation, uint64_t seed, int64_t epoch, int64_t place,
           const ImageExtents& extents, TensorFormat format, std::span<T> sample) {
  const Philox random(seed, StreamId(RandomPurpose::kAugment, uint64_t(epoch)));
  // Two blocks for every place, so that no option shifts the numbers of another.
  const std::array<uint32_t, 4> coins = random.Block(2 * uint64_t(place));
  if (Philox::ToUnit(coins[0]) < augmentation.flip) FlipLeftRight(extents, format, sample);
  if (!(Philox::ToUnit(coins[1]) < augmentation.crop)) return;
  const std::array<uint32_t, 4> places = random.Block(2 * uint64_t(place) + 1);
  const int64_t size = std::min({augmentation.crop_size, extents.height, extents.width});
  // Uniform over the places at which a window fits.
  const auto draw = [&](int i, int64_t side) {
    return int64_t((uint64_t{places[i]} * uint64_t(side - size + 1)) >> 32);
  };
  MoveWindow({.size = size,
              .top = draw(0, extents.height),
              .left = draw(1, extents.width),
              .to_top = draw(2, extents.height),
              .to_left = draw(3, extents.width)},
             extents, format, sample);
}

absl::Status CheckProbability(std::string_view what, double probability) {
  if (probability >= 0 && probability <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the probability of ", std::string(what),
                                                 " must be in [0, 1], not ", probability));
}

}  // namespace

absl::Status CheckAugmentation(const Augmentation& augmentation) {
  absl::Status status = CheckProbability("a flip", augmentation.flip);
  if (status.ok()) status = CheckProbability("a crop", augmentation.crop);
  if (status.ok() && augmentation.crop_size < 1) {
    status = absl::InvalidArgumentError(
        absl::StrCat("the size of a crop must be at least 1, not ", augmentation.crop_size));
  }
  return status;
}

template <typename T>
void FlipLeftRight(const ImageExtents& extents, TensorFormat format, std::span<T> sample) {
  const Rows rows(extents, format);
  const int64_t pitch = rows.width * rows.pixel;
  const auto mirror = rows.pixel == 1   ? MirrorRow<1, T>
                      : rows.pixel == 3 ? MirrorRow<3, T>
                                        : MirrorRow<0, T>;
  for (int64_t y = 0; y < rows.planes * rows.height; ++y) {
    mirror(sample.data() + y * pitch, rows.width, rows.pixel);
  }
}

template <typename T>
void MoveWindow(const CropMove& move, const ImageExtents& extents, TensorFormat format,
                std::span<T> sample) {
  assert(move.top >= 0 && move.top + move.size <= extents.height);
  assert(move.to_left >= 0 && move.to_left + move.size <= extents.width);
  if (move.size == extents.height && move.size == extents.width) return;
  const Rows rows(extents, format);
  const int64_t pitch = rows.width * rows.pixel;
  const int64_t length = move.size * rows.pixel;
  const int64_t before = move.to_left * rows.pixel, behind = pitch - before - length;
  for (int64_t plane = 0; plane < rows.planes; ++plane) {
    T* first = sample.data() + plane * rows.height * pitch;
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
      std::fill_n(to + length, behind, T(0));
    }
    std::fill_n(first, move.to_top * pitch, T(0));
    std::fill(first + (move.to_top + move.size) * pitch, first + rows.height * pitch, T(0));
  }
}

template void FlipLeftRight(const ImageExtents&, TensorFormat, std::span<float>);
template void FlipLeftRight(const ImageExtents&, TensorFormat, std::span<double>);
template void MoveWindow(const CropMove&, const ImageExtents&, TensorFormat, std::span<float>);
template void MoveWindow(const CropMove&, const ImageExtents&, TensorFormat, std::span<double>);

void Augment(const Augmentation& augmentation, uint64_t seed, int64_t epoch, int64_t place,
             const ImageExtents& extents, TensorFormat format, std::span<float> sample) {
  Apply(augmentation, seed, epoch, place, extents, format, sample);
}

void Augment(const Augmentation& augmentation, uint64_t seed, int64_t epoch, int64_t place,
             const ImageExtents& extents, TensorFormat format, std::span<double> sample) {
  Apply(augmentation, seed, epoch, place, extents, format, sample);
}

}  // namespace dtnn
