#include "kernels/conv/i2c.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/conv/check.h"
#include "kernels/conv/filter_gemm.h"
#include "kernels/conv/gather_gemm.h"
#include "kernels/conv/planar.h"
#include "kernels/conv/scratch.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

using i2c::FilterGemm;
using i2c::FilterStrides;
using i2c::Gather;
using i2c::GatherGemm;
using i2c::ImageBatch;
using i2c::Pixels;
using i2c::Planar;
using i2c::ScratchDivider;
using i2c::WriteBack;

// NCHW images that are in NHWC order at one time, both sides together: what the last cache holds.
constexpr int64_t kChunkBytes = 4 << 20;

template <typename T>
class I2cConv2d final : public Conv2d {
 public:
  static absl::StatusOr<std::unique_ptr<Conv2d>> Create(const Conv2dSpec& spec) {
    const int64_t deepest = std::max(spec.channels, spec.filters);
    DTNN_ASSIGN_OR_RETURN(Tensor zeros, Tensor::Zeros(DTypeOf<T>(), Shape{deepest}));
    std::unique_ptr<I2cConv2d> conv(new I2cConv2d(spec, std::move(zeros)));
    if (!spec.keeps_filter) return conv;
    const auto allocate = [](int64_t elements) {
      return Tensor::Allocate(Device::Cpu(), DTypeOf<T>(), Shape{elements});
    };
    DTNN_ASSIGN_OR_RETURN(conv->forward_filter_.values, allocate(conv->PackedForward()));
    DTNN_ASSIGN_OR_RETURN(conv->backward_filter_.values, allocate(conv->PackedBackward()));
    return conv;
  }

