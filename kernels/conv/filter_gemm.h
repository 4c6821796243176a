// Backward filter of variant i2c: the transposed patch matrix times dy, summed over all pixels.
//
// Blocks of up to 12 patch elements x two vectors of filters stay in registers while the pixels
// stream by; pixels whose tap falls into the padding are left out, not multiplied by zero. The
// pixels are divided into a number of partial sums that depends on the spec alone, each summed in
// order by one thread, and the partial sums are added in order: the result is the same on any
// number of threads.

#ifndef DTNN_KERNELS_CONV_FILTER_GEMM_H_
#define DTNN_KERNELS_CONV_FILTER_GEMM_H_

#include <cstddef>
#include <cstdint>

#include "kernels/conv/i2c_cpu.h"
#include "kernels/conv/im2col.h"

namespace dtnn::i2c {

template <typename T>
class FilterGemm {
 public:
  // `images`: the largest number of a call.
  FilterGemm(Gather forward, FilterStrides strides, int64_t images);

  size_t shared_bytes() const;  // partial sums
  size_t thread_bytes() const;  // scratch of one thread

  // What the sums become: dfilter = (accumulate ? dfilter : 0) + sum, and dbias likewise unless
  // null.
  struct Gradient {
    T* dfilter;
    T* dbias;
    bool accumulate;
  };

  // Adds the images of a call to the partial sums, or starts them anew. A batch may come in several
  // calls, always divided in the same way; Finish follows the last.
  void Run(Pixels<const T> x, Pixels<const T> dy, int64_t images, bool start,
           const Gradient& gradient, std::byte* shared, int threads, std::byte* scratch) const;
  void Finish(const std::byte* shared, const Gradient& gradient) const;

 private:
  struct Job;      // one call
  struct Scratch;  // one thread's
  struct Shared;
  Scratch Divide(std::byte* scratch) const;
  Shared DivideShared(std::byte* shared) const;
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
  FilterStrides strides_;
  bool copies_patches_;
  int64_t tap_rows_;        // patch elements that are neighbours in memory
  int64_t padded_columns_;  // filters rounded up to whole vectors
  int64_t parts_;           // partial sums
  bool direct_;             // the only partial sum is the gradient itself
};

}  // namespace dtnn::i2c

#endif  // DTNN_KERNELS_CONV_FILTER_GEMM_H_
