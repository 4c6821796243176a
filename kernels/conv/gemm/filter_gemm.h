// Backward filter of variant gemm: the transposed patch matrix times dy, summed over all pixels.
//
// Blocks of channels x filters of one tap stay in registers while the pixels stream by, in the
// images themselves: the results that a tap gives something to are a rectangle of every image, so
// that pixels whose tap falls into the padding are left out, not multiplied by zero. What would be
// read in short pieces far apart is copied first, a strip of pixels at a time: dy where it has more
// filters than a block, x where the kernel has a single tap.

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
  // Pixels of so many channels are so far apart, or so near, that copying pays or does not.
  static constexpr int64_t kFar = 256, kNear = 64;
  struct Job;  // one call
  // Results that are summed together: rows [row, row + rows) of `images` images from `image` on.
  struct Strip {
    int64_t image, images, row, rows;
  };

  struct Copies {  // one thread's, of a strip
    T *x, *dy;
    size_t bytes;
  };

  // Strips of a number of images.
  int64_t Strips(int64_t images) const;
  Strip StripAt(int64_t index, int64_t images) const;
  void SumPart(const Job& job, int64_t part, int64_t first_block, int64_t last_block,
               const Copies& copies) const;
  void SumStrip(const Job& job, const Strip& strip, T* sums, bool start, int64_t first_block,
                int64_t last_block, const Copies& copies) const;
  void SumBias(const Job& job, const Strip& strip, T* bias) const;
  void CopyGradient(const Job& job, const Strip& strip, T* copy) const;
  void CopyInput(const Job& job, const Strip& strip, T* copy) const;
  // Whether the only partial sum is the gradient itself.
  bool WritesGradient(const Gradient& gradient) const;

  int64_t panel_width() const { return 2 * kernels_.lanes; }
  // Of filters rounded up to whole vectors.
  int64_t padded_filters() const { return sums_.pitch(); }
  bool CopiesInput() const { return taps() == 1 && channels_ >= kFar; }
  bool CopiesGradient() const { return filters_ > kNear || padded_filters() != filters_; }
  int64_t InPitch() const;
  Copies Divide(std::byte* memory) const;
  size_t thread_bytes() const { return Divide(nullptr).bytes; }
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
