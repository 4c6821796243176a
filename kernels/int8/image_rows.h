// The pixels of some images as the products read them: rows of the padded image, those of a phase
// of the vertical stride one below another, so that the operands of consecutive results lie a fixed
// distance apart, on over the ends of rows and images. Results in between, of which a row has
// `pitch` - width, are thrown away.
//
//   phase 0: rows 0, s, 2s, ...   phase 1: rows 1, s + 1, ...   (s: the vertical stride)
//
// Result (image, y, x) of a block is its pixel (image * rows + y) * pitch + x. Or the pixels of all
// images that have the same place lie side by side, where steps allow it: then nothing is thrown
// away, on maps however small, and result (image, y, x) is pixel
// ((y * pitch + x) * horizontal stride) * images + image, in units of one pixel.

#ifndef DTNN_KERNELS_INT8_IMAGE_ROWS_H_
#define DTNN_KERNELS_INT8_IMAGE_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/conv/conv2d_spec.h"
#include "kernels/int8/products.h"

namespace dtnn::int8 {

// Rows [y, y_end) and columns [x, x_end) of a kernel.
struct Taps {
  int64_t y = 0, y_end = 0, x = 0, x_end = 0;
  friend bool operator==(const Taps&, const Taps&) = default;
};

// How operands lie in memory; of one group.
class ImageRows {
 public:
  // Elements of the kernel's bytes, 1 or 2: uint8 as they are, or as int16.
  ImageRows(const Conv2dSpec& spec, const ProductKernel& kernel);

  int64_t pitch() const { return pitch_; }            // results of a row, with those thrown away
  int64_t pixel_step() const { return pixel_step_; }  // bytes
  int depth() const { return depth_; }                // bytes of a step
  int64_t step_count() const { return step_count_; }  // of a pixel
  // Rows of a phase for `rows` rows of results.
  int64_t PhaseRows(int64_t rows) const { return rows + more_rows_; }
  // The size of a copy for `rows` rows of results of `images`, without what is read beyond its end.
  int64_t Bytes(int64_t images, int64_t rows) const {
    return int64_t(phases_.size()) * images * PhaseRows(rows) * RowBytes();
  }
  // Whether pixels of several images may lie side by side: no step has several pixels.
  bool may_interleave() const { return run_taps_ == 1; }
  int64_t pixel_bytes() const { return channels_ * element_bytes_; }
  Taps AllTaps() const { return {0, spec_.kernel.vertical, 0, spec_.kernel.horizontal}; }
  // The taps that read pixels of the image, and not padding, for result (y, x); without x those of
  // all results of row y.
  Taps TapsInside(int64_t y, std::optional<int64_t> x) const;
  // The steps of some taps; how many. Those that are read together are all there or none.
  int64_t Steps(int64_t images, int64_t rows, bool interleaved, const Taps& taps,
                Step* steps) const;
  // Where the operands of a pixel have a channel of a tap: the step, and the byte of it.
  struct Place {
    int64_t step, byte;
  };
  Place PlaceOf(int64_t tap, int64_t channel) const;

  // Copies what rows [y, y + rows) of the results read of channels [channel, ...) of `images`
  // images, whose pixels are `pixel_pitch` elements apart. What lies outside is `zero_point`.
  void Copy(const uint8_t* images_begin, int64_t pixel_pitch, int64_t images, int64_t channel,
            int64_t y, int64_t rows, uint8_t zero_point, bool interleaved, std::byte* to) const;

 private:
  int64_t RowBytes() const { return pitch_ * pixel_step_; }
  // `step`: elements from a pixel to the next of its row.
  template <typename E>
  void CopyRow(const uint8_t* row, int64_t pixel_pitch, uint8_t zero_point, int64_t step,
               E* to) const;
  template <typename E>
  void CopyAll(const uint8_t* begin, int64_t pixel_pitch, int64_t images, int64_t y, int64_t rows,
               uint8_t zero_point, bool interleaved, std::byte* to) const;

  Conv2dSpec spec_;
  int element_bytes_;
  int64_t channels_;  // of the group
  int64_t pitch_, pixel_step_, more_rows_, step_count_;
  // Taps of a row of the kernel whose bytes are divided into steps together, and these steps. Where
  // channels fill whole steps, all taps of some channels come first: they read almost the same
  // pixels, which then stay in the L1 cache.
  int64_t run_taps_, run_steps_;
  int depth_;
  std::vector<int64_t> phases_;     // that have taps
  std::vector<int64_t> tap_phase_;  // of each row of the kernel: index into phases_
};

}  // namespace dtnn::int8

#endif  // DTNN_KERNELS_INT8_IMAGE_ROWS_H_
