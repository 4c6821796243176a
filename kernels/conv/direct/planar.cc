#include "kernels/conv/direct/planar.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/cast/bfloat16.h"
#include "kernels/conv/geometry/phases.h"
#include "kernels/workspace/scratch.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::direct {
namespace {

constexpr int64_t kStripBytes = 48 << 10;  // of the planes of both sides: about the L1 cache
// With this many output channels a vector of them is full, and the gemm variant is better.
constexpr int64_t kManyOutChannels = 16;
constexpr int64_t kMostDepth = 32;
constexpr int64_t kNarrow = 8;  // on narrower maps too much is computed between the rows
// Beyond these, a strip of planes is far from any cache; they also bound the list of offsets.
constexpr int64_t kMostTerms = 4096;
constexpr int64_t kMostReach = 64;

// Compilers do not see a memset in std::fill of floating zeros.
template <typename T>
void Zero(T* to, int64_t count) {
  std::memset(to, 0, size_t(count) * sizeof(T));
}

template <typename T>
PixelRow<T> RowOf(const Images<T>& images, int64_t image, int64_t row) {
  return {images.At(image, row), images.pixel, images.channel};
}

// Calls convert(from, count, to) for pixels of a row, and what lies side by side in the same order
// in `memory`; returns that.
template <typename T, typename U, class Convert>
PixelRow<U> ConvertRow(const PixelRow<T>& row, int64_t pixels, int64_t channels, U* memory,
                       const Convert& convert) {
  if (row.channel_stride != 1) {
    for (int64_t c = 0; c < channels; ++c) {
      convert(row.data + c * row.channel_stride, pixels, memory + c * pixels);
    }
    return {memory, 1, pixels};
  }
  if (row.pixel_stride == channels) {
    convert(row.data, pixels * channels, memory);
  } else {
    for (int64_t p = 0; p < pixels; ++p) {
      convert(row.data + p * row.pixel_stride, channels, memory + p * channels);
    }
  }
  return {memory, channels, 1};
}

// A row of images to compute with; `memory` holds it where that is another type.
template <typename T>
PixelRow<const Wide<T>> WideRow(const PixelRow<const T>& row, int64_t pixels, int64_t channels,
                                Wide<T>* memory) {
  if constexpr (std::is_same_v<T, Wide<T>>) {
    return row;
  } else {
    if (row.data == nullptr) return {};
    const PixelRow<Wide<T>> wide =
        ConvertRow(row, pixels, channels, memory,
                   [](const T* from, int64_t count, Wide<T>* to) { Widen(from, count, to); });
    return {wide.data, wide.pixel_stride, wide.channel_stride};
  }
}

// Outputs that a product with `out_channels` to come computes together.
template <typename T>
int Rows(const PlanarKernels<T>& kernels, int64_t out_channels) {
  return out_channels >= kernels.max_rows ? kernels.max_rows : 4;
}

bool Suits(const Conv2dSpec& s, int64_t depth, int64_t out_channels, int64_t width) {
  return s.stride == Pair(1) && depth <= kMostDepth && out_channels < kManyOutChannels &&
         width >= kNarrow && (s.kernel.horizontal - 1) * s.dilation.horizontal <= width / 2 &&
         (s.kernel.vertical - 1) * s.dilation.vertical <= kMostReach &&
         s.kernel.vertical * s.kernel.horizontal * depth <= kMostTerms;
}

}  // namespace

bool SuitsPlanes(const Conv2dSpec& s, Direction direction) {
  if (direction == Direction::kBackwardData) return Suits(s, s.filters, s.channels, s.width);
  return Suits(s, s.channels, s.filters, s.out_width());
}

template <typename T>
Planes<T>::Planes(const Conv2dSpec& s, Direction direction)
    : kernels_(CpuPlanarKernels<Value>()), threads_(NumThreads()) {
  const Phase vertical = VerticalPhases(s, direction).front();
  const Phase horizontal = HorizontalPhases(s, direction).front();
  in_height_ = vertical.inputs, in_width_ = horizontal.inputs, depth_ = s.channels;
  out_height_ = vertical.count, out_width_ = horizontal.count, out_channels_ = s.filters;
  if (direction == Direction::kBackwardData) std::swap(depth_, out_channels_);
  padded_out_channels_ = RoundUp(out_channels_, 4);
  reach_vertical_ = vertical.high - vertical.low;
  origin_vertical_ = -vertical.low;
  origin_horizontal_ = -horizontal.low;
  pitch_ = horizontal.Reach(out_width_);
  const int64_t row_bytes = (depth_ + padded_out_channels_) * pitch_ * int64_t(sizeof(Value));
  strip_ = std::clamp<int64_t>(kStripBytes / row_bytes, 1, out_height_);
  plane_ = RoundUp((strip_ + reach_vertical_) * pitch_, kernels_.lanes);
  out_plane_ = RoundUp(strip_ * pitch_, 3 * kernels_.lanes);
  for (const Phase::Tap& a : vertical.taps) {
    for (const Phase::Tap& b : horizontal.taps) {
      const int64_t down = a.offset - vertical.low, right = b.offset - horizontal.low;
      for (int64_t c = 0; c < depth_; ++c) {
        offsets_.push_back(c * plane_ + down * pitch_ + right);
      }
    }
  }
}

