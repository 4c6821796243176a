// Backward filter of variant depthwise: sums of x * dy over pixels, through the same windows of x
// as in data.h.

#ifndef DTNN_KERNELS_CONV_DEPTHWISE_FILTER_H_
#define DTNN_KERNELS_CONV_DEPTHWISE_FILTER_H_

#include <cstddef>
#include <cstdint>

#include "kernels/conv/depthwise/axis.h"
#include "kernels/conv/depthwise/depthwise_cpu.h"
#include "kernels/conv/depthwise/tiles.h"
#include "kernels/conv/depthwise/window.h"
#include "kernels/conv/kernel.h"

namespace dtnn::conv::depthwise {

template <typename T>
class DepthwiseFilter final : public FilterKernel<T> {
 public:
  using typename FilterKernel<T>::Gradient;

  explicit DepthwiseFilter(const Conv2dSpec& spec);

  size_t workspace_bytes() const override;
  void Sum(const Images<const T>& x, const Images<const T>& dy, int64_t images, bool first,
           const Gradient& gradient, std::byte* workspace) const override;
  void Write(const Gradient& gradient, std::byte* workspace) const override;

 private:
  struct Scratch {
    T *x, *dy;
    size_t bytes;
  };
  Scratch Divide(std::byte* memory) const;
  // Of a block of channels: [tap][channel], then those of dy.
  int64_t BlockSums() const { return (taps_ + 1) * kBlock<T>; }
  int64_t PartSums() const { return blocks_ * BlockSums(); }
  size_t SumsBytes() const { return size_t(parts_ * PartSums()) * sizeof(T); }
  void SumTile(const Images<const T>& x, const Images<const T>& dy, const Tile& tile, int64_t block,
               bool with_bias, Window<T>& x_window, Window<T>& dy_window, T* sums) const;

  const Kernels<T>& kernels_;
  Axis rows_, columns_;
  int64_t channels_, blocks_, taps_, kernel_width_;
  bool copies_dy_;  // of some block of channels
  Tiles tiles_;
  int64_t parts_;  // of the tiles, each summed on its own; fixed by the spec
  int threads_;
};

}  // namespace dtnn::conv::depthwise

#endif  // DTNN_KERNELS_CONV_DEPTHWISE_FILTER_H_
