// Results of backward data that sum nothing: with a stride larger than the kernel, those of the
// phases that have no taps. A kernel computes the phases that phases.h lists, and leaves the other
// results to this: they are many, and as phases of their own they would number stride^2.

#ifndef DTNN_KERNELS_CONV_GEOMETRY_UNTAPPED_H_
#define DTNN_KERNELS_CONV_GEOMETRY_UNTAPPED_H_

#include <cstdint>
#include <vector>

#include "kernels/conv/geometry/phases.h"
#include "kernels/conv/kernel.h"

namespace dtnn::conv {

class Untapped {
 public:
  Untapped(const Conv2dSpec& spec, Direction direction);

  // Writes zeros to them, in the first `channels` of a pixel. Nothing where the call accumulates:
  // the addend of backward data is the output itself.
  template <typename T>
  void Write(const typename DataKernel<T>::Call& call, int64_t channels) const;

 private:
  struct Run {  // of neighbours
    int64_t begin, end;
  };
  int64_t width_;
  std::vector<uint8_t> rows_;  // 1: the row has none but the columns
  std::vector<Run> columns_;
  bool any_;
};

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_GEOMETRY_UNTAPPED_H_
