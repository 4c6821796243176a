// Backward filter of variant gemm: the transposed patch matrix times dy, summed over all pixels.
//
// Blocks of channels x filters of one tap stay in registers while the pixels stream by, in the
// images themselves: the results that a tap gives something to are a rectangle of every image, so
// that pixels whose tap falls into the padding are left out, not multiplied by zero. What would be
// read many times in short pieces far apart is copied first, a strip of pixels at a time: dy where
// many blocks read it or its filters are not whole vectors, x where it has many channels and the
// kernel has a single tap.

#ifndef DTNN_KERNELS_CONV_GEMM_FILTER_GEMM_H_
#define DTNN_KERNELS_CONV_GEMM_FILTER_GEMM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/conv/gemm/gemm_cpu.h"
#include "kernels/conv/geometry/partial_sums.h"
#include "kernels/conv/geometry/phases.h"
#include "kernels/conv/kernel.h"

namespace dtnn::conv::gemm {

template <typename T>
class FilterGemm final : public FilterKernel<T> {
 public:
  using typename FilterKernel<T>::Gradient;

  explicit FilterGemm(const Conv2dSpec& spec);

  size_t workspace_bytes() const override {
    return sums_.bytes() + size_t(threads_) * thread_bytes();
  }
  void Sum(const Images<const T>& x, const Images<const T>& dy, int64_t images, bool first,
           const Gradient& gradient, std::byte* workspace) const override;
  void Write(const Gradient& gradient, std::byte* workspace) const override;

 private:
  struct Job;  // one call
  // Results that are summed together: rows [row, row + rows) of `images` images from `image` on.
  struct Strip {
    int64_t image, images, row, rows;
  };

  struct Copies {  // one thread's, of a strip
    T *x, *dy;
    size_t bytes;
  };

  // The results along an axis whose input at the offset of a tap exists.
  struct Range {
    int64_t begin, end;
  };
  static std::vector<Range> RangesOf(const Phase& phase);
  struct Prefetch {  // memory that a strip reads: so many elements of x, then those of dy
    const T *x, *dy;
    int64_t x_elements, dy_elements;

    int64_t elements() const { return x_elements + dy_elements; }
    const T* At(int64_t i) const { return i < x_elements ? x + i : dy + (i - x_elements); }
  };

  // With `pointwise_pixels` of each image as images of their own.
  FilterGemm(const Conv2dSpec& spec, int64_t pointwise_pixels);
  bool pointwise() const { return pointwise_pixels_ > 0; }
  void SumStrips(const Job& job) const;
  // Strips of a number of images.
  int64_t Strips(int64_t images) const;
  Strip StripAt(int64_t index, int64_t images) const;
  void SumPart(const Job& job, int64_t part, int64_t first_block, int64_t last_block,
               const Copies& copies) const;
  // Meanwhile prefetches the operands of `next`, which may be empty.
  void SumStrip(const Job& job, const Strip& strip, const Strip& next, T* sums, bool start,
                int64_t first_block, int64_t last_block, const Copies& copies) const;
  Prefetch PrefetchOf(const Job& job, const Strip& strip) const;
  void SumBias(const Job& job, const Strip& strip, T* bias) const;
  void CopyGradient(const Job& job, const Strip& strip, T* copy) const;
  void CopyInput(const Job& job, const Strip& strip, int64_t first_block, int64_t last_block,
                 T* copy) const;
  // Whether the only partial sum is the gradient itself.
  bool WritesGradient(const Gradient& gradient) const;

  int64_t panel_width() const { return 2 * kernels_.lanes; }
  // Filters, rounded up to whole vectors.
  int64_t padded_filters() const { return sums_.pitch(); }
  bool CopiesInput() const { return taps() == 1 && channels_ >= 256 && filters_ > panel_width(); }
  bool CopiesGradient() const;
  // Rows of pixels at one distance from each other.
  int64_t RowsOf(const Strip& strip) const { return pointwise() ? 1 : strip.images * strip.rows; }
  int64_t PixelsOfRow(const Strip& strip) const {
    return pointwise() ? strip.images : horizontal_.count;
  }
  int64_t InPanel(int64_t pixels) const;
  Copies Divide(std::byte* memory) const;
  size_t thread_bytes() const { return Divide(nullptr).bytes; }
  int64_t taps() const { return int64_t(vertical_.taps.size()) * int64_t(horizontal_.taps.size()); }

  const Kernels<T>& kernels_;
  int64_t pointwise_pixels_;  // of an image, each of which is an image of its own; or 0
  int64_t channels_, filters_;
  Phase vertical_, horizontal_;
  std::vector<Range> row_ranges_, column_ranges_;  // of each tap
  int64_t strip_images_, strip_rows_;
  int64_t blocks_per_tap_, block_channels_;
  PartialSums<T> sums_;
  int threads_;
};

}  // namespace dtnn::conv::gemm

#endif  // DTNN_KERNELS_CONV_GEMM_FILTER_GEMM_H_
