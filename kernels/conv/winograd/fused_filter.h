// Backward filter with few channels and filters: as F(3x3, 4x4), the convolution of x with tiles of
// dy as if they were filters, in the transformed domain, where the products of all tiles are summed
// before they are transformed back.
//
// A block of tiles of x and dy is transformed and multiplied by one thread, without leaving its
// L2 cache, as are the sums. The tiles are divided into partial sums, and channels and filters
// into blocks whose sums fit the cache.

#ifndef DTNN_KERNELS_CONV_WINOGRAD_FUSED_FILTER_H_
#define DTNN_KERNELS_CONV_WINOGRAD_FUSED_FILTER_H_

#include <cstddef>
#include <cstdint>

#include "kernels/conv/geometry/partial_sums.h"
#include "kernels/conv/kernel.h"
#include "kernels/conv/winograd/form.h"
#include "kernels/conv/winograd/tile_grid.h"
#include "kernels/conv/winograd/winograd_cpu.h"

namespace dtnn::conv::winograd {

template <typename T>
class FusedFilter final : public FilterKernel<T> {
 public:
  using typename FilterKernel<T>::Gradient;

  FusedFilter(const Conv2dSpec& spec, Form form);

  size_t workspace_bytes() const override;
  void Sum(const Images<const T>& x, const Images<const T>& dy, int64_t images, bool first,
           const Gradient& gradient, std::byte* workspace) const override;
  void Write(const Gradient& gradient, std::byte* workspace) const override {
    sums_.Write(gradient, workspace);
  }

 private:
  struct Scratch;
  Scratch Divide(std::byte* memory) const;
  void SumPart(const Images<const T>& x, const Images<const T>& dy, int64_t tiles, int64_t part,
               int64_t channel, int64_t filter, bool first, std::byte* workspace,
               const Scratch& scratch) const;

  Form form_;
  const Kernels<T>& kernels_;
  TileGrid grid_;
  int threads_;
  int64_t channels_, filters_;
  int64_t channel_block_, filter_block_;
  int64_t block_;  // tiles
  PartialSums<T> sums_;
};

}  // namespace dtnn::conv::winograd

#endif  // DTNN_KERNELS_CONV_WINOGRAD_FUSED_FILTER_H_
