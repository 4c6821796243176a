// Forward and backward data of variant depthwise: y from x, or dx from dy, read and written in
// place.
//
// Neighbouring results of a row are computed together, for all channels. At the border taps in the
// padding are left out. Memory is thus read in its own order, whatever the number of channels.

#ifndef DTNN_KERNELS_CONV_DEPTHWISE_DATA_H_
#define DTNN_KERNELS_CONV_DEPTHWISE_DATA_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/conv/depthwise/axis.h"
#include "kernels/conv/depthwise/depthwise_cpu.h"
#include "kernels/conv/geometry/untapped.h"
#include "kernels/conv/kernel.h"

namespace dtnn::conv::depthwise {

template <typename T>
class DepthwiseData final : public DataKernel<T> {
 public:
  using typename DataKernel<T>::Call;

  DepthwiseData(const Conv2dSpec& spec, Direction direction);

  // [tap][channel], of Wide<T>, zeros after the last channel.
  int64_t derived_elements() const override {
    return taps_ * padded_channels_ * int64_t(sizeof(Wide<T>) / sizeof(T));
  }
  void DeriveFilter(const Filter<const T>& filter, T* derived, std::byte* workspace) const override;
  size_t workspace_bytes() const override { return 0; }
  void Run(const Call& call) const override;

 private:
  // Rows of results of a phase: all of them where they slide over their inputs, else those of a
  // phase of columns.
  struct Rows {
    const Phase *vertical, *horizontal;
    std::vector<Range> taps;       // of each row
    std::vector<Stretch> columns;  // where they do not slide
  };
  static const Wide<T>* DerivedOf(const Call& call) {
    return reinterpret_cast<const Wide<T>*>(call.filter);
  }
  // What all results of row `i` of some images share.
  Sums<T> SumsOfRow(const Call& call, const Rows& rows, int64_t i) const;
  void RunRow(const Call& call, const Rows& rows, int64_t image, int64_t i) const;
  // The only result of each of some images.
  void RunImages(const Call& call, int64_t begin, int64_t end) const;

  const Kernels<T>& kernels_;
  Axis rows_, columns_;
  std::optional<Sliding> sliding_;
  int64_t channels_, padded_channels_, taps_, kernel_width_;
  Untapped untapped_;
  bool far_rows_;  // calls the next ones
  std::vector<Rows> phases_;
};

}  // namespace dtnn::conv::depthwise

#endif  // DTNN_KERNELS_CONV_DEPTHWISE_DATA_H_
