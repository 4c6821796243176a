#include "kernels/conv/gemm/row_patches.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/conv/gemm/filter_gemm.h"
#include "kernels/conv/gemm/gather_gemm.h"
#include "kernels/workspace/scratch.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::gemm {
namespace {

// With more channels, a tap alone is long enough for the products.
constexpr int64_t kFewChannels = 8;
constexpr int64_t kCopyBytes = 512 << 10;  // of the images that are in padded rows at a time

// The padded rows of a convolution's images, and the convolution over them.
template <typename T>
class PaddedRows {
 public:
  explicit PaddedRows(const Conv2dSpec& spec)
      : spec_(spec),
        pixel_(spec.stride.horizontal * spec.channels),
        height_(spec.height + 2 * spec.padding.vertical),
        // In wide pixels, a last one of which may reach past the padding.
        width_(CeilDiv(spec.width + 2 * spec.padding.horizontal, spec.stride.horizontal)) {
    const int64_t image = elements(1) * int64_t(sizeof(T));
    batch_ = std::clamp<int64_t>(kCopyBytes / image, 1, spec.batch);
  }

  // The spec of the kernel that reads the rows.
  Conv2dSpec RowSpec() const {
    Conv2dSpec row = spec_;
    row.batch = batch_;
    row.height = height_;
    row.width = spec_.out_width();
    row.channels = spec_.kernel.horizontal * spec_.channels;
    row.kernel.horizontal = 1;
    row.stride.horizontal = 1;
    row.padding = 0;
    return row;
  }
  int64_t batch() const { return batch_; }
  int64_t elements(int64_t images) const {
    // The last pixels of the last row reach over its end.
    return images * height_ * RowElements() + spec_.kernel.horizontal * spec_.channels;
  }

  // Zeros the rows, whose padding Copy does not write.
  void Clear(T* rows) const { std::memset(rows, 0, size_t(elements(batch_)) * sizeof(T)); }
  Images<const T> Copy(const Images<const T>& images, int64_t count, T* rows) const {
    const int64_t top = spec_.padding.vertical, left = spec_.padding.horizontal * spec_.channels;
    ParallelFor(0, count * spec_.height, 8, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / spec_.height, row = i % spec_.height;
        T* to = rows + (image * height_ + top + row) * RowElements() + left;
        CopyRow(images.At(image, row), images.pixel, images.channel, to);
      }
    });
    return {rows, height_ * RowElements(), RowElements(), pixel_, 1};
  }

  // The filter in the order of the wide pixels: (kh, kw * channels, filters), dense.
  int64_t filter_elements() const { return spec_.FilterShape().NumElements(); }
  template <typename E>
  Filter<E> DenseFilter(E* memory) const {
    const int64_t depth = spec_.kernel.horizontal * spec_.channels;
    return {memory, depth * spec_.filters, spec_.filters, 1};
  }
  // Calls use(index in the dense filter, offset in a filter of these steps) for every element.
  template <typename E, typename F>
  void ForEachWeight(const Filter<E>& filter, F&& use) const {
    const int64_t taps = spec_.kernel.vertical * spec_.kernel.horizontal;
    for (int64_t tap = 0, i = 0; tap < taps; ++tap) {
      for (int64_t c = 0; c < spec_.channels; ++c) {
        for (int64_t f = 0; f < spec_.filters; ++f, ++i) {
          use(i, tap * filter.tap + c * filter.channel + f * filter.filter);
        }
      }
    }
  }

 private:
  int64_t RowElements() const { return width_ * pixel_; }

  void CopyRow(const T* from, int64_t pixel, int64_t channel, T* to) const {
    const int64_t channels = spec_.channels;
    if (pixel == channels && channel == 1) {
      std::memcpy(to, from, size_t(spec_.width * channels) * sizeof(T));
      return;
    }
    for (int64_t w = 0; w < spec_.width; ++w) {
      for (int64_t c = 0; c < channels; ++c) to[w * channels + c] = from[w * pixel + c * channel];
    }
  }

  Conv2dSpec spec_;
  int64_t pixel_;  // elements of a wide pixel: from one output's patch to the next's
  int64_t height_, width_;
  int64_t batch_;
};

template <typename T>
class RowPatchesForward final : public DataKernel<T> {
 public:
  using typename DataKernel<T>::Call;

  explicit RowPatchesForward(const Conv2dSpec& spec)
      : rows_(spec), kernel_(rows_.RowSpec(), Direction::kForward) {}

  int64_t derived_elements() const override { return kernel_.derived_elements(); }
  void DeriveFilter(const Filter<const T>& filter, T* derived,
                    std::byte* workspace) const override {
    const Memory memory = Divide(workspace);
    T* const dense = memory.rows;
    rows_.ForEachWeight(filter, [&](int64_t i, int64_t at) { dense[i] = filter.data[at]; });
    kernel_.DeriveFilter(rows_.template DenseFilter<const T>(dense), derived, memory.inner);
  }
  size_t workspace_bytes() const override { return Divide(nullptr).bytes; }

