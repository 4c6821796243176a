// Direct convolution for few channels and filters at stride 1, where a vector of filters would be
// mostly empty: vectors of pixels instead.
//
// A strip of image rows is copied once into planes, one per channel, with the zero padding around
// it. Read as one long row, the planes shifted by a tap's offset are that tap's column of the patch
// matrix for all pixels at once: im2col without a copy per tap, at the price of computing the few
// columns between the rows for nothing. Images of bfloat16 become float32 on the way into the
// planes, and results are rounded on the way out, a row at a time.

#ifndef DTNN_KERNELS_CONV_DIRECT_PLANAR_H_
#define DTNN_KERNELS_CONV_DIRECT_PLANAR_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/conv/direct/planar_cpu.h"
#include "kernels/conv/kernel.h"
#include "tensor/float16.h"
#include "tensor/rounding.h"

namespace dtnn::conv::direct {

// Whether planes are the fastest way for this direction.
bool SuitsPlanes(const Conv2dSpec& spec, Direction direction);

// One direction as a gather with stride 1, cut into strips of output rows: the planes, and where
// in them each element of a patch is.
template <typename T>
class Planes {
 public:
  using Value = Wide<T>;  // what planes and sums consist of

  Planes(const Conv2dSpec& spec, Direction direction);

  struct Scratch {  // one thread's
    Value *in, *out;
    Value *row, *addend;  // a row of images of 16 bits
    int64_t in_size;
    size_t bytes;
  };
  Scratch Divide(std::byte* memory) const;
  size_t thread_bytes() const { return Divide(nullptr).bytes; }

  int64_t terms() const { return int64_t(offsets_.size()); }
  int64_t strips() const { return CeilDiv(out_height_, strip_); }
  // Fills the planes with what output rows [first, first + rows) of an image read.
  void Fill(const Images<const T>& in, int64_t image, int64_t first, int64_t rows,
            const Scratch& scratch) const;

 protected:
  const PlanarKernels<Value>& kernels_;
  int64_t in_height_, in_width_, depth_, out_height_, out_width_, out_channels_;
  int64_t padded_out_channels_;                  // a multiple of 4
  int64_t reach_vertical_;                       // rows that a patch reaches past its first
  int64_t origin_vertical_, origin_horizontal_;  // where the image begins in the planes
  int64_t pitch_;                                // of the rows of the planes
  int64_t strip_;                                // output rows at a time
  int64_t plane_, out_plane_;                    // elements of a plane
  int threads_;
  std::vector<int64_t> offsets_;  // of each patch element in the planes
};

template <typename T>
class PlanarData final : public DataKernel<T>, private Planes<T> {
 public:
  using typename DataKernel<T>::Call;

  PlanarData(const Conv2dSpec& spec, Direction direction)
      : Planes<T>(spec, direction), backward_(direction == Direction::kBackwardData) {}

  int64_t derived_elements() const override {
    return this->terms() * this->padded_out_channels_ * int64_t(sizeof(Value) / sizeof(T));
  }
  void DeriveFilter(const Filter<const T>& filter, T* derived, std::byte* workspace) const override;
  size_t workspace_bytes() const override { return size_t(this->threads_) * this->thread_bytes(); }
  void Run(const Call& call) const override;

 private:
  using typename Planes<T>::Scratch;
  using typename Planes<T>::Value;

  void WriteRow(const Scratch& scratch, int64_t row, const PixelRow<const Value>& addend, bool relu,
                const PixelRow<T>& out) const;

  bool backward_;
};

// Planes are correlated as a whole, with zeros between the rows of dy. Where such a zero meets an
// infinity the part of the sums is NaN, and is summed again without planes, slowly.
template <typename T>
class PlanarFilter final : public FilterKernel<T>, private Planes<T> {
 public:
  using typename FilterKernel<T>::Gradient;

  explicit PlanarFilter(const Conv2dSpec& spec) : Planes<T>(spec, Direction::kBackwardFilter) {}

  size_t workspace_bytes() const override;
  void Sum(const Images<const T>& x, const Images<const T>& dy, int64_t images, bool first,
           const Gradient& gradient, std::byte* workspace) const override;
  void Write(const Gradient& gradient, std::byte* workspace) const override;

 private:
  using typename Planes<T>::Scratch;
  using typename Planes<T>::Value;
  static constexpr int64_t kParts = 16;  // partial sums
  int64_t FilterSums() const { return this->terms() * BiasSums(); }
  int64_t BiasSums() const { return this->padded_out_channels_ * this->kernels_.lanes; }
  int64_t PartSums() const { return FilterSums() + BiasSums(); }  // those of the filter first
  size_t SharedBytes() const { return size_t(kParts * PartSums()) * sizeof(Value); }
  // A thread's planes, and before them the sums of a part of images that others preceded.
  size_t OwnBytes() const;
  void SumStrip(const Images<const T>& x, const Images<const T>& dy, int64_t image, int64_t strip,
                const Scratch& scratch, Value* sums, Value* dy_sums) const;
  void SumStripInPlace(const Images<const T>& x, const Images<const T>& dy, int64_t image,
                       int64_t strip, Value* sums) const;
  void Reduce(const Value* sums, int64_t at, bool accumulate, Value* to) const;
};

}  // namespace dtnn::conv::direct

#endif  // DTNN_KERNELS_CONV_DIRECT_PLANAR_H_
