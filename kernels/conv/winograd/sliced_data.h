// Forward and backward data with a large filter. Transformed, it would have four times its size and
// come from memory again and again, so it is never kept in that form: a panel of its output
// channels and a run of its depths at a time are transformed into the L2 cache and multiplied there
// with all tiles of a slice of the batch, whose transformed input is in the third.

#ifndef DTNN_KERNELS_CONV_WINOGRAD_SLICED_DATA_H_
#define DTNN_KERNELS_CONV_WINOGRAD_SLICED_DATA_H_

#include <cstddef>
#include <cstdint>

#include "kernels/conv/kernel.h"
#include "kernels/conv/winograd/data_side.h"

namespace dtnn::conv::winograd {

template <typename T>
class SlicedData final : public DataKernel<T> {
 public:
  using typename DataKernel<T>::Call;

  SlicedData(const Conv2dSpec& spec, Direction direction, Form form);

  int64_t derived_elements() const override { return 0; }
  void DeriveFilter(const Filter<const T>&, T*, std::byte*) const override {}
  size_t workspace_bytes() const override;
  void Run(const Call& call) const override;

 private:
  struct Shared;
  struct Scratch;
  Shared DivideShared(std::byte* memory) const;
  Scratch Divide(std::byte* memory) const;
  void TransformInput(const Call& call, int64_t run, int64_t first, int64_t last,
                      const Shared& shared) const;
  // Depths [first, last) of a panel.
  void TransformFilter(const Call& call, int64_t panel, int64_t first, int64_t last,
                       const Scratch& scratch) const;
  void RunPanel(const Call& call, int64_t panel, int64_t tiles, const Shared& shared,
                const Scratch& scratch) const;
  // Runs of depths.
  int64_t runs() const;
  int64_t RunStep() const { return side_.form().elements() * tiles_element_; }

  DataSide<T> side_;
  int threads_;
  int64_t slice_;          // tiles, at most
  int64_t tiles_element_;  // from one element of the transformed input to the next
};

}  // namespace dtnn::conv::winograd

#endif  // DTNN_KERNELS_CONV_WINOGRAD_SLICED_DATA_H_
