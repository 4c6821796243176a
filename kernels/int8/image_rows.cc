#include "kernels/int8/image_rows.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "tensor/rounding.h"

namespace dtnn::int8 {

namespace {

// The same as copy_n of as many; faster for one pixel.
template <typename E>
void CopyPixel(const uint8_t* from, int64_t channels, E* to) {
  constexpr int64_t kAtOnce = 16;
  int64_t c = 0;
  for (; c + kAtOnce <= channels; c += kAtOnce) std::copy_n(from + c, kAtOnce, to + c);
  for (; c < channels; ++c) to[c] = from[c];
}

// The taps of a row or column of a kernel that read inside of an image for result `at`.
std::pair<int64_t, int64_t> Inside(int64_t at, int64_t stride, int64_t dilation, int64_t padding,
                                   int64_t taps, int64_t extent) {
  const int64_t first = at * stride - padding;  // what tap 0 reads
  const int64_t begin = std::min(CeilDiv(std::max<int64_t>(-first, 0), dilation), taps);
  const int64_t end = CeilDiv(std::max<int64_t>(extent - first, 0), dilation);
  return {begin, std::clamp(end, begin, taps)};
}

}  // namespace

ImageRows::ImageRows(const Conv2dSpec& spec, const ProductKernel& kernel_of_products)
    : spec_(spec),
      element_bytes_(kernel_of_products.element_bytes),
      channels_(spec.channels / spec.groups) {
  const Pair &kernel = spec.kernel, &stride = spec.stride, &dilation = spec.dilation;
  const int64_t pixels = (spec.out_width() - 1) * stride.horizontal +
                         (kernel.horizontal - 1) * dilation.horizontal + 1;
  pitch_ = CeilDiv(pixels, stride.horizontal);
  pixel_step_ = stride.horizontal * pixel_bytes();
  const int64_t tap_bytes = pixel_bytes();
  const bool joins = dilation.horizontal == 1 && tap_bytes % kernel_of_products.tap_bytes != 0;
  run_taps_ = joins ? kernel.horizontal : 1;
  run_steps_ = CeilDiv(run_taps_ * tap_bytes, int64_t{kMostDepth});
  depth_ = int(RoundUp(CeilDiv(run_taps_ * tap_bytes, run_steps_), int64_t{kQuadBytes}));
  step_count_ = kernel.vertical * (kernel.horizontal / run_taps_) * run_steps_;
  more_rows_ = (kernel.vertical - 1) * dilation.vertical / stride.vertical;
  for (int64_t tap = 0; tap < kernel.vertical; ++tap) {
    const int64_t phase = tap * dilation.vertical % stride.vertical;
    const auto found = std::ranges::find(phases_, phase);
    tap_phase_.push_back(found - phases_.begin());
    if (found == phases_.end()) phases_.push_back(phase);
  }
}

ImageRows::Place ImageRows::PlaceOf(int64_t tap, int64_t channel) const {
  const int64_t runs = step_count_ / run_steps_;
  const int64_t byte = (tap % run_taps_ * channels_ + channel) * element_bytes_;
  return {byte / depth_ * runs + tap / run_taps_, byte % depth_};
}

Taps ImageRows::TapsInside(int64_t y, std::optional<int64_t> x) const {
  Taps taps = AllTaps();
  std::tie(taps.y, taps.y_end) =
      Inside(y, spec_.stride.vertical, spec_.dilation.vertical, spec_.padding.vertical,
             spec_.kernel.vertical, spec_.height);
  if (x && run_taps_ == 1) {
    std::tie(taps.x, taps.x_end) =
        Inside(*x, spec_.stride.horizontal, spec_.dilation.horizontal, spec_.padding.horizontal,
               spec_.kernel.horizontal, spec_.width);
  }
  return taps;
}

int64_t ImageRows::Steps(int64_t images, int64_t rows, bool interleaved, const Taps& taps,
                         Step* steps) const {
  const int64_t phase_bytes = images * PhaseRows(rows) * RowBytes();
  const int64_t side_by_side = interleaved ? images : 1;
  const int64_t panel_step = depth_ * int64_t{kPanelFilters};
  const int64_t runs = spec_.kernel.horizontal / run_taps_;  // of a row of the kernel
  Step* to = steps;
  for (int64_t step = 0; step < run_steps_; ++step) {
    for (int64_t y = taps.y; y < taps.y_end; ++y) {
      const int64_t row = y * spec_.dilation.vertical / spec_.stride.vertical;
      const int64_t of_row =
          tap_phase_[size_t(y)] * phase_bytes + row * RowBytes() * side_by_side + step * depth_;
      const int64_t before = (step * spec_.kernel.vertical + y) * runs;
      for (int64_t x = taps.x; x < taps.x_end; x += run_taps_) {
        *to++ = {of_row + x * spec_.dilation.horizontal * pixel_bytes() * side_by_side,
                 (before + x / run_taps_) * panel_step};
      }
    }
  }
  return to - steps;
}

template <typename E>
void ImageRows::CopyRow(const uint8_t* row, int64_t pixel_pitch, uint8_t zero_point, int64_t step,
                        E* to) const {
  const int64_t pixels = pitch_ * spec_.stride.horizontal;
  const int64_t before = std::min(spec_.padding.horizontal, pixels);
  const int64_t inside = row == nullptr ? 0 : std::clamp<int64_t>(pixels - before, 0, spec_.width);
  const bool dense = step == channels_;
  const auto fill = [&](int64_t begin, int64_t end) {
    if (dense) {
      std::fill_n(to + begin * step, (end - begin) * channels_, E{zero_point});
      return;
    }
    for (int64_t x = begin; x < end; ++x) std::fill_n(to + x * step, channels_, E{zero_point});
  };
  fill(0, before);
  if (dense && pixel_pitch == channels_) {
    std::copy_n(row, inside * channels_, to + before * step);
  } else {
    for (int64_t x = 0; x < inside; ++x) {
      CopyPixel(row + x * pixel_pitch, channels_, to + (before + x) * step);
    }
  }
  fill(before + inside, pixels);
}

template <typename E>
void ImageRows::CopyAll(const uint8_t* begin, int64_t pixel_pitch, int64_t images, int64_t y,
                        int64_t rows, uint8_t zero_point, bool interleaved, std::byte* to) const {
  const int64_t phase_rows = PhaseRows(rows);
  for (const int64_t phase : phases_) {
    for (int64_t image = 0; image < images; ++image) {
      const uint8_t* const pixels = begin + image * spec_.height * spec_.width * pixel_pitch;
      for (int64_t i = 0; i < phase_rows; ++i) {
        const int64_t from = (y + i) * spec_.stride.vertical + phase - spec_.padding.vertical;
        std::byte* const at = to + (interleaved ? i * images * RowBytes() + image * pixel_bytes()
                                                : (image * phase_rows + i) * RowBytes());
        CopyRow(
            from < 0 || from >= spec_.height ? nullptr : pixels + from * spec_.width * pixel_pitch,
            pixel_pitch, zero_point, (interleaved ? images : 1) * channels_,
            reinterpret_cast<E*>(at));
      }
    }
    to += images * phase_rows * RowBytes();
  }
}

void ImageRows::Copy(const uint8_t* images_begin, int64_t pixel_pitch, int64_t images,
                     int64_t channel, int64_t y, int64_t rows, uint8_t zero_point, bool interleaved,
                     std::byte* to) const {
  const uint8_t* const begin = images_begin + channel;
  if (element_bytes_ == 1) {
    CopyAll<uint8_t>(begin, pixel_pitch, images, y, rows, zero_point, interleaved, to);
  } else {
    CopyAll<int16_t>(begin, pixel_pitch, images, y, rows, zero_point, interleaved, to);
  }
}

}  // namespace dtnn::int8
