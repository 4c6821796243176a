#include "kernels/conv/i2c/i2c.h"

#include <algorithm>
#include <memory>

#include "kernels/conv/geometry/partial_sums.h"
#include "kernels/conv/geometry/transpose.h"
#include "kernels/conv/i2c/patches.h"
#include "kernels/gemm/serial_gemm.h"
#include "kernels/workspace/scratch.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv {
namespace {

using i2c::CopyPatch;
using i2c::Gather;
using i2c::Pixels;

// The rows of the patch matrix that are made and multiplied together.
constexpr int64_t kBlockBytes = 256 << 10;
constexpr int64_t kFewestRows = 16;
constexpr int64_t kMostRows = 512;

// sums[j] += (the sum of x[i * pitch + j] for i < rows).
template <typename T>
void AddRows(const T* x, int64_t pitch, int64_t rows, int64_t out_channels, T* sums) {
  constexpr int64_t kTogether = 16;
  for (int64_t first = 0; first < out_channels; first += kTogether) {
    const int64_t count = std::min(kTogether, out_channels - first);
    T sum[kTogether] = {};
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < count; ++j) sum[j] += x[i * pitch + first + j];
    }
    for (int64_t j = 0; j < count; ++j) sums[first + j] += sum[j];
  }
}

// Blocks of rows of the patch matrix: a row is the patch of an output pixel.
template <typename T>
class PatchRows {
 public:
  PatchRows(const Conv2dSpec& spec, Direction direction)
      : gather_(Gather::Of(spec, direction)),
        is_image_(spec.kernel == Pair(1) && spec.stride == Pair(1) && spec.padding == Pair(0)),
        rows_(std::clamp(kBlockBytes / (gather_.patch() * int64_t(sizeof(T))), kFewestRows,
                         kMostRows)) {}

  const Gather& gather() const { return gather_; }
  int64_t rows() const { return rows_; }  // of a block
  // Elements of memory that a block takes.
  int64_t elements() const { return is_image_ ? 0 : rows_ * gather_.patch(); }

  // Rows [begin, end), numbered over all images: where they are, in the images themselves or in
  // `memory`, and their pitch.
  Pixels<const T> Make(const Images<const T>& in, int64_t begin, int64_t end, T* memory) const {
    if (is_image_) return {in.data + begin * in.pixel, in.pixel};
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / gather_.out_pixels(), pixel = i % gather_.out_pixels();
      CopyPatch<T>(gather_, in, image, pixel / gather_.out_width(), pixel % gather_.out_width(),
                   memory + (i - begin) * gather_.patch());
    }
    return {memory, gather_.patch()};
  }

 private:
  Gather gather_;
  bool is_image_;  // patches are the pixels themselves
  int64_t rows_;
};

template <typename T>
class I2cData final : public DataKernel<T> {
 public:
  using typename DataKernel<T>::Call;

  I2cData(const Conv2dSpec& spec, Direction direction)
      : patches_(spec, direction),
        backward_(direction == Direction::kBackwardData),
        threads_(NumThreads()) {}

  int64_t derived_elements() const override { return gather().patch() * gather().out_channels; }

  // The matrix (patch element) x (output channel).
  void DeriveFilter(const Filter<const T>& filter, T* derived, std::byte*) const override {
    const int64_t depth = gather().depth, out_channels = gather().out_channels;
    const int64_t depth_step = backward_ ? filter.filter : filter.channel;
    const int64_t out_step = backward_ ? filter.channel : filter.filter;
    ParallelFor(0, gather().taps(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t tap = begin; tap < end; ++tap) {
        const T* from = filter.data + tap * filter.tap;
        T* to = derived + tap * depth * out_channels;
        if (depth_step == 1) {
          Transpose(from, out_channels, depth, out_step, to, out_channels);
          continue;
        }
        for (int64_t k = 0; k < depth; ++k) {
          for (int64_t j = 0; j < out_channels; ++j) {
            to[k * out_channels + j] = from[k * depth_step + j * out_step];
          }
        }
      }
    });
  }

  size_t workspace_bytes() const override { return size_t(threads_) * Divide(nullptr).bytes; }

  void Run(const Call& call) const override {
    const auto out = Pixels<T>::Of(call.out);
    const auto addend = Pixels<const T>::Of(call.write_back.addend);
    const int64_t out_channels = gather().out_channels, patch = gather().patch();
    const int64_t pixels = call.images * gather().out_pixels();
    const int64_t rows = patches_.rows(), blocks = CeilDiv(pixels, rows);
    ParallelForWithScratch(blocks, 1, threads_, [&](int thread, int64_t first, int64_t last) {
      const Memory memory = Divide(call.workspace + size_t(thread) * Divide(nullptr).bytes);
      for (int64_t block = first; block < last; ++block) {
        const int64_t begin = block * rows, end = std::min(pixels, begin + rows);
        const Pixels<const T> matrix = patches_.Make(call.in, begin, end, memory.patches);
        SerialEpilogue<T> epilogue;
        epilogue.scale = call.write_back.scale;
        epilogue.bias = call.write_back.bias;
        epilogue.relu = call.write_back.relu;
        if (addend.data != nullptr) {
          // A copy, since the addend may be the output.
          for (int64_t i = begin; i < end; ++i) {
            std::copy_n(addend.data + i * addend.pitch, out_channels,
                        memory.addend + (i - begin) * out_channels);
          }
          epilogue.addend = memory.addend;
          epilogue.addend_ld = out_channels;
        }
        SerialGemm<T>(false, false, end - begin, out_channels, patch, matrix.data, matrix.pitch,
                      call.filter, out_channels, false, out.data + begin * out.pitch, out.pitch,
                      memory.product, epilogue);
      }
    });
  }

 private:
  struct Memory {
    T *patches, *addend;
    std::span<std::byte> product;
    size_t bytes;
  };
  Memory Divide(std::byte* workspace) const {
    const int64_t rows = patches_.rows(), out_channels = gather().out_channels;
    ScratchDivider divider(workspace);
    Memory memory;
    memory.patches = divider.Take<T>(patches_.elements());
    memory.addend = divider.Take<T>(rows * out_channels);
    const size_t product = SerialGemmScratchBytes<T>(rows, out_channels, gather().patch());
    memory.product = {divider.Take<std::byte>(int64_t(product)), product};
    memory.bytes = divider.bytes();
    return memory;
  }
  const Gather& gather() const { return patches_.gather(); }

  PatchRows<T> patches_;
  bool backward_;
  int threads_;
};