  absl::Status Forward(const Tensor& x, const ParameterView& filter, const Tensor& y,
                       const EpilogueOperands& operands, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckConv2dForward(spec_, Device::Cpu(), spec_.FilterShape(), x,
                                            filter.tensor, y, operands));
    DTNN_RETURN_IF_ERROR(CheckConv2dWorkspace(workspace, workspace_bytes()));
    const Memory memory = Divide(workspace.data());
    WriteBack<T> write_back;
    write_back.relu = spec_.epilogue.relu;
    if (spec_.epilogue.scale) write_back.scale = Pad(operands.scale, memory.scale);
    if (spec_.epilogue.bias) write_back.bias = Pad(operands.bias, memory.bias);
    const Tensor addend = spec_.epilogue.add ? operands.addend : Tensor();
    const FilterStrides s = FilterStrides::Of(spec_);
    if (planar_forward_) {
      const T* packed =
          forward_filter_.Get(*planar_forward_, filter, s.tap, s.channel, s.filter, memory.packed);
      Multiply(*planar_forward_, x, packed, write_back, addend, y, memory);
      return absl::OkStatus();
    }
    const T* packed =
        forward_filter_.Get(forward_, filter, s.tap, s.channel, s.filter, memory.packed);
    Multiply(forward_, x, packed, write_back, addend, y, memory);
    return absl::OkStatus();
  }

  absl::Status BackwardData(const Tensor& dy, const ParameterView& filter, const Tensor& dx,
                            bool accumulate, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(
        CheckConv2dBackwardData(spec_, Device::Cpu(), spec_.FilterShape(), dy, filter.tensor, dx));
    DTNN_RETURN_IF_ERROR(CheckConv2dWorkspace(workspace, workspace_bytes()));
    const FilterStrides s = FilterStrides::Of(spec_);
    const Memory memory = Divide(workspace.data());
    const Tensor addend = accumulate ? dx : Tensor();
    if (planar_backward_) {
      const T* packed = backward_filter_.Get(*planar_backward_, filter, s.tap, s.filter, s.channel,
                                             memory.packed);
      Multiply(*planar_backward_, dy, packed, {}, addend, dx, memory);
      return absl::OkStatus();
    }
    const T* packed =
        backward_filter_.Get(backward_, filter, s.tap, s.filter, s.channel, memory.packed);
    Multiply(backward_, dy, packed, {}, addend, dx, memory);
    return absl::OkStatus();
  }

  absl::Status BackwardFilter(const Tensor& x, const Tensor& dy, const Tensor& dfilter,
                              const Tensor& dbias, bool accumulate, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckConv2dBackwardFilter(spec_, Device::Cpu(), spec_.FilterShape(), x, dy,
                                                   dfilter, dbias));
    DTNN_RETURN_IF_ERROR(CheckConv2dWorkspace(workspace, workspace_bytes()));
    const Memory memory = Divide(workspace.data());
    T* bias_gradient = dbias.empty() ? nullptr : dbias.data<T>();
    if (planar_forward_) {
      planar_forward_->Correlate(Images(x), Images(dy), x.shape()[0], dfilter.data<T>(),
                                 FilterStrides::Of(spec_), bias_gradient, accumulate, memory.sums,
                                 threads_, memory.threads);
      return absl::OkStatus();
    }
    const typename FilterGemm<T>::Gradient gradient{dfilter.data<T>(), bias_gradient, accumulate};
    const int64_t images = x.shape()[0], step = nchw() ? chunk_ : std::max<int64_t>(images, 1);
    for (int64_t begin = 0; begin == 0 || begin < images; begin += step) {
      const int64_t count = std::min(step, images - begin);
      const Pixels<const T> from = Nhwc(x, begin, count, memory.in);
      const Pixels<const T> dy_pixels = Nhwc(dy, begin, count, memory.out);
      filter_gradient_.Run(from, dy_pixels, count, begin == 0, gradient, memory.sums, threads_,
                           memory.threads);
    }
    filter_gradient_.Finish(memory.sums, gradient);
    return absl::OkStatus();
  }

  size_t workspace_bytes() const override { return Divide(nullptr).bytes; }
  std::string_view variant() const override { return "i2c"; }

 private:
  // A filter packed for one direction, and which version of it; or nothing, where it is not kept.
  struct PackedFilter {
    Tensor values;
    uint64_t version = 0;

    template <typename Product>  // GatherGemm or Planar
    const T* Get(const Product& gemm, const ParameterView& filter, int64_t tap_stride,
                 int64_t depth_stride, int64_t column_stride, T* scratch) {
      T* packed = values.empty() ? scratch : values.data<T>();
      if (values.empty() || filter.version == 0 || filter.version != version) {
        gemm.Pack(filter.tensor.data<T>(), tap_stride, depth_stride, column_stride, packed);
        version = filter.version;
      }
      return packed;
    }
  };

  struct Memory {
    T *scale, *bias;
    T* packed;    // a filter that is not kept
    T *in, *out;  // NHWC copies of NCHW images: x and y, or whatever has their shapes
    std::byte *sums, *threads;
    size_t bytes;
  };

  I2cConv2d(const Conv2dSpec& spec, Tensor zeros)
      : spec_(spec),
        zeros_(std::move(zeros)),
        threads_(NumThreads()),
        chunk_(ChunkOf(spec)),
        forward_(Gather::Forward(spec), zeros_.data<T>()),
        backward_(Gather::BackwardData(spec), zeros_.data<T>()),
        filter_gradient_(Gather::Forward(spec), FilterStrides::Of(spec),
                         nchw() ? chunk_ : spec.batch) {
    if (Planar<T>::SuitsForward(spec)) planar_forward_.emplace(Planar<T>::Forward(spec));
    if (Planar<T>::SuitsBackwardData(spec)) planar_backward_.emplace(Planar<T>::BackwardData(spec));
  }

  static int64_t ChunkOf(const Conv2dSpec& spec) {
    const int64_t image = (spec.height * spec.width * spec.channels +
                           spec.out_height() * spec.out_width() * spec.filters) *
                          int64_t(sizeof(T));
    return std::clamp<int64_t>(kChunkBytes / image, 1, spec.batch);
  }

  int64_t PackedForward() const {
    return planar_forward_ ? planar_forward_->packed_elements() : forward_.packed_elements();
  }
  int64_t PackedBackward() const {
    return planar_backward_ ? planar_backward_->packed_elements() : backward_.packed_elements();
  }

  bool nchw() const { return spec_.format == TensorFormat::kNCHW; }

  Memory Divide(std::byte* workspace) const {
    ScratchDivider divider(workspace);
    Memory memory;
    const int64_t images = nchw() ? chunk_ : 0;
    memory.scale = divider.Take<T>(PaddedFilters());
    memory.bias = divider.Take<T>(PaddedFilters());
    memory.packed =
        divider.Take<T>(spec_.keeps_filter ? 0 : std::max(PackedForward(), PackedBackward()));
    memory.in = divider.Take<T>(images * spec_.height * spec_.width * spec_.channels);
    memory.out = divider.Take<T>(images * spec_.out_height() * spec_.out_width() * spec_.filters);
    memory.sums = divider.Take<std::byte>(int64_t(
        planar_forward_ ? planar_forward_->shared_bytes() : filter_gradient_.shared_bytes()));
    size_t thread = std::max(
        {forward_.thread_bytes(), backward_.thread_bytes(), filter_gradient_.thread_bytes()});
    if (planar_forward_) thread = std::max(thread, planar_forward_->thread_bytes());
    if (planar_backward_) thread = std::max(thread, planar_backward_->thread_bytes());
    memory.threads = divider.Take<std::byte>(int64_t(thread) * threads_);
    memory.bytes = divider.bytes();
    return memory;
  }

  // Whole vectors of any machine, for kernels that read scale and bias by vectors.
  int64_t PaddedFilters() const { return (spec_.filters + 63) / 64 * 64; }

  const T* Pad(const Tensor& values, T* padded) const {
    std::copy_n(values.data<T>(), spec_.filters, padded);
    std::fill(padded + spec_.filters, padded + PaddedFilters(), T(0));
    return padded;
  }

  // Images [begin, begin + count) in NHWC order: a view, or a copy in `memory`.
  Pixels<const T> Nhwc(const Tensor& images, int64_t begin, int64_t count, T* memory) const {
    const Shape& shape = images.shape();
    if (!nchw()) {
      return {images.data<T>() + begin * shape[1] * shape[2] * images.PixelPitch(),
              images.PixelPitch()};
    }
    const int64_t channels = shape[1], pixels = shape[2] * shape[3];
    const T* from = images.data<T>() + begin * images.ImagePitch();
    ForSlices(count, pixels, [&](int64_t image, int64_t first, int64_t size) {
      i2c::CpuKernels<T>().transpose(from + image * images.ImagePitch() + first, channels, size,
                                     pixels, memory + (image * pixels + first) * channels,
                                     channels);
    });
    return {memory, channels};
  }

  // Calls work(image, first pixel, number of pixels) for slices of all images, in parallel.
  static void ForSlices(int64_t images, int64_t pixels,
                        absl::FunctionRef<void(int64_t, int64_t, int64_t)> work) {
    constexpr int64_t kSlice = 128;
    const int64_t slices = (pixels + kSlice - 1) / kSlice;
    ParallelFor(0, images * slices, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % slices * kSlice;
        work(i / slices, first, std::min(kSlice, pixels - first));
      }
    });
  }

  ImageBatch<const T> Images(const Tensor& tensor) const {
    return ImageBatch<const T>::Of(tensor, spec_.format);
  }

  void Multiply(const Planar<T>& planar, const Tensor& in, const T* packed,
                const WriteBack<T>& write_back, const Tensor& addend, const Tensor& out,
                const Memory& memory) const {
    planar.Multiply(Images(in), in.shape()[0], packed, write_back.scale, write_back.bias,
                    Images(addend), write_back.relu, ImageBatch<T>::Of(out, spec_.format), threads_,
                    memory.threads);
  }

  // out = write_back(gather(in) * packed + addend).
  void Multiply(const GatherGemm<T>& gemm, const Tensor& in, const T* packed,
                WriteBack<T> write_back, const Tensor& addend, const Tensor& out,
                const Memory& memory) const {
    const int64_t images = in.shape()[0];
    if (!nchw()) {
      if (!addend.empty()) write_back.addend = {addend.data<T>(), addend.PixelPitch()};
      gemm.Run({in.data<T>(), in.PixelPitch()}, images, packed, write_back,
               {out.data<T>(), out.PixelPitch()}, threads_, memory.threads);
      return;
    }
    const bool forward = &gemm == &forward_;
    T* in_memory = forward ? memory.in : memory.out;
    T* out_memory = forward ? memory.out : memory.in;
    // With an addend, which is in NCHW order, the rest of the epilogue waits for it.
    const bool relu_later = write_back.relu && !addend.empty();
    write_back.relu &= !relu_later;
    const int64_t columns = gemm.gather().columns, pixels = gemm.gather().out_pixels();
    for (int64_t begin = 0; begin < images; begin += chunk_) {
      const int64_t count = std::min(chunk_, images - begin);
      gemm.Run(Nhwc(in, begin, count, in_memory), count, packed, write_back, {out_memory, columns},
               threads_, memory.threads);
      ForSlices(count, pixels, [&](int64_t image, int64_t first, int64_t size) {
        const T* from = out_memory + (image * pixels + first) * columns;
        T* to = out.data<T>() + (begin + image) * out.ImagePitch() + first;
        if (addend.empty()) {
          i2c::CpuKernels<T>().transpose(from, size, columns, columns, to, pixels);
          return;
        }
        const T* add = addend.data<T>() + (begin + image) * addend.ImagePitch() + first;
        for (int64_t f = 0; f < columns; ++f) {
          for (int64_t p = 0; p < size; ++p) {
            const T value = from[p * columns + f] + add[f * pixels + p];
            to[f * pixels + p] = relu_later && value < 0 ? T(0) : value;
          }
        }
      });
    }
  }

  Conv2dSpec spec_;
  Tensor zeros_;
  int threads_;
  int64_t chunk_;  // images of an NCHW batch at a time
  GatherGemm<T> forward_, backward_;
  FilterGemm<T> filter_gradient_;
  std::optional<Planar<T>> planar_forward_, planar_backward_;  // where they suit the spec
  PackedFilter forward_filter_, backward_filter_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Conv2d>> CreateI2cConv2d(DeviceContext& context,
                                                        const Conv2dSpec& spec) {
  DTNN_RETURN_IF_ERROR(spec.Validate());
  if (!context.device().is_cpu()) {
    return absl::InvalidArgumentError("convolution variant i2c runs on the CPU only");
  }
  if (spec.groups != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("convolution variant i2c supports groups == 1 only, not ", spec.groups));
  }
  return DispatchFloating(spec.dtype,
                          [&](auto zero) { return I2cConv2d<decltype(zero)>::Create(spec); });
}

}  // namespace dtnn
