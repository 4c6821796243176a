// Backward filter of variant depthwise: sums of x * dy over pixels, which are read in place.
// Results at the border leave out the taps that lie in the padding, so they are summed apart from
// others.

#ifndef DTNN_KERNELS_CONV_DEPTHWISE_FILTER_H_
#define DTNN_KERNELS_CONV_DEPTHWISE_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/conv/depthwise/axis.h"
#include "kernels/conv/depthwise/depthwise_cpu.h"
#include "kernels/conv/depthwise/tiles.h"
#include "kernels/conv/kernel.h"

namespace dtnn::conv::depthwise {

template <typename T>
class DepthwiseFilter final : public FilterKernel<T> {
 public:
  using typename FilterKernel<T>::Gradient;

  explicit DepthwiseFilter(const Conv2dSpec& spec);

  size_t workspace_bytes() const override { return size_t(parts_ * PartSums()) * sizeof(Wide<T>); }
  void Sum(const Images<const T>& x, const Images<const T>& dy, int64_t images, bool first,
           const Gradient& gradient, std::byte* workspace) const override;
  void Write(const Gradient& gradient, std::byte* workspace) const override;

 private:
  // The sums of a block of channels: [tap][channel], then those of dy.
  int64_t BlockSums() const { return (taps_ + 1) * kBlock<T>; }
  int64_t PartSums() const { return blocks_ * BlockSums(); }
  void SumTile(const Images<const T>& x, const Images<const T>& dy, const Tile& tile, int64_t block,
               bool with_bias, Wide<T>* sums) const;

  const Kernels<T>& kernels_;
  Axis rows_, columns_;
  std::vector<Stretch> row_stretches_, column_stretches_;
  int64_t channels_, blocks_, taps_, kernel_width_;
  std::optional<Sliding> sliding_;  // where rows of taps are neighbours too
  Tiles tiles_;
  int64_t parts_;  // of the tiles, each summed on its own; fixed by the spec
};

}  // namespace dtnn::conv::depthwise

#endif  // DTNN_KERNELS_CONV_DEPTHWISE_FILTER_H_
