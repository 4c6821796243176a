// Variant i2c for few channels and filters at stride 1, where a vector of filters would be mostly
// empty: vectors of pixels instead.
//
// A strip of image rows is copied once into planes, one per channel, with the zero padding around
// it. Read as one long row, the planes shifted by a tap's offset are that tap's column of the patch
// matrix for all pixels at once: im2col without a copy per tap, at the price of computing the few
// columns between the rows for nothing.

#ifndef DTNN_KERNELS_CONV_PLANAR_H_
#define DTNN_KERNELS_CONV_PLANAR_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/conv/gather_gemm.h"
#include "kernels/conv/im2col.h"
#include "kernels/conv/planar_cpu.h"

namespace dtnn::i2c {

// Images in either format: the first element and the strides of its axes.
template <typename T>
struct ImageBatch {
  T* data = nullptr;
  int64_t image = 0, row = 0, pixel = 0, channel = 0;

  static ImageBatch Of(const Tensor& tensor, TensorFormat format);
  PixelRow<T> Row(int64_t n, int64_t h) const {
    return {data == nullptr ? nullptr : data + n * image + h * row, pixel, channel};
  }
};

// One direction, a gather as in im2col.h with stride 1, cut into strips of output rows.
template <typename T>
class Planar {
 public:
  static bool SuitsForward(const Conv2dSpec& spec);
  static bool SuitsBackwardData(const Conv2dSpec& spec);
  static bool SuitsBackwardFilter(const Conv2dSpec& spec);

  static Planar Forward(const Conv2dSpec& spec) { return Planar(spec, false); }
  static Planar BackwardData(const Conv2dSpec& spec) { return Planar(spec, true); }

  // Elements of the packed filter of Multiply.
  int64_t packed_elements() const { return terms() * padded_columns_; }
  void Pack(const T* filter, int64_t tap_stride, int64_t depth_stride, int64_t column_stride,
            T* packed) const;
  size_t thread_bytes() const;
  // out = write_back(gather(in) * packed); scale and bias are padded to padded_columns().
  void Multiply(ImageBatch<const T> in, int64_t images, const T* packed, const T* scale,
                const T* bias, ImageBatch<const T> addend, bool relu, ImageBatch<T> out,
                int threads, std::byte* scratch) const;
  int64_t padded_columns() const { return padded_columns_; }

  // The gradient of the filter (of a Planar made by Forward): d filter = (accumulate ? : 0) + ...
  size_t shared_bytes() const;
  void Correlate(ImageBatch<const T> x, ImageBatch<const T> dy, int64_t images, T* dfilter,
                 FilterStrides strides, T* dbias, bool accumulate, std::byte* shared, int threads,
                 std::byte* scratch) const;

 private:
  struct Scratch;
  Planar(const Conv2dSpec& spec, bool backward);
  Scratch Divide(std::byte* memory) const;
  int64_t terms() const { return int64_t(offsets_.size()); }
  int64_t strips() const { return (out_height_ + strip_ - 1) / strip_; }
  void FillPlanes(ImageBatch<const T> in, int64_t image, int64_t first, int64_t rows,
                  T* planes) const;
  void CorrelateStrip(ImageBatch<const T> x, ImageBatch<const T> dy, int64_t image, int64_t strip,
                      const Scratch& scratch, T* sums, T* dy_sums) const;
  void Reduce(const T* sums, int64_t at, int64_t size, bool accumulate, T* to) const;

  const PlanarKernels<T>& kernels_;
  int64_t in_height_, in_width_, depth_, out_height_, out_width_, columns_;
  int64_t padded_columns_;                       // a multiple of 4
  int64_t reach_vertical_;                       // rows that a patch reaches past its first
  int64_t origin_vertical_, origin_horizontal_;  // where the image begins in the planes
  int64_t pitch_;                                // of the rows of the planes
  int64_t strip_;                                // output rows at a time
  int64_t plane_, out_plane_;                    // elements of a plane
  std::vector<int64_t> offsets_;                 // of each patch element in the planes
};

}  // namespace dtnn::i2c

#endif  // DTNN_KERNELS_CONV_PLANAR_H_
