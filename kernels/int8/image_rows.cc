#include "kernels/int8/image_rows.h"

#include <algorithm>

#include "kernels/int8/products.h"
#include "tensor/rounding.h"

namespace dtnn::int8 {

ImageRows::ImageRows(const Conv2dSpec& spec, int element_bytes)
    : spec_(spec), element_bytes_(element_bytes), channels_(spec.channels / spec.groups) {
  const Pair &kernel = spec.kernel, &stride = spec.stride, &dilation = spec.dilation;
  const int64_t pixels = (spec.out_width() - 1) * stride.horizontal +
                         (kernel.horizontal - 1) * dilation.horizontal + 1;
  pitch_ = CeilDiv(pixels, stride.horizontal);
  pixel_step_ = stride.horizontal * channels_ * element_bytes;
  const int64_t tap_bytes = channels_ * element_bytes;
  run_taps_ = dilation.horizontal == 1 && tap_bytes % kMostDepth != 0 ? kernel.horizontal : 1;
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

void ImageRows::Steps(int64_t images, int64_t rows, bool interleaved, int64_t* steps) const {
  const int64_t phase_bytes = images * PhaseRows(rows) * RowBytes();
  const int64_t side_by_side = interleaved ? images : 1;
  for (int64_t step = 0; step < run_steps_; ++step) {
    for (int64_t y = 0; y < spec_.kernel.vertical; ++y) {
      const int64_t row = y * spec_.dilation.vertical / spec_.stride.vertical;
      for (int64_t x = 0; x < spec_.kernel.horizontal; x += run_taps_) {
        *steps++ =
            tap_phase_[size_t(y)] * phase_bytes +
            (row * RowBytes() + x * spec_.dilation.horizontal * pixel_bytes()) * side_by_side +
            step * depth_;
      }
    }
  }
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
      std::copy_n(row + x * pixel_pitch, channels_, to + (before + x) * step);
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
