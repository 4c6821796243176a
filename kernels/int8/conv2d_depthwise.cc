#include "kernels/int8/conv2d_depthwise.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/int8/packed_parameters.h"
#include "kernels/int8/write_back.h"
#include "kernels/workspace/scratch.h"
#include "tensor/rounding.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/int8/conv2d_depthwise.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn::int8 {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// sums[channel] = sum over taps of taps[tap][channel] * weights[tap][channel].
void SumTaps(const uint8_t* const* taps, const int32_t* weights, int64_t count, int64_t channels,
             int32_t* sums) {
  int64_t c = 0;
#if HWY_TARGET <= HWY_AVX2
  const hn::ScalableTag<int32_t> d;
  const hn::Repartition<int16_t, decltype(d)> halves;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const auto lanes = int64_t(hn::Lanes(d));
  for (; c + lanes <= channels; c += lanes) {
    auto sum = hn::Zero(d), unused = hn::Zero(d);
    for (int64_t tap = 0; tap < count; ++tap) {
      // The upper halves of the bytes are zero, so products of pairs are products.
      const auto x = hn::BitCast(halves, hn::PromoteTo(d, hn::LoadU(bytes, taps[tap] + c)));
      const auto w = hn::BitCast(halves, hn::LoadU(d, weights + tap * channels + c));
      sum = hn::ReorderWidenMulAccumulate(d, x, w, sum, unused);
    }
    hn::StoreU(sum, d, sums + c);
  }
#endif
  for (; c < channels; ++c) {
    sums[c] = 0;
    for (int64_t tap = 0; tap < count; ++tap) sums[c] += taps[tap][c] * weights[tap * channels + c];
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn::int8
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn::int8 {
namespace {

HWY_EXPORT(SumTaps);

class Conv2dDepthwise : public Int8Conv2d {
 public:
  explicit Conv2dDepthwise(const Int8Conv2dSpec& spec)
      : spec_(spec),
        channels_(spec.conv.channels),
        taps_(spec.conv.kernel.vertical * spec.conv.kernel.horizontal),
        threads_(NumThreads()) {}

  size_t workspace_bytes() const override { return size_t(threads_) * ScratchOf(nullptr).bytes; }
  size_t kept_bytes() const override { return DivideKept(nullptr).bytes; }
  void Keep(std::byte* memory) override { kept_ = DivideKept(memory); }
  std::string Algorithm() const override { return "depthwise"; }

  absl::Status SetParameters(const Int8Conv2dParameters& parameters) override {
    QuantizedFilter quantized;
    for (int64_t c = 0; c < channels_; ++c) {
      DTNN_RETURN_IF_ERROR(QuantizeFilter(spec_.conv, parameters, c, &quantized));
      DTNN_RETURN_IF_ERROR(kept_.arrays.Set(spec_, parameters, c, quantized, c));
      for (int64_t tap = 0; tap < taps_; ++tap) {
        kept_.weights[tap * channels_ + c] = quantized.weights[size_t(tap)];
      }
    }
    return absl::OkStatus();
  }

  absl::Status Forward(const Tensor& x, const Tensor& addend, const Tensor& y,
                       Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckOperands(spec_, x, addend, y, workspace, workspace_bytes()));
    const int64_t rows = x.shape()[0] * spec_.conv.out_height();
    ParallelForWithScratch(rows, 1, threads_, [&](int thread, int64_t begin, int64_t end) {
      const size_t bytes = ScratchOf(nullptr).bytes;
      const Scratch scratch = ScratchOf(workspace.data() + size_t(thread) * bytes);
      std::memset(scratch.padding, spec_.input.zero_point, size_t(channels_));
      for (int64_t row = begin; row < end; ++row) RunRow(x, addend, y, row, scratch);
    });
    return absl::OkStatus();
  }

 private:
  struct Scratch {
    uint8_t* padding;      // a pixel
    const uint8_t** taps;  // of a result
    int32_t* sums;
    size_t bytes;
  };
  Scratch ScratchOf(std::byte* memory) const {
    ScratchDivider divider(memory);
    Scratch scratch;
    scratch.padding = divider.Take<uint8_t>(channels_);
    scratch.taps = divider.Take<const uint8_t*>(taps_);
    scratch.sums = divider.Take<int32_t>(channels_);
    scratch.bytes = divider.bytes();
    return scratch;
  }
  struct Kept {
    int32_t* weights = nullptr;  // [tap][channel]
    ResultArrays arrays = {};
    size_t bytes = 0;
  };
  Kept DivideKept(std::byte* memory) const {
    ScratchDivider divider(memory);
    Kept kept;
    kept.weights = divider.Take<int32_t>(taps_ * channels_);
    kept.arrays.compensation = divider.Take<int32_t>(channels_);
    kept.arrays.multiplier = divider.Take<float>(channels_);
    kept.arrays.offset = divider.Take<float>(channels_);
    kept.bytes = divider.bytes();
    return kept;
  }

  // Row `row` of all images' results.
  void RunRow(const Tensor& x, const Tensor& addend, const Tensor& y, int64_t row,
              const Scratch& scratch) const {
    const Conv2dSpec& conv = spec_.conv;
    const ResultRule rule = kept_.arrays.Rule(spec_, 0);
    const int64_t image = row / conv.out_height(), top = row % conv.out_height();
    const int64_t x_pitch = x.PixelPitch(), width = conv.out_width();
    const uint8_t* const from = x.data<uint8_t>() + image * conv.height * conv.width * x_pitch;
    const int64_t y_bytes = y.PixelPitch() * int64_t(SizeOf(y.dtype()));
    for (int64_t left = 0; left < width; ++left) {
      const uint8_t** tap = scratch.taps;
      for (int64_t ky = 0; ky < conv.kernel.vertical; ++ky) {
        const int64_t v =
            top * conv.stride.vertical + ky * conv.dilation.vertical - conv.padding.vertical;
        for (int64_t kx = 0; kx < conv.kernel.horizontal; ++kx) {
          const int64_t h = left * conv.stride.horizontal + kx * conv.dilation.horizontal -
                            conv.padding.horizontal;
          const bool inside = v >= 0 && v < conv.height && h >= 0 && h < conv.width;
          *tap++ = inside ? from + (v * conv.width + h) * x_pitch : scratch.padding;
        }
      }
      HWY_DYNAMIC_DISPATCH(SumTaps)(scratch.taps, kept_.weights, taps_, channels_, scratch.sums);
      const int64_t pixel = row * width + left;
      WriteBack(rule,
                {.sums = scratch.sums,
                 .sums_pitch = channels_,
                 .addend = conv.epilogue.add ? addend.data<uint8_t>() + pixel * addend.PixelPitch()
                                             : nullptr,
                 .addend_pitch = 0,
                 .results = y.raw_data() + pixel * y_bytes,
                 .results_pitch = y_bytes,
                 .rows = 1,
                 .filters = channels_});
    }
  }

  Int8Conv2dSpec spec_;
  int64_t channels_, taps_;
  const int threads_;
  Kept kept_;
};

}  // namespace

bool IsDepthwise(const Conv2dSpec& spec) {
  return spec.groups == spec.channels && spec.filters == spec.channels && spec.groups > 1;
}

std::unique_ptr<Int8Conv2d> CreateConv2dDepthwise(const Int8Conv2dSpec& spec) {
  return std::make_unique<Conv2dDepthwise>(spec);
}

}  // namespace dtnn::int8
#endif  // HWY_ONCE
