// Backward filter with many channels or filters: F(3x3, 4x4) as in fused_filter.h, but a slice of
// the tiles is transformed whole, into the L3 cache, and then multiplied element by element:
// nothing is transformed twice, and a sum stays in registers over all tiles of the slice. The sums
// of a block of channels and filters stay in the L2 cache until they are transformed back and added
// to the gradient, whose size is a quarter of theirs.

#ifndef DTNN_KERNELS_CONV_WINOGRAD_SLICED_FILTER_H_
#define DTNN_KERNELS_CONV_WINOGRAD_SLICED_FILTER_H_

#include <cstddef>
#include <cstdint>

#include "kernels/conv/kernel.h"
#include "kernels/conv/winograd/form.h"
#include "kernels/conv/winograd/tile_grid.h"
#include "kernels/conv/winograd/winograd_cpu.h"
#include "tensor/rounding.h"

namespace dtnn::conv::winograd {

template <typename T>
class SlicedFilter final : public FilterKernel<T> {
 public:
  using typename FilterKernel<T>::Gradient;

  SlicedFilter(const Conv2dSpec& spec, Form form);

  size_t workspace_bytes() const override;
  void Sum(const Images<const T>& x, const Images<const T>& dy, int64_t images, bool first,
           const Gradient& gradient, std::byte* workspace) const override;
  void Write(const Gradient& gradient, std::byte* workspace) const override;

 private:
  struct Memory;
  Memory Divide(std::byte* memory) const;
  void TransformInput(const Images<const T>& x, int64_t run, int64_t first, int64_t last,
                      const Memory& memory) const;
  void TransformGradient(const Images<const T>& dy, int64_t run, int64_t block, int64_t count,
                         const Memory& memory) const;
  void AddBlock(const Gradient& gradient, int64_t panel, int64_t first, int64_t last, int64_t count,
                const Memory& memory, T* sums) const;
  void WriteBlock(const Gradient& gradient, int64_t panel, int64_t first, int64_t last,
                  const T* sums) const;

  int64_t panel_width() const { return 2 * kernels_.lanes; }
  int64_t panels() const { return CeilDiv(padded_filters_, panel_width()); }
  int64_t width(int64_t panel) const;

  Form form_;
  const Kernels<T>& kernels_;
  TileGrid grid_;
  int threads_;
  int64_t channels_, filters_, padded_filters_;
  int64_t slice_;         // tiles, at most
  int64_t block_;         // channels whose sums are in the L2 cache, at most
  int64_t sums_element_;  // from one element of them to the next
};

}  // namespace dtnn::conv::winograd

#endif  // DTNN_KERNELS_CONV_WINOGRAD_SLICED_FILTER_H_
