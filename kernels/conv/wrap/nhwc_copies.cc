#include "kernels/conv/wrap/nhwc_copies.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/functional/function_ref.h"
#include "kernels/cast/bfloat16.h"
#include "kernels/conv/geometry/transpose.h"
#include "kernels/workspace/scratch.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv {
namespace {

// The copies of both sides, at most: those of 16 bits take half of it.
constexpr int64_t kChunkBytes = 4 << 20;

// Calls work(image, first pixel, number of pixels) for slices of all images, in parallel.
void ForSlices(int64_t images, int64_t pixels,
               absl::FunctionRef<void(int64_t, int64_t, int64_t)> work) {
  constexpr int64_t kSlice = 128;
  const int64_t slices = CeilDiv(pixels, kSlice);
  ParallelFor(0, images * slices, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % slices * kSlice;
      work(i / slices, first, std::min(kSlice, pixels - first));
    }
  });
}

// `count` elements that lie side by side.
template <typename T>
void Convert(const T* from, int64_t count, T* to) {
  std::copy_n(from, count, to);
}
void Convert(const Bfloat16* from, int64_t count, float* to) { Widen(from, count, to); }
void Convert(const float* from, int64_t count, Bfloat16* to) { Round(from, count, to); }

template <typename T, typename U>
void ConvertPixels(const T* from, int64_t from_step, int64_t pixels, int64_t channels, U* to,
                   int64_t to_step) {
  if (from_step == channels && to_step == channels) return Convert(from, pixels * channels, to);
  for (int64_t p = 0; p < pixels; ++p) Convert(from + p * from_step, channels, to + p * to_step);
}

// to[j * to_pitch + i] = from[i * from_pitch + j] for i < rows, j < columns.
template <typename T, typename U>
void TransposeInto(const T* from, int64_t rows, int64_t columns, int64_t from_pitch, U* to,
                   int64_t to_pitch) {
  if constexpr (std::is_same_v<T, U> && std::is_floating_point_v<T>) {
    Transpose(from, rows, columns, from_pitch, to, to_pitch);
  } else if constexpr (std::is_same_v<T, U>) {
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t i = 0; i < rows; ++i) to[j * to_pitch + i] = from[i * from_pitch + j];
    }
  } else {
    // By way of a block in the other type, which stays in the L1 cache.
    constexpr int64_t kBlock = 32;
    U block[kBlock * kBlock];
    for (int64_t i = 0; i < rows; i += kBlock) {
      for (int64_t j = 0; j < columns; j += kBlock) {
        const int64_t height = std::min(kBlock, rows - i), width = std::min(kBlock, columns - j);
        for (int64_t k = 0; k < height; ++k) {
          Convert(from + (i + k) * from_pitch + j, width, block + k * kBlock);
        }
        TransposeInto(block, height, width, kBlock, to + j * to_pitch + i, to_pitch);
      }
    }
  }
}

// One side: the images of x or of y.
struct Side {
  int64_t width, pixels, channels;

  static Side Input(const Conv2dSpec& s) { return {s.width, s.height * s.width, s.channels}; }
  static Side Output(const Conv2dSpec& s) {
    return {s.out_width(), s.out_height() * s.out_width(), s.filters};
  }
  int64_t elements() const { return pixels * channels; }
  template <typename T>
  Images<T> Copies(T* memory) const {
    return {memory, elements(), width * channels, channels, 1};
  }
  // The address of a pixel; in both formats those of an image lie a constant step apart.
  template <typename T>
  T* At(const Images<T>& images, int64_t image, int64_t pixel) const {
    return images.data + image * images.image + pixel * images.pixel;
  }
};

template <typename T, typename U>
Images<U> CopyToNhwc(const Side& side, const Images<const T>& from, int64_t images, U* memory) {
  const Images<U> copies = side.Copies(memory);
  ForSlices(images, side.pixels, [&](int64_t image, int64_t first, int64_t size) {
    const T* const source = side.At(from, image, first);
    U* const to = side.At(copies, image, first);
    if (from.channel != 1) {
      return TransposeInto(source, side.channels, size, from.channel, to, side.channels);
    }
    ConvertPixels(source, from.pixel, size, side.channels, to, side.channels);
  });
  return copies;
}

