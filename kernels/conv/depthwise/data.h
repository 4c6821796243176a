// Forward and backward data of variant depthwise: y from x, or dx from dy, read and written in
// place.
//
// Neighbouring results of a row that sum the same taps are computed together, for all channels. At
// the border taps in the padding are left out. Memory is thus read in its own order, whatever the
// number of channels.

#ifndef DTNN_KERNELS_CONV_DEPTHWISE_DATA_H_
#define DTNN_KERNELS_CONV_DEPTHWISE_DATA_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/conv/depthwise/axis.h"
#include "kernels/conv/depthwise/depthwise_cpu.h"
#include "kernels/conv/kernel.h"

namespace dtnn::conv::depthwise {

template <typename T>
class DepthwiseData final : public DataKernel<T> {
 public:
  using typename DataKernel<T>::Call;

  DepthwiseData(const Conv2dSpec& spec, Direction direction);

  // [tap][channel], zeros after the last channel.
  int64_t derived_elements() const override { return taps_ * padded_channels_; }
  void DeriveFilter(const Filter<const T>& filter, T* derived) const override;
  size_t workspace_bytes() const override { return 0; }
  void Run(const Call& call) const override;

 private:
  // A phase of each axis.
  struct PhasePair {
    const Phase *vertical, *horizontal;
    std::vector<Range> row_taps;  // of each row
    std::vector<Stretch> columns;
  };
  // Row `i` of a pair of phases.
  void RunRow(const Call& call, const PhasePair& phases, int64_t image, int64_t i) const;

  const Kernels<T>& kernels_;
  Axis rows_, columns_;
  int64_t channels_, padded_channels_, taps_, kernel_width_;
  bool far_rows_;  // calls the next ones
  std::vector<PhasePair> phases_;
};

}  // namespace dtnn::conv::depthwise

#endif  // DTNN_KERNELS_CONV_DEPTHWISE_DATA_H_