template <typename T>
typename Planes<T>::Scratch Planes<T>::Divide(std::byte* memory) const {
  ScratchDivider divider(memory);
  Scratch scratch;
  // Vectors read past the last plane by at most a row and three vectors.
  scratch.in_size = depth_ * plane_ + pitch_ + 4 * kernels_.lanes;
  scratch.in = divider.Take<Value>(scratch.in_size);
  scratch.out = divider.Take<Value>(padded_out_channels_ * out_plane_);
  const bool wide = std::is_same_v<T, Value>;
  const int64_t out_row = out_width_ * out_channels_;
  scratch.row = divider.Take<Value>(wide ? 0 : std::max(in_width_ * depth_, out_row));
  scratch.addend = divider.Take<Value>(wide ? 0 : out_row);
  scratch.bytes = divider.bytes();
  return scratch;
}

// Blocks of max_rows output channels, then of 4: [block][term][channel of the block].
template <typename T>
void PlanarData<T>::DeriveFilter(const Filter<const T>& filter, T* derived, std::byte*) const {
  const int64_t depth_step = backward_ ? filter.filter : filter.channel;
  const int64_t out_step = backward_ ? filter.channel : filter.filter;
  Value* to = reinterpret_cast<Value*>(derived);
  for (int64_t first = 0; first < this->padded_out_channels_;) {
    const int64_t rows = Rows(this->kernels_, this->padded_out_channels_ - first);
    for (int64_t k = 0; k < this->terms(); ++k) {
      const T* from = filter.data + k / this->depth_ * filter.tap + k % this->depth_ * depth_step;
      for (int64_t j = first; j < first + rows; ++j) {
        *to++ = j < this->out_channels_ ? Value(from[j * out_step]) : Value(0);
      }
    }
    first += rows;
  }
}

// The margins of the rows are zero from the start and never written.
template <typename T>
void Planes<T>::Fill(const Images<const T>& in, int64_t image, int64_t first, int64_t rows,
                     const Scratch& scratch) const {
  const int64_t left = std::clamp<int64_t>(origin_horizontal_, 0, pitch_);
  const int64_t skipped = std::max<int64_t>(-origin_horizontal_, 0);
  const int64_t pixels = std::clamp<int64_t>(in_width_ - skipped, 0, pitch_ - left);
  for (int64_t r = 0; r < rows + reach_vertical_; ++r) {
    Value* const line = scratch.in + r * pitch_;
    const int64_t h = first + r - origin_vertical_;
    if (h < 0 || h >= in_height_) {
      for (int64_t c = 0; c < depth_; ++c) Zero(line + c * plane_, pitch_);
      continue;
    }
    PixelRow<const T> row = RowOf(in, image, h);
    row.data += skipped * row.pixel_stride;
    kernels_.to_planes(WideRow(row, pixels, depth_, scratch.row), pixels, depth_, line + left,
                       plane_);
  }
}

template <typename T>
void PlanarData<T>::WriteRow(const Scratch& scratch, int64_t row,
                             const PixelRow<const Value>& addend, bool relu,
                             const PixelRow<T>& out) const {
  const auto write = [&](const PixelRow<Value>& to) {
    this->kernels_.from_planes(scratch.out + row * this->pitch_, this->out_plane_, this->out_width_,
                               this->out_channels_, addend, relu, to);
  };
  if constexpr (std::is_same_v<T, Value>) {
    write(out);
  } else {
    const int64_t pixels = this->out_width_, channels = this->out_channels_;
    write(out.channel_stride == 1 ? PixelRow<Value>{scratch.row, channels, 1}
                                  : PixelRow<Value>{scratch.row, 1, pixels});
    ConvertRow(out, pixels, channels, scratch.row,
               [](T* to, int64_t count, const Value* from) { Round(from, count, to); });
  }
}