template <typename T, typename U>
void CopyFromNhwc(const Side& side, const U* memory, int64_t images, const Images<T>& to) {
  const Images<const U> copies = side.Copies(memory);
  ForSlices(images, side.pixels, [&](int64_t image, int64_t first, int64_t size) {
    const U* const source = side.At(copies, image, first);
    T* const target = side.At(to, image, first);
    if (to.channel != 1) {
      return TransposeInto(source, size, side.channels, side.channels, target, to.channel);
    }
    ConvertPixels(source, side.channels, size, side.channels, target, to.pixel);
  });
}

// A filter in the type of the kernel within, dense, in the order of axes that it has.
template <typename T, typename U>
struct FilterCopy {
  int64_t taps, channels, filters;

  explicit FilterCopy(const Conv2dSpec& s)
      : taps(s.kernel.vertical * s.kernel.horizontal),
        channels(s.channels / s.groups),
        filters(s.filters) {}
  int64_t elements() const { return std::is_same_v<T, U> ? 0 : taps * channels * filters; }
  Filter<const U> Fill(const Filter<const T>& filter, U* memory) const {
    if constexpr (std::is_same_v<T, U>) {
      return filter;
    } else {
      // Rows of what lies side by side: the filters, or the taps of all channels.
      const bool filters_last = filter.filter == 1;
      const int64_t row = filters_last ? filters : taps * channels;
      const int64_t rows = filters_last ? taps * channels : filters;
      ParallelFor(0, rows, 1 + 16384 / row, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T* const from =
              filters_last ? filter.data + i / taps * filter.channel + i % taps * filter.tap
                           : filter.data + i * filter.filter;
          Convert(from, row, memory + i * row);
        }
      });
      if (filters_last) return {memory, filters, taps * filters, 1};
      return {memory, 1, taps, taps * channels};
    }
  }
};

template <typename T, typename U>
class DataCopies final : public DataKernel<T> {
 public:
  using typename DataKernel<T>::Call;

  DataCopies(const Conv2dSpec& spec, Direction direction, std::unique_ptr<DataKernel<U>> kernel)
      : kernel_(std::move(kernel)),
        in_(Side::Input(spec)),
        out_(Side::Output(spec)),
        filter_(spec),
        chunk_(NhwcSpec(spec).batch) {
    if (direction == Direction::kBackwardData) std::swap(in_, out_);
  }

  int64_t derived_elements() const override {
    return kernel_->derived_elements() * int64_t(sizeof(U) / sizeof(T));
  }
  void DeriveFilter(const Filter<const T>& filter, T* derived,
                    std::byte* workspace) const override {
    if (kernel_->derived_elements() == 0) return;
    const Memory memory = Divide(workspace);
    kernel_->DeriveFilter(filter_.Fill(filter, memory.filter), reinterpret_cast<U*>(derived),
                          memory.inner);
  }
  size_t workspace_bytes() const override { return Divide(nullptr).bytes; }

  void Run(const Call& call) const override {
    const Memory memory = Divide(call.workspace);
    const Images<const T>& addend = call.write_back.addend;
    typename DataKernel<U>::Call inner;
    inner.filter = reinterpret_cast<const U*>(call.filter);
    if constexpr (std::is_same_v<T, U>) {
      inner.weights = call.weights;
    } else {
      inner.weights16 = call.weights;
    }
    inner.write_back.scale = call.write_back.scale;
    inner.write_back.bias = call.write_back.bias;
    inner.write_back.relu = call.write_back.relu;
    inner.out = out_.Copies(memory.out);
    inner.workspace = memory.inner;
    for (int64_t begin = 0; begin < call.images; begin += chunk_) {
      inner.images = std::min(chunk_, call.images - begin);
      inner.in = CopyToNhwc<T>(in_, call.in.From(begin, 0), inner.images, memory.in);
      if (addend.data != nullptr) {
        inner.write_back.addend =
            CopyToNhwc<T>(out_, addend.From(begin, 0), inner.images, memory.out);
      }
      kernel_->Run(inner);
      CopyFromNhwc(out_, memory.out, inner.images, call.out.From(begin, 0));
    }
  }

 private:
  struct Memory {
    U *in, *out;
    U* filter;  // while it is derived, in the place of the images
    std::byte* inner;
    size_t bytes;
  };
  Memory Divide(std::byte* workspace) const {
    const int64_t in = RoundUp(chunk_ * in_.elements(), kVectorPadding);
    const int64_t images = in + chunk_ * out_.elements();
    const int64_t filter = kernel_->derived_elements() == 0 ? 0 : filter_.elements();
    ScratchDivider divider(workspace);
    Memory memory;
    memory.in = memory.filter = divider.Take<U>(std::max(images, filter));
    memory.out = memory.in == nullptr ? nullptr : memory.in + in;
    memory.inner = divider.Take<std::byte>(int64_t(kernel_->workspace_bytes()));
    memory.bytes = divider.bytes();
    return memory;
  }

