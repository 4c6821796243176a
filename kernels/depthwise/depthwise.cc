#include "kernels/depthwise/depthwise.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/conv/check.h"
#include "kernels/depthwise/depthwise_cpu.h"
#include "kernels/elementwise/operands.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace depthwise {
namespace {

// NCHW images are transposed a block of channels at a time, of about this size.
constexpr int64_t kBlockBytes = 128 << 10;
constexpr int64_t kChannelStep = 16;  // of blocks: a whole vector, and a line of memory
// Blocks of the gradient of the filter: as many channels, and parts of the batch that are summed on
// their own. The parts, fixed by the sizes, make the sum independent of the number of threads.
constexpr int64_t kFilterChannels = 64;
constexpr int64_t kMostParts = 16;
constexpr int64_t kPixelsPerPart = 64;

int64_t RoundUp(int64_t a, int64_t b) { return (a + b - 1) / b * b; }

struct Extents {
  int64_t height, width;
  int64_t pixels() const { return height * width; }
};

template <typename T>
class Depthwise : public Conv2d {
 public:
  static absl::StatusOr<std::unique_ptr<Conv2d>> Create(const Conv2dSpec& spec) {
    DTNN_ASSIGN_OR_RETURN(
        Tensor packed, Tensor::Allocate(Device::Cpu(), DTypeOf<T>(), DepthwiseFilterShape(spec)));
    return std::make_unique<Depthwise>(spec, std::move(packed));
  }

  Depthwise(const Conv2dSpec& s, Tensor packed)
      : spec_(s),
        in_{s.height, s.width},
        out_{s.out_height(), s.out_width()},
        taps_(s.kernel.vertical * s.kernel.horizontal),
        threads_(NumThreads()),
        packed_(std::move(packed)) {
    const auto axes = [&](auto make, Axis& rows, Axis& columns) {
      rows = make(in_.height, out_.height, s.kernel.vertical, s.stride.vertical, s.padding.vertical,
                  s.dilation.vertical);
      columns = make(in_.width, out_.width, s.kernel.horizontal, s.stride.horizontal,
                     s.padding.horizontal, s.dilation.horizontal);
    };
    axes(ForwardAxis, forward_rows_, forward_columns_);
    axes(BackwardAxis, backward_rows_, backward_columns_);
  }

  absl::Status Forward(const Tensor& x, const ParameterView& filter, const Tensor& y,
                       const EpilogueOperands& operands, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckConv2dForward(spec_, Device::Cpu(), DepthwiseFilterShape(spec_), x,
                                            filter.tensor, y, operands));
    DTNN_RETURN_IF_ERROR(CheckConv2dWorkspace(workspace, workspace_bytes()));
    Pack(filter);
    Gather<T> pass = {.rows = &forward_rows_, .columns = &forward_columns_};
    if (spec_.epilogue.scale) pass.scale = operands.scale.template data<T>();
    if (spec_.epilogue.bias) pass.bias = operands.bias.template data<T>();
    pass.relu = spec_.epilogue.relu;
    Run(pass, x, in_, y, out_, workspace);
    return absl::OkStatus();
  }

