// The vector loops of depthwise convolution over a block of images whose channels lie side by side
// (NHWC, or an NCHW block that was transposed). For depthwise.cc and the *_cpu.cc files only.

#ifndef DTNN_KERNELS_DEPTHWISE_DEPTHWISE_CPU_H_
#define DTNN_KERNELS_DEPTHWISE_DEPTHWISE_CPU_H_

#include <cstdint>

#include "kernels/conv/conv2d.h"
#include "kernels/depthwise/axis.h"

namespace dtnn::depthwise {

// Images of contiguous channels; distances in elements.
template <typename T>
struct Block {
  T* data = nullptr;
  int64_t image = 0, row = 0, pixel = 0;
};

// out = finish(sums of in * filter), or out += sums.
template <typename T>
struct Gather {
  const Axis *rows = nullptr, *columns = nullptr;
  int64_t images = 0, channels = 0;
  Block<const T> in = {};
  Block<T> out = {};
  const T* filter = nullptr;  // packed: (kh, kw, filter_pitch)
  int64_t filter_pitch = 0, kernel_width = 0;
  const T *scale = nullptr, *bias = nullptr;  // null: none
  bool relu = false, accumulate = false;
};

// sums[tap][channel] += sum over the images of x * dy, and sums[taps][channel] += sum of dy.
template <typename T>
struct FilterSums {
  const Conv2dSpec* spec = nullptr;
  int64_t images = 0, channels = 0;
  Block<const T> x = {}, dy = {};
  T* sums = nullptr;
  int64_t sums_pitch = 0;
};

// Rows [begin, end) of the results of all images.
void GatherRows(const Gather<float>& gather, int64_t begin, int64_t end);
void GatherRows(const Gather<double>& gather, int64_t begin, int64_t end);

void AddFilterSums(const FilterSums<float>& pass);
void AddFilterSums(const FilterSums<double>& pass);

// pixels[i * pitch + c] = planes[c * plane + i], and the reverse (adding, if asked to).
void PlanesToPixels(const float* planes, int64_t plane, int64_t channels, float* pixels,
                    int64_t pitch);
void PlanesToPixels(const double* planes, int64_t plane, int64_t channels, double* pixels,
                    int64_t pitch);
void PixelsToPlanes(const float* pixels, int64_t pitch, int64_t channels, bool accumulate,
                    float* planes, int64_t plane);
void PixelsToPlanes(const double* pixels, int64_t pitch, int64_t channels, bool accumulate,
                    double* planes, int64_t plane);

}  // namespace dtnn::depthwise

#endif  // DTNN_KERNELS_DEPTHWISE_DEPTHWISE_CPU_H_
