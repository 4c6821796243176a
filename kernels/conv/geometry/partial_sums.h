// The gradient of a filter as a number of partial sums over the pixels, which the spec alone
// decides, and which are added in order: the result is the same on any number of threads.

#ifndef DTNN_KERNELS_CONV_GEOMETRY_PARTIAL_SUMS_H_
#define DTNN_KERNELS_CONV_GEOMETRY_PARTIAL_SUMS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/conv/conv2d_spec.h"
#include "kernels/conv/kernel.h"

namespace dtnn::conv {

// A part has this many blocks or more, each of the pixels that a kernel sums at a time: its sums
// are written and added up once.
inline constexpr int64_t kFewestBlocks = 4;

// Where the sums of all parts are: a matrix (taps * channels) x filters each, rows `pitch` elements
// apart, and a vector of sums of dy.
template <typename T>
class PartialSums {
 public:
  // For a spec of one group, whose rows of filters are padded to `pitch` elements. `least`: pixels
  // of the spec's batch that a part has about, or more.
  PartialSums(const Conv2dSpec& spec, int64_t pitch, int64_t least);

  int64_t parts() const { return parts_; }
  int64_t pitch() const { return pitch_; }
  size_t bytes() const;
  T* filter(std::byte* memory, int64_t part) const;
  T* bias(std::byte* memory, int64_t part) const;
  // The pixels, of a number of them, that a part sums: [begin of part, begin of part + 1).
  int64_t Begin(int64_t pixels, int64_t part) const { return pixels * part / parts_; }

  // Adds the parts up into the gradient; its bias is null where it is not asked for.
  void Write(const typename FilterKernel<T>::Gradient& gradient, const std::byte* memory) const;
  void WriteBias(const typename FilterKernel<T>::Gradient& gradient, const std::byte* memory) const;

 private:
  int64_t taps_, channels_, filters_, pitch_, parts_;
};

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_GEOMETRY_PARTIAL_SUMS_H_
