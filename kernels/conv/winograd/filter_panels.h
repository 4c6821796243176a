// The filter of a convolution as panels of one or two vectors of output channels, transformed where
// and when a kernel wants it.

#ifndef DTNN_KERNELS_CONV_WINOGRAD_FILTER_PANELS_H_
#define DTNN_KERNELS_CONV_WINOGRAD_FILTER_PANELS_H_

#include <algorithm>
#include <cstdint>

#include "kernels/conv/images.h"
#include "kernels/conv/winograd/form.h"
#include "kernels/conv/winograd/winograd_cpu.h"
#include "tensor/rounding.h"

namespace dtnn::conv::winograd {

template <typename T>
class FilterPanels {
 public:
  // Backward, a filter's taps are turned by half a turn, and what it reads and writes is exchanged.
  FilterPanels(Form form, int64_t channels, int64_t filters, bool backward);

  int64_t depth() const { return depth_; }
  int64_t count() const { return CeilDiv(padded_out_channels_, full_width()); }
  int64_t full_width() const { return 2 * kernels_.lanes; }
  int64_t first_out_channel(int64_t panel) const { return panel * full_width(); }
  // With zeros for channels that do not exist.
  int64_t width(int64_t panel) const {
    return std::min(full_width(), padded_out_channels_ - first_out_channel(panel));
  }
  int64_t out_channels(int64_t panel) const {
    return std::min(full_width(), out_channels_ - first_out_channel(panel));
  }
  // to[e * element + k * width(panel) + j] for the depths first + k < last. The filter's type F is
  // T or, of float32, bfloat16.
  template <typename F>
  void Transform(const Filter<const F>& filter, int64_t panel, int64_t first, int64_t last, T* to,
                 int64_t element) const;

 private:
  template <typename F>
  void TransformRun(const Filter<const F>& filter, int64_t panel, int64_t first, int64_t last,
                    T* to, int64_t element) const;

  Form form_;
  const Kernels<T>& kernels_;
  bool backward_;
  int64_t depth_, out_channels_;
  int64_t padded_out_channels_;  // whole vectors
};

}  // namespace dtnn::conv::winograd

#endif  // DTNN_KERNELS_CONV_WINOGRAD_FILTER_PANELS_H_