  void Run(const Call& call) const override {
    const Memory memory = Divide(call.workspace);
    rows_.Clear(memory.rows);
    for (int64_t begin = 0; begin < call.images; begin += rows_.batch()) {
      Call inner = call;
      inner.images = std::min(rows_.batch(), call.images - begin);
      inner.in = rows_.Copy(call.in.From(begin, 0), inner.images, memory.rows);
      inner.out = call.out.From(begin, 0);
      inner.write_back.addend = call.write_back.addend.From(begin, 0);
      inner.workspace = memory.inner;
      kernel_.Run(inner);
    }
  }

 private:
  struct Memory {
    T* rows;  // while the filter is derived, a dense copy of it
    std::byte* inner;
    size_t bytes;
  };
  Memory Divide(std::byte* workspace) const {
    ScratchDivider divider(workspace);
    Memory memory;
    memory.rows = divider.Take<T>(std::max(rows_.elements(rows_.batch()), rows_.filter_elements()));
    memory.inner = divider.Take<std::byte>(int64_t(kernel_.workspace_bytes()));
    memory.bytes = divider.bytes();
    return memory;
  }

  PaddedRows<T> rows_;
  GatherGemm<T> kernel_;
};

template <typename T>
class RowPatchesFilter final : public FilterKernel<T> {
 public:
  using typename FilterKernel<T>::Gradient;

  explicit RowPatchesFilter(const Conv2dSpec& spec) : rows_(spec), kernel_(rows_.RowSpec()) {}

  size_t workspace_bytes() const override { return Divide(nullptr).bytes; }

  void Sum(const Images<const T>& x, const Images<const T>& dy, int64_t images, bool first,
           const Gradient& gradient, std::byte* workspace) const override {
    const Memory memory = Divide(workspace);
    rows_.Clear(memory.rows);
    const Gradient inner = Inner(gradient, memory);
    for (int64_t begin = 0; begin == 0 || begin < images; begin += rows_.batch()) {
      const int64_t count = std::min(rows_.batch(), images - begin);
      kernel_.Sum(rows_.Copy(x.From(begin, 0), count, memory.rows), dy.From(begin, 0), count,
                  first && begin == 0, inner, memory.inner);
    }
  }
  void Write(const Gradient& gradient, std::byte* workspace) const override {
    const Memory memory = Divide(workspace);
    kernel_.Write(Inner(gradient, memory), memory.inner);
    const Filter<T>& dfilter = gradient.dfilter;
    rows_.ForEachWeight(dfilter, [&](int64_t i, int64_t at) {
      dfilter.data[at] = (gradient.accumulate ? dfilter.data[at] : T(0)) + memory.gradient[i];
    });
    for (int64_t f = 0; gradient.dbias != nullptr && f < filters_; ++f) {
      gradient.dbias[f] = (gradient.accumulate ? gradient.dbias[f] : T(0)) + memory.bias[f];
    }
  }

 private:
  struct Memory {
    T *rows, *gradient, *bias;
    std::byte* inner;
    size_t bytes;
  };
  Memory Divide(std::byte* workspace) const {
    ScratchDivider divider(workspace);
    Memory memory;
    memory.rows = divider.Take<T>(rows_.elements(rows_.batch()));
    memory.gradient = divider.Take<T>(rows_.filter_elements());
    memory.bias = divider.Take<T>(filters_);
    memory.inner = divider.Take<std::byte>(int64_t(kernel_.workspace_bytes()));
    memory.bytes = divider.bytes();
    return memory;
  }
  // Into memory of its own, in the order of the wide pixels.
  Gradient Inner(const Gradient& gradient, const Memory& memory) const {
    return {rows_.template DenseFilter<T>(memory.gradient),
            gradient.dbias == nullptr ? nullptr : memory.bias, false};
  }

  PaddedRows<T> rows_;
  FilterGemm<T> kernel_;
  int64_t filters_ = rows_.RowSpec().filters;
};

}  // namespace

// With a padding or a stride beyond the kernel, the padded rows would be much larger than the
// images.
bool SuitsRowPatches(const Conv2dSpec& spec) {
  const Pair &kernel = spec.kernel, &stride = spec.stride, &padding = spec.padding;
  return spec.channels < kFewChannels && kernel.vertical > 1 && kernel.horizontal > 1 &&
         stride.vertical <= kernel.vertical && stride.horizontal <= kernel.horizontal &&
         padding.vertical < kernel.vertical && padding.horizontal < kernel.horizontal &&
         spec.dilation == Pair(1);
}

template <typename T>
std::unique_ptr<DataKernel<T>> MakeRowPatchesForward(const Conv2dSpec& spec) {
  return std::make_unique<RowPatchesForward<T>>(spec);
}
template <typename T>
std::unique_ptr<FilterKernel<T>> MakeRowPatchesFilter(const Conv2dSpec& spec) {
  return std::make_unique<RowPatchesFilter<T>>(spec);
}

template std::unique_ptr<DataKernel<float>> MakeRowPatchesForward(const Conv2dSpec&);
template std::unique_ptr<DataKernel<double>> MakeRowPatchesForward(const Conv2dSpec&);
template std::unique_ptr<FilterKernel<float>> MakeRowPatchesFilter(const Conv2dSpec&);
template std::unique_ptr<FilterKernel<double>> MakeRowPatchesFilter(const Conv2dSpec&);

}  // namespace dtnn::conv::gemm
