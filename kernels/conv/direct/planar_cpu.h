// The inner loops of planar.h for the best instruction set of this machine. A vector holds
// neighbouring pixels of one channel; pixels of a row, and rows of a strip, follow each other in
// padded planes, so that every tap of the kernel is the same planes read from another offset.

#ifndef DTNN_KERNELS_CONV_DIRECT_PLANAR_CPU_H_
#define DTNN_KERNELS_CONV_DIRECT_PLANAR_CPU_H_

#include <cstdint>

namespace dtnn::conv::direct {

// out[f][q] = sum over k of x[offsets[k] + q] * filter[k][f], for `rows` outputs f (4 or 8).
template <typename T>
struct PlanarProduct {
  const T* x = nullptr;
  const int64_t* offsets = nullptr;
  int64_t terms = 0;
  const T* filter = nullptr;  // [term][rows]
  int rows = 0;
  T* out = nullptr;
  int64_t out_pitch = 0;
  int64_t count = 0;         // q, a multiple of 3 vectors
  const T* scale = nullptr;  // [rows] each, or null
  const T* bias = nullptr;
  bool relu = false;
};

// sums[k][f] += sum over q of x[offsets[k] + q] * dy[f][q], one sum per lane of a vector.
template <typename T>
struct PlanarSums {
  const T* x = nullptr;
  const int64_t* offsets = nullptr;
  int64_t terms = 0;
  const T* dy = nullptr;
  int64_t dy_pitch = 0;
  int64_t filters = 0;   // a multiple of 4
  int64_t count = 0;     // q, a multiple of a vector
  T* sums = nullptr;     // [term][filters][lanes]
  T* dy_sums = nullptr;  // [filters][lanes]: sums of dy; or null
};

// Pixels of one row of an image in either format.
template <typename T>
struct PixelRow {
  T* data = nullptr;
  int64_t pixel_stride = 0, channel_stride = 0;  // one of them is 1
};

template <typename T>
struct PlanarKernels {
  int64_t lanes;
  int max_rows;  // 8 or 4
  void (*multiply)(const PlanarProduct<T>& product);
  void (*correlate)(const PlanarSums<T>& sums);
  // Whether there is a NaN in `count` elements, whole vectors.
  bool (*has_nan)(const T* values, int64_t count);
  // planes[c * plane + p] = row[p][c].
  void (*to_planes)(PixelRow<const T> row, int64_t pixels, int64_t channels, T* planes,
                    int64_t plane);
  // row[p][c] = planes[c * plane + p], plus addend[p][c] and rectified if asked.
  void (*from_planes)(const T* planes, int64_t plane, int64_t pixels, int64_t channels,
                      PixelRow<const T> addend, bool relu, PixelRow<T> row);
};

template <typename T>
const PlanarKernels<T>& CpuPlanarKernels();

}  // namespace dtnn::conv::direct

#endif  // DTNN_KERNELS_CONV_DIRECT_PLANAR_CPU_H_
