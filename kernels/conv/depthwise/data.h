// Forward and backward data of variant depthwise: y from x, or dx from dy.
//
// A tile at a time, and of a tile a block of channels after the other, is copied into a window that
// has zeros around the images. There every result is the same sum at constant distances: no loop
// knows of borders, formats or pitches.

#ifndef DTNN_KERNELS_CONV_DEPTHWISE_DATA_H_
#define DTNN_KERNELS_CONV_DEPTHWISE_DATA_H_

#include <cstddef>
#include <cstdint>

#include "kernels/conv/depthwise/axis.h"
#include "kernels/conv/depthwise/depthwise_cpu.h"
#include "kernels/conv/depthwise/tiles.h"
#include "kernels/conv/depthwise/window.h"
#include "kernels/conv/kernel.h"

namespace dtnn::conv::depthwise {

template <typename T>
class DepthwiseData final : public DataKernel<T> {
 public:
  using typename DataKernel<T>::Call;

  DepthwiseData(const Conv2dSpec& spec, Direction direction);

  // [block][tap][channel of the block], zeros after the last channel.
  int64_t derived_elements() const override { return blocks_ * taps_ * kBlock<T>; }
  void DeriveFilter(const Filter<const T>& filter, T* derived) const override;
  size_t workspace_bytes() const override { return size_t(threads_) * Divide(nullptr).bytes; }
  void Run(const Call& call) const override;

 private:
  struct Scratch {
    T *in, *out;
    size_t bytes;
  };
  Scratch Divide(std::byte* memory) const;
  void RunTile(const Call& call, const Tile& tile, int64_t block, Window<T>& in,
               Window<T>& out) const;
  // One phase of the results of a tile, which `gather` describes but for the phase's part.
  void RunPhase(const Tile& tile, const Phase& rows, const Phase& columns, const Window<T>& in,
                Gather<T> gather) const;

  const Kernels<T>& kernels_;
  Axis rows_, columns_;
  int64_t channels_, blocks_, taps_, kernel_width_;
  bool copies_results_;  // of some block of channels
  Tiles tiles_;
  int threads_;
};

}  // namespace dtnn::conv::depthwise

#endif  // DTNN_KERNELS_CONV_DEPTHWISE_DATA_H_
