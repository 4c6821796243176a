#include "kernels/conv/planar.h"

#include <algorithm>
#include <cstring>

#include "kernels/conv/scratch.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::i2c {
namespace {

constexpr int64_t kStripBytes = 48 << 10;  // of the planes of both sides: about the first cache
constexpr int64_t kParts = 16;             // partial sums of the filter's gradient
// With this many columns a vector of them is full, and gather_gemm.h is better.
constexpr int64_t kManyColumns = 16;
constexpr int64_t kMostDepth = 32;
constexpr int64_t kNarrow = 8;  // on narrower maps too much is computed between the rows
// Beyond these, a strip of planes is far from any cache; they also bound the list of offsets.
constexpr int64_t kMostTerms = 4096;
constexpr int64_t kMostReach = 64;

int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Compilers do not see a memset in std::fill of floating zeros.
template <typename T>
void Zero(T* to, int64_t count) {
  std::memset(to, 0, size_t(count) * sizeof(T));
}

bool Suits(const Conv2dSpec& s, int64_t depth, int64_t columns, int64_t width) {
  return s.stride == Pair(1) && depth <= kMostDepth && columns < kManyColumns && width >= kNarrow &&
         (s.kernel.horizontal - 1) * s.dilation.horizontal <= width / 2 &&
         (s.kernel.vertical - 1) * s.dilation.vertical <= kMostReach &&
         s.kernel.vertical * s.kernel.horizontal * depth <= kMostTerms;
}

}  // namespace

template <typename T>
ImageBatch<T> ImageBatch<T>::Of(const Tensor& tensor, TensorFormat format) {
  if (tensor.empty()) return {};
  const Shape& shape = tensor.shape();
  T* data = reinterpret_cast<T*>(tensor.raw_data());
  if (format == TensorFormat::kNHWC) {
    const int64_t pixel = tensor.PixelPitch(), row = shape[2] * pixel;
    return {data, shape[1] * row, row, pixel, 1};
  }
  return {data, tensor.ImagePitch(), shape[3], 1, shape[2] * shape[3]};
}

template <typename T>
bool Planar<T>::SuitsForward(const Conv2dSpec& s) {
  return Suits(s, s.channels, s.filters, s.out_width());
}

template <typename T>
bool Planar<T>::SuitsBackwardData(const Conv2dSpec& s) {
  return Suits(s, s.filters, s.channels, s.width);
}

template <typename T>
bool Planar<T>::SuitsBackwardFilter(const Conv2dSpec& s) {
  return SuitsForward(s);
}

template <typename T>
Planar<T>::Planar(const Conv2dSpec& s, bool backward) : kernels_(CpuPlanarKernels<T>()) {
  in_height_ = s.height, in_width_ = s.width, depth_ = s.channels;
  out_height_ = s.out_height(), out_width_ = s.out_width(), columns_ = s.filters;
  if (backward) {
    std::swap(in_height_, out_height_);
    std::swap(in_width_, out_width_);
    std::swap(depth_, columns_);
  }
  padded_columns_ = RoundUp(columns_, 4);
  reach_vertical_ = (s.kernel.vertical - 1) * s.dilation.vertical;
  const int64_t reach = (s.kernel.horizontal - 1) * s.dilation.horizontal;
  // dx gathers dy with the kernel turned around: the padding becomes what it left of the reach.
  origin_vertical_ = backward ? reach_vertical_ - s.padding.vertical : s.padding.vertical;
  origin_horizontal_ = backward ? reach - s.padding.horizontal : s.padding.horizontal;
  pitch_ = out_width_ + reach;
  const int64_t row_bytes = (depth_ + padded_columns_) * pitch_ * int64_t(sizeof(T));
  strip_ = std::clamp<int64_t>(kStripBytes / row_bytes, 1, out_height_);
  plane_ = RoundUp((strip_ + reach_vertical_) * pitch_, kernels_.lanes);
  out_plane_ = RoundUp(strip_ * pitch_, 3 * kernels_.lanes);
  for (int64_t a = 0; a < s.kernel.vertical; ++a) {
    for (int64_t b = 0; b < s.kernel.horizontal; ++b) {
      int64_t down = a * s.dilation.vertical, right = b * s.dilation.horizontal;
      if (backward) down = reach_vertical_ - down, right = reach - right;
      for (int64_t c = 0; c < depth_; ++c) {
        offsets_.push_back(c * plane_ + down * pitch_ + right);
      }
    }
  }
}