  std::unique_ptr<DataKernel<U>> kernel_;
  Side in_, out_;
  FilterCopy<T, U> filter_;
  int64_t chunk_;
};

template <typename T, typename U>
class FilterCopies final : public FilterKernel<T> {
 public:
  using typename FilterKernel<T>::Gradient;

  FilterCopies(const Conv2dSpec& spec, std::unique_ptr<FilterKernel<U>> kernel)
      : kernel_(std::move(kernel)),
        x_(Side::Input(spec)),
        dy_(Side::Output(spec)),
        chunk_(NhwcSpec(spec).batch) {}

  size_t workspace_bytes() const override { return Divide(nullptr).bytes; }

  void Sum(const Images<const T>& x, const Images<const T>& dy, int64_t images, bool first,
           const Gradient& gradient, std::byte* workspace) const override {
    const Memory memory = Divide(workspace);
    for (int64_t begin = 0; begin == 0 || begin < images; begin += chunk_) {
      const int64_t count = std::min(chunk_, images - begin);
      kernel_->Sum(CopyToNhwc<T>(x_, x.From(begin, 0), count, memory.x),
                   CopyToNhwc<T>(dy_, dy.From(begin, 0), count, memory.dy), count,
                   first && begin == 0, Inner(gradient), memory.inner);
    }
  }
  void Write(const Gradient& gradient, std::byte* workspace) const override {
    kernel_->Write(Inner(gradient), Divide(workspace).inner);
  }

 private:
  struct Memory {
    U *x, *dy;
    std::byte* inner;
    size_t bytes;
  };
  static typename FilterKernel<U>::Gradient Inner(const Gradient& gradient) {
    return {gradient.dfilter, gradient.dbias, gradient.accumulate};
  }
  Memory Divide(std::byte* workspace) const {
    ScratchDivider divider(workspace);
    Memory memory;
    memory.x = divider.Take<U>(chunk_ * x_.elements());
    memory.dy = divider.Take<U>(chunk_ * dy_.elements());
    memory.inner = divider.Take<std::byte>(int64_t(kernel_->workspace_bytes()));
    memory.bytes = divider.bytes();
    return memory;
  }

  std::unique_ptr<FilterKernel<U>> kernel_;
  Side x_, dy_;
  int64_t chunk_;
};

}  // namespace

Conv2dSpec NhwcSpec(const Conv2dSpec& of) {
  const int64_t element = of.dtype == DType::kFloat64 ? 8 : 4;
  const int64_t image = (Side::Input(of).elements() + Side::Output(of).elements()) * element;
  Conv2dSpec spec = of;
  spec.filter_format = of.filter_format.value_or(of.format);
  spec.format = TensorFormat::kNHWC;
  spec.batch = std::clamp<int64_t>(kChunkBytes / image, 1, of.batch);
  return spec;
}

template <typename T, typename U>
std::unique_ptr<DataKernel<T>> WithNhwcCopies(const Conv2dSpec& spec, Direction direction,
                                              std::unique_ptr<DataKernel<U>> kernel) {
  return std::make_unique<DataCopies<T, U>>(spec, direction, std::move(kernel));
}
template <typename T, typename U>
std::unique_ptr<FilterKernel<T>> WithNhwcCopies(const Conv2dSpec& spec,
                                                std::unique_ptr<FilterKernel<U>> kernel) {
  return std::make_unique<FilterCopies<T, U>>(spec, std::move(kernel));
}

#define DTNN_INSTANTIATE(T, U)                                                                  \
  template std::unique_ptr<DataKernel<T>> WithNhwcCopies<T, U>(const Conv2dSpec&, Direction,    \
                                                               std::unique_ptr<DataKernel<U>>); \
  template std::unique_ptr<FilterKernel<T>> WithNhwcCopies<T, U>(const Conv2dSpec&,             \
                                                                 std::unique_ptr<FilterKernel<U>>)
DTNN_INSTANTIATE(float, float);
DTNN_INSTANTIATE(double, double);
DTNN_INSTANTIATE(Bfloat16, float);
DTNN_INSTANTIATE(Bfloat16, Bfloat16);
#undef DTNN_INSTANTIATE

}  // namespace dtnn::conv
