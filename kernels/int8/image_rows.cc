#include "kernels/int8/image_rows.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "tensor/rounding.h"

namespace dtnn::int8 {

ImageRows::ImageRows(const Conv2dSpec& spec, int element_bytes)
    : spec_(spec), element_bytes_(element_bytes), channels_(spec.channels / spec.groups) {
  const Pair &kernel = spec.kernel, &stride = spec.stride, &dilation = spec.dilation;
  const int64_t pixels = (spec.out_width() - 1) * stride.horizontal +
                         (kernel.horizontal - 1) * dilation.horizontal + 1;
  pitch_ = CeilDiv(pixels, stride.horizontal);
  pixel_step_ = stride.horizontal * channels_ * element_bytes;
  // Taps of a row side by side are one run.
  const int64_t taps = dilation.horizontal == 1 ? kernel.horizontal : 1;
  run_bytes_ = taps * channels_ * element_bytes;
  run_count_ = kernel.vertical * (kernel.horizontal / taps);
  more_rows_ = (kernel.vertical - 1) * dilation.vertical / stride.vertical;
  for (int64_t tap = 0; tap < kernel.vertical; ++tap) {
    const int64_t phase = tap * dilation.vertical % stride.vertical;
    const auto found = std::ranges::find(phases_, phase);
    tap_phase_.push_back(found - phases_.begin());
    if (found == phases_.end()) phases_.push_back(phase);
  }
}

void ImageRows::Runs(int64_t images, int64_t rows, int64_t* runs) const {
  const int64_t phase_bytes = images * PhaseRows(rows) * RowBytes();
  const int64_t runs_of_row = run_count_ / spec_.kernel.vertical;
  for (int64_t tap = 0; tap < spec_.kernel.vertical; ++tap) {
    const int64_t row = tap * spec_.dilation.vertical / spec_.stride.vertical;
    for (int64_t x = 0; x < runs_of_row; ++x) {
      *runs++ = tap_phase_[size_t(tap)] * phase_bytes + row * RowBytes() +
                x * spec_.dilation.horizontal * channels_ * element_bytes_;
    }
  }
}

template <typename E>
void ImageRows::CopyRow(const uint8_t* row, int64_t pixel_pitch, uint8_t zero_point, E* to) const {
  const int64_t pixels = pitch_ * spec_.stride.horizontal;
  const int64_t before = std::min(spec_.padding.horizontal, pixels);
  const int64_t inside = std::clamp<int64_t>(pixels - before, 0, spec_.width);
  to = std::fill_n(to, before * channels_, E{zero_point});
  if (pixel_pitch == channels_) {
    std::copy_n(row, inside * channels_, to);
  } else {
    for (int64_t x = 0; x < inside; ++x) {
      std::copy_n(row + x * pixel_pitch, channels_, to + x * channels_);
    }
  }
  std::fill_n(to + inside * channels_, (pixels - before - inside) * channels_, E{zero_point});
}

template <typename E>
void ImageRows::CopyAll(const uint8_t* begin, int64_t pixel_pitch, int64_t images, int64_t y,
                        int64_t rows, uint8_t zero_point, std::byte* to) const {
  for (const int64_t phase : phases_) {
    for (int64_t image = 0; image < images; ++image) {
      const uint8_t* const pixels = begin + image * spec_.height * spec_.width * pixel_pitch;
      for (int64_t i = 0; i < PhaseRows(rows); ++i, to += RowBytes()) {
        const int64_t from = (y + i) * spec_.stride.vertical + phase - spec_.padding.vertical;
        E* const row = reinterpret_cast<E*>(to);
        if (from < 0 || from >= spec_.height) {
          std::fill_n(row, pitch_ * spec_.stride.horizontal * channels_, E{zero_point});
        } else {
          CopyRow(pixels + from * spec_.width * pixel_pitch, pixel_pitch, zero_point, row);
        }
      }
    }
  }
}

void ImageRows::Copy(const uint8_t* images_begin, int64_t pixel_pitch, int64_t images,
                     int64_t channel, int64_t y, int64_t rows, uint8_t zero_point,
                     std::byte* to) const {
  const uint8_t* const begin = images_begin + channel;
  if (element_bytes_ == 1) {
    CopyAll<uint8_t>(begin, pixel_pitch, images, y, rows, zero_point, to);
  } else {
    CopyAll<int16_t>(begin, pixel_pitch, images, y, rows, zero_point, to);
  }
}

}  // namespace dtnn::int8