template <typename T>
void PlanarData<T>::Run(const Call& call) const {
  const WriteBack<T>& write_back = call.write_back;
  const int64_t strips = this->strips();
  const bool relu_later = write_back.relu && write_back.addend.data != nullptr;
  const auto* const filter = reinterpret_cast<const Value*>(call.filter);
  ParallelForWithScratch(
      call.images * strips, 1, this->threads_, [&](int thread, int64_t begin, int64_t end) {
        const auto mine = this->Divide(call.workspace + size_t(thread) * this->thread_bytes());
        Zero(mine.in, mine.in_size);
        for (int64_t item = begin; item < end; ++item) {
          const int64_t image = item / strips, first = item % strips * this->strip_;
          const int64_t rows = std::min(this->strip_, this->out_height_ - first);
          this->Fill(call.in, image, first, rows, mine);
          PlanarProduct<Value> product;
          product.x = mine.in;
          product.offsets = this->offsets_.data();
          product.terms = this->terms();
          product.out_pitch = this->out_plane_;
          product.count = RoundUp(rows * this->pitch_, 3 * this->kernels_.lanes);
          product.relu = write_back.relu && !relu_later;
          for (int64_t f = 0; f < this->padded_out_channels_; f += product.rows) {
            product.rows = Rows(this->kernels_, this->padded_out_channels_ - f);
            product.filter = filter + f * this->terms();
            product.out = mine.out + f * this->out_plane_;
            product.scale = write_back.scale != nullptr ? write_back.scale + f : nullptr;
            product.bias = write_back.bias != nullptr ? write_back.bias + f : nullptr;
            this->kernels_.multiply(product);
          }
          for (int64_t r = 0; r < rows; ++r) {
            const PixelRow<T> out = RowOf(call.out, image, first + r);
            const auto addend = WideRow(RowOf(write_back.addend, image, first + r),
                                        this->out_width_, this->out_channels_, mine.addend);
            this->WriteRow(mine, r, addend, relu_later, out);
          }
        }
      });
}

template <typename T>
size_t PlanarFilter<T>::OwnBytes() const {
  return size_t(PartSums()) * sizeof(Value) + this->thread_bytes();
}

template <typename T>
size_t PlanarFilter<T>::workspace_bytes() const {
  return SharedBytes() + size_t(this->threads_) * OwnBytes();
}

template <typename T>
void PlanarFilter<T>::SumStrip(const Images<const T>& x, const Images<const T>& dy, int64_t image,
                               int64_t strip, const Scratch& scratch, Value* sums,
                               Value* dy_sums) const {
  const int64_t pitch = this->pitch_, out_plane = this->out_plane_;
  const int64_t first = strip * this->strip_;
  const int64_t rows = std::min(this->strip_, this->out_height_ - first);
  const int64_t count = RoundUp(rows * pitch, this->kernels_.lanes);
  this->Fill(x, image, first, rows, scratch);
  // The columns between the rows of dy are zero from the start, whatever x holds there; so must be
  // what a taller strip left.
  for (int64_t f = 0; rows < this->strip_ && f < this->out_channels_; ++f) {
    Zero(scratch.out + f * out_plane + rows * pitch, count - rows * pitch);
  }
  for (int64_t r = 0; r < rows; ++r) {
    const auto row =
        WideRow(RowOf(dy, image, first + r), this->out_width_, this->out_channels_, scratch.row);
    this->kernels_.to_planes(row, this->out_width_, this->out_channels_, scratch.out + r * pitch,
                             out_plane);
  }
  PlanarSums<Value> job;
  job.x = scratch.in;
  job.offsets = this->offsets_.data();
  job.terms = this->terms();
  job.dy = scratch.out;
  job.dy_pitch = out_plane;
  job.filters = this->padded_out_channels_;
  job.count = count;
  job.sums = sums;
  job.dy_sums = dy_sums;
  this->kernels_.correlate(job);
}

