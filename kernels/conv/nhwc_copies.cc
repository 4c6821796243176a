#include "kernels/conv/nhwc_copies.h"

#include <algorithm>
#include <utility>

#include "absl/functional/function_ref.h"
#include "kernels/conv/transpose.h"
#include "kernels/scratch.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv {
namespace {

// Of the copies of both sides.
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
};

template <typename T>
Images<T> CopyToNhwc(const Side& side, const Images<const T>& from, int64_t images, T* memory) {
  ForSlices(images, side.pixels, [&](int64_t image, int64_t first, int64_t size) {
    Transpose(from.data + image * from.image + first, side.channels, size, from.channel,
              memory + (image * side.pixels + first) * side.channels, side.channels);
  });
  return side.Copies(memory);
}

template <typename T>
class DataCopies final : public DataKernel<T> {
 public:
  using typename DataKernel<T>::Call;

  DataCopies(const Conv2dSpec& spec, Direction direction, std::unique_ptr<DataKernel<T>> kernel)
      : kernel_(std::move(kernel)),
        in_(Side::Input(spec)),
        out_(Side::Output(spec)),
        chunk_(NhwcSpec(spec).batch) {
    if (direction == Direction::kBackwardData) std::swap(in_, out_);
  }

  int64_t derived_elements() const override { return kernel_->derived_elements(); }
  void DeriveFilter(const Filter<const T>& filter, T* derived) const override {
    kernel_->DeriveFilter(filter, derived);
  }
  size_t workspace_bytes() const override { return Divide(nullptr).bytes; }

  void Run(const Call& call) const override {
    const Memory memory = Divide(call.workspace);
    const Images<const T>& addend = call.write_back.addend;
    // With an addend, which is in NCHW order, the rest of the epilogue waits for it.
    const bool relu_later = call.write_back.relu && addend.data != nullptr;
    Call inner = call;
    inner.workspace = memory.inner;
    inner.write_back.addend = {};
    inner.write_back.relu = call.write_back.relu && !relu_later;
    inner.out = out_.Copies(memory.out);
    for (int64_t begin = 0; begin < call.images; begin += chunk_) {
      inner.images = std::min(chunk_, call.images - begin);
      inner.in = CopyToNhwc(in_, call.in.From(begin, 0), inner.images, memory.in);
      kernel_->Run(inner);
      const int64_t columns = out_.channels;
      ForSlices(inner.images, out_.pixels, [&](int64_t image, int64_t first, int64_t size) {
        const T* from = memory.out + (image * out_.pixels + first) * columns;
        T* to = call.out.data + (begin + image) * call.out.image + first;
        if (addend.data == nullptr) {
          return Transpose(from, size, columns, columns, to, call.out.channel);
        }
        const T* add = addend.data + (begin + image) * addend.image + first;
        for (int64_t f = 0; f < columns; ++f) {
          for (int64_t p = 0; p < size; ++p) {
            const T value = from[p * columns + f] + add[f * addend.channel + p];
            to[f * call.out.channel + p] = relu_later && value < 0 ? T(0) : value;
          }
        }
      });
    }
  }

 private:
  struct Memory {
    T *in, *out;
    std::byte* inner;
    size_t bytes;
  };
  Memory Divide(std::byte* workspace) const {
    ScratchDivider divider(workspace);
    Memory memory;
    memory.in = divider.Take<T>(chunk_ * in_.elements());
    memory.out = divider.Take<T>(chunk_ * out_.elements());
    memory.inner = divider.Take<std::byte>(int64_t(kernel_->workspace_bytes()));
    memory.bytes = divider.bytes();
    return memory;
  }

  std::unique_ptr<DataKernel<T>> kernel_;
  Side in_, out_;
  int64_t chunk_;
};

template <typename T>
class FilterCopies final : public FilterKernel<T> {
 public:
  using typename FilterKernel<T>::Gradient;

  FilterCopies(const Conv2dSpec& spec, std::unique_ptr<FilterKernel<T>> kernel)
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
      kernel_->Sum(CopyToNhwc(x_, x.From(begin, 0), count, memory.x),
                   CopyToNhwc(dy_, dy.From(begin, 0), count, memory.dy), count, first && begin == 0,
                   gradient, memory.inner);
    }
  }
  void Write(const Gradient& gradient, std::byte* workspace) const override {
    kernel_->Write(gradient, Divide(workspace).inner);
  }

 private:
  struct Memory {
    T *x, *dy;
    std::byte* inner;
    size_t bytes;
  };
  Memory Divide(std::byte* workspace) const {
    ScratchDivider divider(workspace);
    Memory memory;
    memory.x = divider.Take<T>(chunk_ * x_.elements());
    memory.dy = divider.Take<T>(chunk_ * dy_.elements());
    memory.inner = divider.Take<std::byte>(int64_t(kernel_->workspace_bytes()));
    memory.bytes = divider.bytes();
    return memory;
  }

  std::unique_ptr<FilterKernel<T>> kernel_;
  Side x_, dy_;
  int64_t chunk_;
};

}  // namespace

Conv2dSpec NhwcSpec(const Conv2dSpec& nchw) {
  const int64_t element = nchw.dtype == DType::kFloat64 ? 8 : 4;
  const int64_t image = (Side::Input(nchw).elements() + Side::Output(nchw).elements()) * element;
  Conv2dSpec spec = nchw;
  spec.filter_format = nchw.filter_format.value_or(nchw.format);
  spec.format = TensorFormat::kNHWC;
  spec.batch = std::clamp<int64_t>(kChunkBytes / image, 1, nchw.batch);
  return spec;
}

template <typename T>
std::unique_ptr<DataKernel<T>> WithNhwcCopies(const Conv2dSpec& spec, Direction direction,
                                              std::unique_ptr<DataKernel<T>> kernel) {
  return std::make_unique<DataCopies<T>>(spec, direction, std::move(kernel));
}
template <typename T>
std::unique_ptr<FilterKernel<T>> WithNhwcCopies(const Conv2dSpec& spec,
                                                std::unique_ptr<FilterKernel<T>> kernel) {
  return std::make_unique<FilterCopies<T>>(spec, std::move(kernel));
}

template std::unique_ptr<DataKernel<float>> WithNhwcCopies(const Conv2dSpec&, Direction,
                                                           std::unique_ptr<DataKernel<float>>);
template std::unique_ptr<DataKernel<double>> WithNhwcCopies(const Conv2dSpec&, Direction,
                                                            std::unique_ptr<DataKernel<double>>);
template std::unique_ptr<FilterKernel<float>> WithNhwcCopies(const Conv2dSpec&,
                                                             std::unique_ptr<FilterKernel<float>>);
template std::unique_ptr<FilterKernel<double>> WithNhwcCopies(
    const Conv2dSpec&, std::unique_ptr<FilterKernel<double>>);

}  // namespace dtnn::conv
