// Backward filter of variant gemm: the transposed patch matrix times dy, summed over all pixels.
//
// Blocks of up to 12 patch elements x two vectors of filters stay in registers while the pixels
// stream by; pixels whose tap falls into the padding are left out, not multiplied by zero. The
// pixels are divided into a number of partial sums that depends on the spec alone, each summed in
// order by one thread, and the partial sums are added in order: the result is the same on any
// number of threads.

#ifndef DTNN_KERNELS_CONV_GEMM_FILTER_GEMM_H_
#define DTNN_KERNELS_CONV_GEMM_FILTER_GEMM_H_

#include <cstddef>
#include <cstdint>

#include "kernels/conv/gemm/gemm_cpu.h"
#include "kernels/conv/kernel.h"
#include "kernels/conv/partial_sums.h"
#include "kernels/conv/patches.h"

namespace dtnn::conv::gemm {

template <typename T>
class FilterGemm final : public FilterKernel<T> {
 public:
  using typename FilterKernel<T>::Gradient;

  explicit FilterGemm(const Conv2dSpec& spec);

  size_t workspace_bytes() const override;
  void Sum(const Images<const T>& x, const Images<const T>& dy, int64_t images, bool first,
           const Gradient& gradient, std::byte* workspace) const override;
  void Write(const Gradient& gradient, std::byte* workspace) const override;

 private:
  struct Job;      // one call
  struct Scratch;  // one thread's
  Scratch Divide(std::byte* scratch) const;
  size_t thread_bytes() const;
  // Of filters rounded up to whole vectors.
  int64_t padded_columns() const { return sums_.pitch(); }
  // Whether the only partial sum is the gradient itself.
  bool WritesGradient(const Gradient& gradient) const;
  void SumRows(const Job& job, int64_t part, int64_t first_row, int64_t last_row,
               const Scratch& scratch) const;
  void SumPixels(const Job& job, int64_t part, int64_t begin, int64_t end, bool start,
                 int64_t first_row, int64_t last_row, const Scratch& scratch) const;
  int64_t ListTap(const Job& job, int64_t tap, int64_t begin, int64_t end,
                  const Scratch& scratch) const;
  void ListPatches(const Job& job, int64_t begin, int64_t end, const Scratch& scratch) const;

  int64_t panel_width() const { return 2 * kernels_.lanes; }
  // Rows of blocks: of each tap, or of the whole patch.
  int64_t rows_per_tap() const { return (tap_rows_ + kernels_.max_rows - 1) / kernels_.max_rows; }
  int64_t rows() const { return rows_per_tap() * (copies_patches_ ? 1 : gather_.taps()); }

  const Kernels<T>& kernels_;
  Gather gather_;
  int threads_;
  bool copies_patches_;
  int64_t tap_rows_;  // patch elements that are neighbours in memory
  PartialSums<T> sums_;
};

}  // namespace dtnn::conv::gemm

#endif  // DTNN_KERNELS_CONV_GEMM_FILTER_GEMM_H_