  absl::Status BackwardData(const Tensor& dy, const ParameterView& filter, const Tensor& dx,
                            bool accumulate, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckConv2dBackwardData(spec_, Device::Cpu(), DepthwiseFilterShape(spec_),
                                                 dy, filter.tensor, dx));
    DTNN_RETURN_IF_ERROR(CheckConv2dWorkspace(workspace, workspace_bytes()));
    Pack(filter);
    Gather<T> pass = {.rows = &backward_rows_, .columns = &backward_columns_};
    pass.accumulate = accumulate;
    Run(pass, dy, out_, dx, in_, workspace);
    return absl::OkStatus();
  }

  absl::Status BackwardFilter(const Tensor& x, const Tensor& dy, const Tensor& dfilter,
                              const Tensor& dbias, bool accumulate, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckConv2dBackwardFilter(
        spec_, Device::Cpu(), DepthwiseFilterShape(spec_), x, dy, dfilter, dbias));
    DTNN_RETURN_IF_ERROR(CheckConv2dWorkspace(workspace, workspace_bytes()));
    T* sums = reinterpret_cast<T*>(workspace.data());
    SumParts(x, dy, sums, workspace);
    AddParts(PartsOf(x.shape()[0]), sums);
    PixelsToPlanes(sums, sums_pitch(), spec_.channels, accumulate, dfilter.data<T>(), taps_);
    if (dbias.empty()) return absl::OkStatus();
    T* bias = dbias.data<T>();
    for (int64_t c = 0; c < spec_.channels; ++c) {
      bias[c] = (accumulate ? bias[c] : T(0)) + sums[taps_ * sums_pitch() + c];
    }
    return absl::OkStatus();
  }

  size_t workspace_bytes() const override {
    return SumsBytes() + size_t(threads_) * size_t(ThreadElements()) * sizeof(T);
  }
  std::string_view variant(conv::Direction) const override { return "depthwise"; }

 private:
  void Pack(const ParameterView& filter) {
    if (filter.version != 0 && filter.version == packed_version_) return;
    PlanesToPixels(filter.tensor.data<T>(), taps_, spec_.channels, packed_.data<T>(),
                   spec_.channels);
    packed_version_ = filter.version;
  }

  // True where the memory of `tensor` and of its counterpart holds the channels of a pixel side by
  // side, as it does in either format for maps of one pixel.
  bool HasPixels() const {
    return spec_.format == TensorFormat::kNHWC || (in_.pixels() == 1 && out_.pixels() == 1);
  }
  template <typename E>
  Block<E> PixelsOf(const Tensor& tensor, const Extents& extents) const {
    const bool nhwc = spec_.format == TensorFormat::kNHWC;
    const int64_t pixel = nhwc ? tensor.PixelPitch() : spec_.channels;
    return {tensor.data<T>(), nhwc ? extents.pixels() * pixel : tensor.ImagePitch(),
            extents.width * pixel, pixel};
  }
  // `count` images from `first` on, and the channels from `channel` on.
  template <typename E>
  static Block<E> Part(const Block<E>& block, int64_t first, int64_t channel) {
    return {block.data + first * block.image + channel, block.image, block.row, block.pixel};
  }
  template <typename E>
  static Block<E> Dense(E* memory, const Extents& extents, int64_t channels) {
    return {memory, extents.pixels() * channels, extents.width * channels, channels};
  }

  // Channels of a transposed block of `images`.
  int64_t BlockChannels(int64_t images) const {
    const int64_t channel = images * (in_.pixels() + out_.pixels()) * int64_t(sizeof(T));
    const int64_t fit = kBlockBytes / channel / kChannelStep * kChannelStep;
    return std::min(spec_.channels, std::max(kChannelStep, fit));
  }
  // Of scratch memory for the two sides of a transposed block.
  int64_t ThreadElements() const {
    if (HasPixels()) return 0;
    const int64_t channels = BlockChannels(kTile);
    const int64_t several = kTile * channels, one = BlockChannels(1);
    return RoundUp(std::max(several, one) * (in_.pixels() + out_.pixels()), 64);
  }
  T* ThreadMemory(Workspace workspace, int thread) const {
    return reinterpret_cast<T*>(workspace.data() + SumsBytes()) + thread * ThreadElements();
  }

  // Divides [0, units) among the threads that have scratch memory.
  template <typename F>
  void ForEachUnit(int64_t units, const F& body) const {
    ParallelForWithScratch(units, 1, threads_, [&](int thread, int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) body(thread, unit);
    });
  }

  void Run(Gather<T>& pass, const Tensor& in, const Extents& in_extents, const Tensor& out,
           const Extents& out_extents, Workspace workspace) {
    pass.filter = packed_.data<T>();
    pass.filter_pitch = spec_.channels;
    pass.kernel_width = spec_.kernel.horizontal;
    const auto& tiles = pass.columns->tiles;
    const bool row_tiles =
        std::any_of(tiles.begin(), tiles.end(), [](const AxisTile& t) { return t.size == kTile; });
    const int64_t together = row_tiles ? 1 : kTile;  // images
    if (HasPixels()) {
      RunPixels(pass, PixelsOf<const T>(in, in_extents), PixelsOf<T>(out, out_extents),
                in.shape()[0], together);
    } else {
      RunPlanes(pass, in, in_extents, out, out_extents, together, workspace);
    }
  }

  static void RunPixels(const Gather<T>& all, const Block<const T>& in, const Block<T>& out,
                        int64_t images, int64_t together) {
    const int64_t rows = int64_t(all.rows->taps.size());
    const int64_t groups = (images + together - 1) / together;
    const int64_t grain = std::max<int64_t>(1, kCopyGrain / (out.row * together));
    ParallelFor(0, groups * rows, grain, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t first = begin / rows * together, row = begin % rows;
        const int64_t count = std::min(rows - row, end - begin);
        Gather<T> pass = all;
        pass.images = std::min(together, images - first);
        pass.channels = all.filter_pitch;
        pass.in = Part(in, first, 0);
        pass.out = Part(out, first, 0);
        GatherRows(pass, row, row + count);
        begin += count;
      }
    });
  }

  void RunPlanes(const Gather<T>& all, const Tensor& in, const Extents& in_extents,
                 const Tensor& out, const Extents& out_extents, int64_t together,
                 Workspace workspace) const {
    const int64_t images = in.shape()[0], channels = BlockChannels(together);
    const int64_t blocks = (spec_.channels + channels - 1) / channels;
    const int64_t groups = (images + together - 1) / together;
    ForEachUnit(groups * blocks, [&](int thread, int64_t unit) {
      const int64_t first = unit / blocks * together, c = unit % blocks * channels;
      Gather<T> pass = all;
      pass.images = std::min(together, images - first);
      pass.channels = std::min(channels, spec_.channels - c);
      T* memory = ThreadMemory(workspace, thread);
      const Block<T> from = Dense(memory, in_extents, pass.channels);
      pass.out = Dense(memory + pass.images * from.image, out_extents, pass.channels);
      pass.in = {from.data, from.image, from.row, from.pixel};
      pass.filter += c;
      if (pass.scale != nullptr) pass.scale += c;
      if (pass.bias != nullptr) pass.bias += c;
      pass.accumulate = false;
      ToScratch(in, in_extents, first, c, pass.images, pass.channels, from);
      GatherRows(pass, 0, out_extents.height);
      for (int64_t i = 0; i < pass.images; ++i) {
        PixelsToPlanes(pass.out.data + i * pass.out.image, pass.channels, pass.channels,
                       all.accumulate,
                       out.data<T>() + (first + i) * out.ImagePitch() + c * out_extents.pixels(),
                       out_extents.pixels());
      }
    });
  }

  static void ToScratch(const Tensor& planes, const Extents& extents, int64_t first,
                        int64_t channel, int64_t images, int64_t channels, const Block<T>& to) {
    for (int64_t i = 0; i < images; ++i) {
      PlanesToPixels(
          planes.data<T>() + (first + i) * planes.ImagePitch() + channel * extents.pixels(),
          extents.pixels(), channels, to.data + i * to.image, to.pixel);
    }
  }

  // At least one, whose sums are 0 where there are no images.
  int64_t PartsOf(int64_t images) const {
    const int64_t parts = std::min(images, images * out_.pixels() / kPixelsPerPart);
    return std::clamp<int64_t>(parts, 1, kMostParts);
  }
  int64_t sums_pitch() const { return RoundUp(spec_.channels, kChannelStep); }
  int64_t PartElements() const { return (taps_ + 1) * sums_pitch(); }
  size_t SumsBytes() const {
    return size_t(RoundUp(PartsOf(spec_.batch) * PartElements() * int64_t(sizeof(T)), 64));
  }

  // Fills the sums of every part: (taps + 1, channels) each.
  void SumParts(const Tensor& x, const Tensor& dy, T* sums, Workspace workspace) const {
    const int64_t images = x.shape()[0], parts = PartsOf(images);
    const int64_t together = out_.width <= kTile ? kTile : 1;  // of transposed images
    const int64_t channels = HasPixels() ? kFilterChannels : BlockChannels(together);
    const int64_t blocks = (spec_.channels + channels - 1) / channels;
    ForEachUnit(parts * blocks, [&](int thread, int64_t unit) {
      const int64_t part = unit / blocks, c = unit % blocks * channels;
      const int64_t first = part * images / parts, end = (part + 1) * images / parts;
      FilterSums<T> pass = {.spec = &spec_};
      pass.channels = std::min(channels, spec_.channels - c);
      pass.sums = sums + part * PartElements() + c;
      pass.sums_pitch = sums_pitch();
      for (int64_t t = 0; t <= taps_; ++t) {
        std::fill_n(pass.sums + t * pass.sums_pitch, pass.channels, T(0));
      }
      if (HasPixels()) {
        pass.images = end - first;
        pass.x = Part(PixelsOf<const T>(x, in_), first, c);
        pass.dy = Part(PixelsOf<const T>(dy, out_), first, c);
        AddFilterSums(pass);
        return;
      }
      T* memory = ThreadMemory(workspace, thread);
      const Block<T> to_x = Dense(memory, in_, pass.channels);
      const Block<T> to_dy = Dense(memory + together * to_x.image, out_, pass.channels);
      pass.x = {to_x.data, to_x.image, to_x.row, to_x.pixel};
      pass.dy = {to_dy.data, to_dy.image, to_dy.row, to_dy.pixel};
      for (int64_t image = first; image < end; image += together) {
        pass.images = std::min(together, end - image);
        ToScratch(x, in_, image, c, pass.images, pass.channels, to_x);
        ToScratch(dy, out_, image, c, pass.images, pass.channels, to_dy);
        AddFilterSums(pass);
      }
    });
  }

  // Adds all parts to the first, in order.
  void AddParts(int64_t parts, T* sums) const {
    if (parts == 1) return;
    const int64_t lines = PartElements() / kChannelStep;  // of kChannelStep elements
    ParallelFor(0, lines, kCopyGrain / (parts * kChannelStep), [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        T* to = sums + line * kChannelStep;
        for (int64_t part = 1; part < parts; ++part) {
          const T* from = to + part * PartElements();
          for (int64_t i = 0; i < kChannelStep; ++i) to[i] += from[i];
        }
      }
    });
  }

  const Conv2dSpec spec_;
  const Extents in_, out_;
  const int64_t taps_;
  const int threads_;
  Axis forward_rows_, forward_columns_, backward_rows_, backward_columns_;
  const Tensor packed_;  // the filter as (kh, kw, channels)
  uint64_t packed_version_ = 0;
};

}  // namespace
}  // namespace depthwise

Shape DepthwiseFilterShape(const Conv2dSpec& spec) {
  return Shape{spec.channels, spec.kernel.vertical, spec.kernel.horizontal};
}

absl::StatusOr<std::unique_ptr<Conv2d>> CreateDepthwise(DeviceContext& context,
                                                        const Conv2dSpec& spec) {
  DTNN_RETURN_IF_ERROR(spec.Validate());
  if (spec.groups != spec.channels || spec.filters != spec.channels) {
    return absl::InvalidArgumentError(absl::StrCat(
        "depthwise convolution: ", spec.ToString(), " has ", spec.channels, " channels, ",
        spec.filters, " filters and ", spec.groups, " groups, expected three equal numbers"));
  }
  if (spec.epilogue.add) {
    return absl::InvalidArgumentError(absl::StrCat("depthwise convolution: ", spec.ToString(),
                                                   " adds a tensor in its write-back; add it in "
                                                   "a pass of its own"));
  }
  if (context.device().type != DeviceType::kCpu) {
    return NoKernelFor("depthwise convolution", context.device());
  }
  return DispatchFloating(
      spec.dtype, [&](auto zero) { return depthwise::Depthwise<decltype(zero)>::Create(spec); });
}

}  // namespace dtnn