// The filter's sums of a strip by their definition, into the first lane of each.
template <typename T>
void PlanarFilter<T>::SumStripInPlace(const Images<const T>& x, const Images<const T>& dy,
                                      int64_t image, int64_t strip, Value* sums) const {
  const int64_t first = strip * this->strip_;
  const int64_t end = std::min(this->out_height_, first + this->strip_);
  for (int64_t k = 0; k < this->terms(); ++k) {
    const int64_t offset = this->offsets_[size_t(k)], in_plane = offset % this->plane_;
    const int64_t down = in_plane / this->pitch_ - this->origin_vertical_;
    const int64_t right = in_plane % this->pitch_ - this->origin_horizontal_;
    const int64_t begin = std::max<int64_t>(0, -right);
    const int64_t columns = std::min(this->out_width_, this->in_width_ - right);
    const Images<const T> channel = x.From(image, offset / this->plane_);
    for (int64_t row = first; row < end; ++row) {
      if (row + down < 0 || row + down >= this->in_height_) continue;
      const T* const in = channel.At(0, row + down) + right * x.pixel;
      for (int64_t f = 0; f < this->out_channels_; ++f) {
        const T* const gradient = dy.At(image, row) + f * dy.channel;
        Value sum = 0;
        for (int64_t w = begin; w < columns; ++w) {
          sum += Value(in[w * x.pixel]) * Value(gradient[w * dy.pixel]);
        }
        sums[(k * this->padded_out_channels_ + f) * this->kernels_.lanes] += sum;
      }
    }
  }
}

// to = (accumulate ? to : 0) + the lanes of element `at` of all parts, in order.
template <typename T>
void PlanarFilter<T>::Reduce(const Value* sums, int64_t at, bool accumulate, Value* to) const {
  Value total = accumulate ? *to : Value(0);
  for (int64_t part = 0; part < kParts; ++part) {
    const Value* lanes = sums + part * PartSums() + at * this->kernels_.lanes;
    for (int64_t j = 0; j < this->kernels_.lanes; ++j) total += lanes[j];
  }
  *to = total;
}

template <typename T>
void PlanarFilter<T>::Sum(const Images<const T>& x, const Images<const T>& dy, int64_t images,
                          bool first, const Gradient& gradient, std::byte* workspace) const {
  const int64_t strips = this->strips(), items = images * strips;
  ParallelForWithScratch(kParts, 1, this->threads_, [&](int thread, int64_t begin, int64_t end) {
    std::byte* const own = workspace + SharedBytes() + size_t(thread) * OwnBytes();
    auto* const added = reinterpret_cast<Value*>(own);
    const Scratch mine = this->Divide(own + size_t(PartSums()) * sizeof(Value));
    Zero(mine.in, mine.in_size);
    Zero(mine.out, this->padded_out_channels_ * this->out_plane_);
    for (int64_t part = begin; part < end; ++part) {
      const auto for_strips = [&](const auto& sum) {
        for (int64_t item = items * part / kParts; item < items * (part + 1) / kParts; ++item) {
          sum(item / strips, item % strips);
        }
      };
      Value* const all = reinterpret_cast<Value*>(workspace) + part * PartSums();
      Value* const sums = first ? all : added;
      Zero(sums, PartSums());
      for_strips([&](int64_t image, int64_t strip) {
        SumStrip(x, dy, image, strip, mine, sums,
                 gradient.dbias != nullptr ? sums + FilterSums() : nullptr);
      });
      if (this->kernels_.has_nan(sums, FilterSums())) {
        Zero(sums, FilterSums());
        for_strips(
            [&](int64_t image, int64_t strip) { SumStripInPlace(x, dy, image, strip, sums); });
      }
      for (int64_t i = 0; !first && i < PartSums(); ++i) all[i] += sums[i];
    }
  });
}

template <typename T>
void PlanarFilter<T>::Write(const Gradient& gradient, std::byte* workspace) const {
  const Filter<Value>& dfilter = gradient.dfilter;
  const auto* const sums = reinterpret_cast<const Value*>(workspace);
  for (int64_t k = 0; k < this->terms(); ++k) {
    Value* to = dfilter.data + k / this->depth_ * dfilter.tap + k % this->depth_ * dfilter.channel;
    for (int64_t f = 0; f < this->out_channels_; ++f) {
      Reduce(sums, k * this->padded_out_channels_ + f, gradient.accumulate,
             to + f * dfilter.filter);
    }
  }
  for (int64_t f = 0; gradient.dbias != nullptr && f < this->out_channels_; ++f) {
    Reduce(sums + FilterSums(), f, gradient.accumulate, gradient.dbias + f);
  }
}

template class Planes<float>;
template class Planes<double>;
template class Planes<Bfloat16>;
template class PlanarData<float>;
template class PlanarData<double>;
template class PlanarData<Bfloat16>;
template class PlanarFilter<float>;
template class PlanarFilter<double>;
template class PlanarFilter<Bfloat16>;

}  // namespace dtnn::conv::direct