template <typename T>
class I2cFilter final : public FilterKernel<T> {
 public:
  using typename FilterKernel<T>::Gradient;

  explicit I2cFilter(const Conv2dSpec& spec)
      : patches_(spec, Direction::kBackwardFilter),
        sums_(spec, spec.filters, kFewestBlocks * patches_.rows()),
        threads_(NumThreads()) {}

  size_t workspace_bytes() const override {
    return sums_.bytes() + size_t(threads_) * Divide(nullptr).bytes;
  }

  void Sum(const Images<const T>& x, const Images<const T>& dy, int64_t images, bool first,
           const Gradient& gradient, std::byte* workspace) const override {
    const int64_t filters = sums_.pitch(), patch = patches_.gather().patch();
    const int64_t pixels = images * patches_.gather().out_pixels();
    const auto from = Pixels<const T>::Of(dy);
    ParallelForWithScratch(sums_.parts(), 1, threads_, [&](int thread, int64_t low, int64_t high) {
      const Memory memory =
          Divide(workspace + sums_.bytes() + size_t(thread) * Divide(nullptr).bytes);
      for (int64_t part = low; part < high; ++part) {
        T* const sums = sums_.filter(workspace, part);
        T* const bias = sums_.bias(workspace, part);
        if (first) {
          std::fill_n(sums, patch * filters, T(0));
          std::fill_n(bias, filters, T(0));
        }
        const int64_t last = sums_.Begin(pixels, part + 1);
        for (int64_t begin = sums_.Begin(pixels, part); begin < last; begin += patches_.rows()) {
          const int64_t rows = std::min(patches_.rows(), last - begin);
          const Pixels<const T> matrix = patches_.Make(x, begin, begin + rows, memory.patches);
          const T* const dy_rows = from.data + begin * from.pitch;
          SerialGemm<T>(true, false, patch, filters, rows, matrix.data, matrix.pitch, dy_rows,
                        from.pitch, true, sums, filters, memory.product);
          if (gradient.dbias != nullptr) AddRows(dy_rows, from.pitch, rows, filters, bias);
        }
      }
    });
  }
  void Write(const Gradient& gradient, std::byte* workspace) const override {
    sums_.Write(gradient, workspace);
  }

 private:
  struct Memory {
    T* patches;
    std::span<std::byte> product;
    size_t bytes;
  };
  Memory Divide(std::byte* workspace) const {
    ScratchDivider divider(workspace);
    Memory memory;
    memory.patches = divider.Take<T>(patches_.elements());
    const size_t product =
        SerialGemmScratchBytes<T>(patches_.gather().patch(), sums_.pitch(), patches_.rows());
    memory.product = {divider.Take<std::byte>(int64_t(product)), product};
    memory.bytes = divider.bytes();
    return memory;
  }

  PatchRows<T> patches_;
  PartialSums<T> sums_;
  int threads_;
};

template <typename T>
std::unique_ptr<DataKernel<T>> MakeData(const Conv2dSpec& spec, Direction direction) {
  return std::make_unique<I2cData<T>>(spec, direction);
}
template <typename T>
std::unique_ptr<FilterKernel<T>> MakeFilter(const Conv2dSpec& spec) {
  return std::make_unique<I2cFilter<T>>(spec);
}

}  // namespace

constexpr Variant kI2c = {
    .name = "i2c",
    .support = [](const Conv2dSpec&, Direction) { return Support(); },
    .f32 = {.data = &MakeData<float>, .filter = &MakeFilter<float>},
    .f64 = {.data = &MakeData<double>, .filter = &MakeFilter<double>},
};

}  // namespace dtnn::conv