template <typename T>
struct Planar<T>::Scratch {
  T* in;
  T* out;
  int64_t in_size;
  size_t bytes;
};

template <typename T>
typename Planar<T>::Scratch Planar<T>::Divide(std::byte* memory) const {
  ScratchDivider divider(memory);
  Scratch scratch;
  // Vectors read past the last plane by at most a row and three vectors.
  scratch.in_size = depth_ * plane_ + pitch_ + 4 * kernels_.lanes;
  scratch.in = divider.Take<T>(scratch.in_size);
  scratch.out = divider.Take<T>(padded_columns_ * out_plane_);
  scratch.bytes = divider.bytes();
  return scratch;
}

template <typename T>
size_t Planar<T>::thread_bytes() const {
  return Divide(nullptr).bytes;
}

// Blocks of max_rows columns, then of 4: [block][term][column of the block].
template <typename T>
void Planar<T>::Pack(const T* filter, int64_t tap_stride, int64_t depth_stride,
                     int64_t column_stride, T* packed) const {
  for (int64_t first = 0; first < padded_columns_;) {
    const int64_t rows = padded_columns_ - first >= kernels_.max_rows ? kernels_.max_rows : 4;
    for (int64_t k = 0; k < terms(); ++k) {
      const T* from = filter + k / depth_ * tap_stride + k % depth_ * depth_stride;
      for (int64_t j = first; j < first + rows; ++j) {
        *packed++ = j < columns_ ? from[j * column_stride] : T(0);
      }
    }
    first += rows;
  }
}

// Planes of what output rows [first, first + rows) of an image read. The margins of the rows are
// zero from the start and never written.
template <typename T>
void Planar<T>::FillPlanes(ImageBatch<const T> in, int64_t image, int64_t first, int64_t rows,
                           T* planes) const {
  const int64_t left = std::clamp<int64_t>(origin_horizontal_, 0, pitch_);
  const int64_t skipped = std::max<int64_t>(-origin_horizontal_, 0);
  const int64_t pixels = std::clamp<int64_t>(in_width_ - skipped, 0, pitch_ - left);
  for (int64_t r = 0; r < rows + reach_vertical_; ++r) {
    T* line = planes + r * pitch_;
    const int64_t h = first + r - origin_vertical_;
    if (h < 0 || h >= in_height_) {
      for (int64_t c = 0; c < depth_; ++c) Zero(line + c * plane_, pitch_);
      continue;
    }
    PixelRow<const T> row = in.Row(image, h);
    row.data += skipped * row.pixel_stride;
    kernels_.to_planes(row, pixels, depth_, line + left, plane_);
  }
}

template <typename T>
void Planar<T>::Multiply(ImageBatch<const T> in, int64_t images, const T* packed, const T* scale,
                         const T* bias, ImageBatch<const T> addend, bool relu, ImageBatch<T> out,
                         int threads, std::byte* scratch) const {
  const int64_t items = images * strips();
  const bool relu_later = relu && addend.data != nullptr;
  ParallelForWithScratch(items, 1, threads, [&](int thread, int64_t begin, int64_t end) {
    const Scratch mine = Divide(scratch + size_t(thread) * thread_bytes());
    Zero(mine.in, mine.in_size);
    for (int64_t item = begin; item < end; ++item) {
      const int64_t image = item / strips(), first = item % strips() * strip_;
      const int64_t rows = std::min(strip_, out_height_ - first);
      FillPlanes(in, image, first, rows, mine.in);
      PlanarProduct<T> product;
      product.x = mine.in;
      product.offsets = offsets_.data();
      product.terms = terms();
      product.out_pitch = out_plane_;
      product.count = RoundUp(rows * pitch_, 3 * kernels_.lanes);
      product.relu = relu && !relu_later;
      for (int64_t f = 0; f < padded_columns_; f += product.rows) {
        product.rows = padded_columns_ - f >= kernels_.max_rows ? kernels_.max_rows : 4;
        product.filter = packed + f * terms();
        product.out = mine.out + f * out_plane_;
        product.scale = scale != nullptr ? scale + f : nullptr;
        product.bias = bias != nullptr ? bias + f : nullptr;
        kernels_.multiply(product);
      }
      for (int64_t r = 0; r < rows; ++r) {
        kernels_.from_planes(mine.out + r * pitch_, out_plane_, out_width_, columns_,
                             addend.Row(image, first + r), relu_later, out.Row(image, first + r));
      }
    }
  });
}

