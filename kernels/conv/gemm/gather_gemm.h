// Forward and backward data of variant gemm: rows of the (implicit) patch matrix times the packed
// filter, with the epilogue in the write-back.
//
// The work is cut into blocks of results whose inputs lie a constant distance apart: some rows of
// one image, or on small maps the same pixel of several images. Where such a block touches the
// padding, or where its inputs would fall into the same few sets of the L1 cache, it is copied,
// once for all taps, with zeros around it and a better distance; else it is read where it is. On
// small maps taps in the padding are left out: a 3x3 kernel on a 2x2 map needs 4 of 9. So they are
// where inputs lie between the taps that no tap reads, of a dilation: what is copied then are the
// rows of each tap, and neighbours that have the same taps are computed together. With a
// stride, dx is computed phase by phase (geometry/phases.h), so that nothing is multiplied by the
// zeros between the strides. A few output channels are computed in vectors of the depth.

#ifndef DTNN_KERNELS_CONV_GEMM_GATHER_GEMM_H_
#define DTNN_KERNELS_CONV_GEMM_GATHER_GEMM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/conv/gemm/gemm_cpu.h"
#include "kernels/conv/geometry/phases.h"
#include "kernels/conv/geometry/untapped.h"
#include "kernels/conv/kernel.h"
#include "tensor/rounding.h"

namespace dtnn::conv::gemm {

template <typename T>
class GatherGemm final : public DataKernel<T> {
 public:
  using typename DataKernel<T>::Call;

  GatherGemm(const Conv2dSpec& spec, Direction direction);

  int64_t derived_elements() const override {
    return kernel_height_ * kernel_width_ * padded_depth_ * padded_out_channels();
  }
  void DeriveFilter(const Filter<const T>& filter, T* derived, std::byte* workspace) const override;
  size_t workspace_bytes() const override { return size_t(threads_) * thread_bytes(); }
  void Run(const Call& call) const override;

 private:
  // Results [row, row_end) x [column, column_end) of phases `vertical` and `horizontal`, of
  // `images` images from `image` on.
  struct Block {
    const Phase *vertical, *horizontal;
    int64_t image, images;
    int64_t row, row_end, column, column_end;
  };
  // Blocks of equal size of a pair of phases.
  struct Cut {
    const Phase *vertical, *horizontal;
    int64_t rows, columns;  // of a block
    int64_t row_blocks, column_blocks;
    int64_t first = 0;  // number of its first block, in those of all cuts
    int64_t blocks() const { return row_blocks * column_blocks; }
  };
  struct Scratch {  // one thread's
    T* copy;
    TapOffset* taps;
    size_t bytes;
  };

  // Inputs of a block, at most.
  int64_t BlockPixels() const;
  Cut CutPhases(const Phase& vertical, const Phase& horizontal) const;
  Block BlockAt(int64_t index, int64_t images) const;
  Scratch Divide(std::byte* memory) const;
  size_t thread_bytes() const { return Divide(nullptr).bytes; }
  int64_t CopyPitch(int64_t in_step) const;
  int64_t CopyElements(const Block& block) const;
  // Pixels of a row of a copy for some results, and its rows for some rows of them.
  int64_t LineOf(const Phase& horizontal, int64_t results) const;
  int64_t LinesOf(const Phase& vertical, int64_t rows) const;
  // Whether a list of taps has only those inside, and belongs to a pixel or a few neighbours.
  bool clips() const { return across_images_ || sparse_; }
  bool ReadsInPlace(const Block& block, const Images<const T>& in) const;
  Images<const T> Copy(const Block& block, const Images<const T>& in, T* copy) const;
  Images<const T> CopyTapRows(const Block& block, const Images<const T>& in, T* copy) const;
  Images<const T> CopyAcrossImages(const Block& block, const Images<const T>& in, T* copy) const;
  void RunBlock(const Call& call, const Block& block, int64_t first_panel, int64_t last_panel,
                const Scratch& scratch) const;
  void RunPanel(const Call& call, const Block& block, const Images<const T>& in,
                const Panel<T>& panel, const Scratch& scratch) const;
  int64_t ListTaps(const Block& block, const Images<const T>& in, int64_t row, int64_t column,
                   const Scratch& scratch) const;
  Panel<T> PanelAt(const Call& call, int64_t index) const;

  int64_t patch() const { return kernel_height_ * kernel_width_ * depth_; }
  // Whether vectors are of the depth, not of output channels.
  bool few_out_channels() const {
    return out_channels_ <= std::min(kFewOutChannels, kernels_.lanes - 1) &&
           depth_ >= kernels_.lanes;
  }
  // Output channels rounded up to whole vectors, or as many as there are.
  int64_t padded_out_channels() const {
    return few_out_channels() ? out_channels_ : RoundUp(out_channels_, kernels_.lanes);
  }
  void DeriveFew(const Filter<const T>& filter, T* derived) const;
  int64_t panel_width() const { return 2 * kernels_.lanes; }
  int64_t panels() const { return CeilDiv(padded_out_channels(), panel_width()); }

  const Kernels<T>& kernels_;
  bool backward_;
  int64_t kernel_height_, kernel_width_, depth_, out_channels_, batch_;
  int64_t padded_depth_;  // of a tap of the derived filter
  std::vector<Phase> vertical_, horizontal_;
  bool pointwise_;      // a product of all pixels of all images, as one row
  bool across_images_;  // a row of results is one pixel of several images
  bool sparse_;         // no tap reads some of the inputs between the taps
  bool large_filter_;   // larger than the inputs: each thread should read a part of it
  int threads_;
  Untapped untapped_;
  std::vector<Cut> cuts_;  // of one image, or of a group of images
  int64_t blocks_ = 0;     // of all cuts
};

}  // namespace dtnn::conv::gemm

#endif  // DTNN_KERNELS_CONV_GEMM_GATHER_GEMM_H_
