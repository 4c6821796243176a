// Forward and backward data with a filter that is small enough to be read again for every few
// tiles: a block of tiles is transformed, multiplied with the transformed filter and transformed
// back by one thread, without leaving its L2 cache.

#ifndef DTNN_KERNELS_CONV_WINOGRAD_FUSED_DATA_H_
#define DTNN_KERNELS_CONV_WINOGRAD_FUSED_DATA_H_

#include <cstddef>
#include <cstdint>

#include "kernels/conv/kernel.h"
#include "kernels/conv/winograd/data_side.h"

namespace dtnn::conv::winograd {

template <typename T>
class FusedData final : public DataKernel<T> {
 public:
  using typename DataKernel<T>::Call;

  FusedData(const Conv2dSpec& spec, Direction direction, Form form);

  int64_t derived_elements() const override;
  void DeriveFilter(const Filter<const T>& filter, T* derived, std::byte* workspace) const override;
  size_t workspace_bytes() const override;
  void Run(const Call& call) const override;

 private:
  struct Memory;
  Memory Divide(std::byte* memory) const;
  void RunBlock(const Call& call, int64_t first, int64_t count, const Memory& memory) const;
  // Elements from one element of a panel's transformed filters to the next, and of a panel.
  int64_t FilterElement(int64_t panel) const;
  int64_t PanelStep() const { return side_.form().elements() * FilterElement(0); }

  DataSide<T> side_;
  int threads_;
  int64_t block_;  // tiles, at most
};

}  // namespace dtnn::conv::winograd

#endif  // DTNN_KERNELS_CONV_WINOGRAD_FUSED_DATA_H_
