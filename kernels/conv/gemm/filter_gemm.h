// Backward filter of variant gemm: the transposed patch matrix times dy, summed over all pixels.
//
// Blocks of channels x filters of one tap stay in registers while the pixels stream by, in the
// images themselves: the results that a tap gives something to are a rectangle of every image, so
// that pixels whose tap falls into the padding are left out, not multiplied by zero.

#ifndef DTNN_KERNELS_CONV_GEMM_FILTER_GEMM_H_
#define DTNN_KERNELS_CONV_GEMM_FILTER_GEMM_H_

#include <cstddef>
#include <cstdint>

#include "kernels/conv/gemm/gemm_cpu.h"
#include "kernels/conv/kernel.h"
#include "kernels/conv/partial_sums.h"
#include "kernels/conv/phases.h"

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

  // Strips of a number of images.
  int64_t Strips(int64_t images) const;
  Strip StripAt(int64_t index, int64_t images) const;
  void SumPart(const Job& job, int64_t part, int64_t first_block, int64_t last_block,
               T* tail) const;
  void SumStrip(const Job& job, const Strip& strip, T* sums, bool start, int64_t first_block,
                int64_t last_block, T* tail) const;
  void SumBias(const Job& job, const Strip& strip, T* bias) const;
  void CopyTail(const Job& job, const Strip& strip, T* tail) const;
  // Whether the only partial sum is the gradient itself.
  bool WritesGradient(const Gradient& gradient) const;

  int64_t panel_width() const { return 2 * kernels_.lanes; }
  // Of filters rounded up to whole vectors.
  int64_t padded_filters() const { return sums_.pitch(); }
  // Of filters that fill vectors.
  int64_t whole_filters() const { return filters_ / kernels_.lanes * kernels_.lanes; }
  int64_t tail_width() const { return padded_filters() - whole_filters(); }
  size_t thread_bytes() const;
  int64_t taps() const { return int64_t(vertical_.taps.size()) * int64_t(horizontal_.taps.size()); }

  const Kernels<T>& kernels_;
  int64_t channels_, filters_;
  Phase vertical_, horizontal_;
  int64_t strip_images_, strip_rows_;
  int64_t block_channels_, blocks_per_tap_;
  PartialSums<T> sums_;
  int threads_;
};

}  // namespace dtnn::conv::gemm

#endif  // DTNN_KERNELS_CONV_GEMM_FILTER_GEMM_H_