template <typename T>
size_t Planar<T>::shared_bytes() const {
  return size_t(kParts * (terms() + 1) * padded_columns_ * kernels_.lanes) * sizeof(T);
}

template <typename T>
void Planar<T>::CorrelateStrip(ImageBatch<const T> x, ImageBatch<const T> dy, int64_t image,
                               int64_t strip, const Scratch& scratch, T* sums, T* dy_sums) const {
  const int64_t first = strip * strip_, rows = std::min(strip_, out_height_ - first);
  const int64_t count = RoundUp(rows * pitch_, kernels_.lanes);
  FillPlanes(x, image, first, rows, scratch.in);
  // The columns between the rows of dy are zero from the start, whatever x holds there; so must be
  // what a taller strip left.
  for (int64_t f = 0; rows < strip_ && f < columns_; ++f) {
    T* plane = scratch.out + f * out_plane_;
    Zero(plane + rows * pitch_, count - rows * pitch_);
  }
  for (int64_t r = 0; r < rows; ++r) {
    kernels_.to_planes(dy.Row(image, first + r), out_width_, columns_, scratch.out + r * pitch_,
                       out_plane_);
  }
  PlanarSums<T> job;
  job.x = scratch.in;
  job.offsets = offsets_.data();
  job.terms = terms();
  job.dy = scratch.out;
  job.dy_pitch = out_plane_;
  job.filters = padded_columns_;
  job.count = count;
  job.sums = sums;
  job.dy_sums = dy_sums;
  kernels_.correlate(job);
}

// to = (accumulate ? to : 0) + the lanes of element `at` of all parts, in order.
template <typename T>
void Planar<T>::Reduce(const T* sums, int64_t at, int64_t size, bool accumulate, T* to) const {
  T total = accumulate ? *to : T(0);
  for (int64_t part = 0; part < kParts; ++part) {
    const T* lanes = sums + part * size + at * kernels_.lanes;
    for (int64_t j = 0; j < kernels_.lanes; ++j) total += lanes[j];
  }
  *to = total;
}

template <typename T>
void Planar<T>::Correlate(ImageBatch<const T> x, ImageBatch<const T> dy, int64_t images, T* dfilter,
                          FilterStrides strides, T* dbias, bool accumulate, std::byte* shared,
                          int threads, std::byte* scratch) const {
  const int64_t items = images * strips(), size = terms() * padded_columns_ * kernels_.lanes;
  const int64_t bias_size = padded_columns_ * kernels_.lanes;
  T* sums = reinterpret_cast<T*>(shared);
  T* bias_sums = sums + kParts * size;
  ParallelForWithScratch(kParts, 1, threads, [&](int thread, int64_t begin, int64_t end) {
    const Scratch mine = Divide(scratch + size_t(thread) * thread_bytes());
    Zero(mine.in, mine.in_size);
    Zero(mine.out, padded_columns_ * out_plane_);
    for (int64_t part = begin; part < end; ++part) {
      T* part_sums = sums + part * size;
      T* part_bias = bias_sums + part * bias_size;
      Zero(part_sums, size);
      Zero(part_bias, bias_size);
      for (int64_t item = items * part / kParts; item < items * (part + 1) / kParts; ++item) {
        CorrelateStrip(x, dy, item / strips(), item % strips(), mine, part_sums,
                       dbias != nullptr ? part_bias : nullptr);
      }
    }
  });
  for (int64_t k = 0; k < terms(); ++k) {
    T* to = dfilter + k / depth_ * strides.tap + k % depth_ * strides.channel;
    for (int64_t f = 0; f < columns_; ++f) {
      Reduce(sums, k * padded_columns_ + f, size, accumulate, to + f * strides.filter);
    }
  }
  for (int64_t f = 0; dbias != nullptr && f < columns_; ++f) {
    Reduce(bias_sums, f, bias_size, accumulate, dbias + f);
  }
}

template struct ImageBatch<float>;
template struct ImageBatch<double>;
template struct ImageBatch<const float>;
template struct ImageBatch<const double>;
template class Planar<float>;
template class Planar<double>;

}  // namespace dtnn::i2c
