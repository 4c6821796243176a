#include "kernels/channel_pick/channel_pick.h"

#include <algorithm>
#include <type_traits>

#include "kernels/channel_pick/channel_pick_gpu.h"
#include "kernels/channel_pick/deal.h"
#include "kernels/elementwise/operands.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/channel_pick/channel_pick.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"

#ifndef DTNN_KERNELS_CHANNEL_PICK_CHANNEL_PICK_CC_
#define DTNN_KERNELS_CHANNEL_PICK_CHANNEL_PICK_CC_
namespace dtnn {

struct ChannelPickCall {
  ChannelDeal deal;
  DType dtype;
  int64_t channels, plane;  // of `to`; pixels of an image
  Operand from, to;         // rows: pixels, or images of planes
  bool accumulate;
};

}  // namespace dtnn
#endif  // DTNN_KERNELS_CHANNEL_PICK_CHANNEL_PICK_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

template <typename T>
void Move(int64_t count, const T* from, T* to, bool add) {
  add ? Transform(Sum(), count, to, from, static_cast<const T*>(to))
      : Transform(Copied(), count, to, from);
}

template <typename T>
using Lane = std::conditional_t<std::is_same_v<T, Bfloat16>, uint16_t, T>;

// Two groups dealt into pairs, and pairs into two groups: vectors of 2 `each` channels from the
// first on; how many of `each` these were.
template <typename T>
int64_t DealTwo(bool into_pairs, int64_t each, const T* from, T* to) {
  const hn::ScalableTag<Lane<T>> d;
  const auto* const in = reinterpret_cast<const Lane<T>*>(from);
  auto* const out = reinterpret_cast<Lane<T>*>(to);
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= each; i += lanes) {
    if (into_pairs) {
      hn::StoreInterleaved2(hn::LoadU(d, in + i), hn::LoadU(d, in + each + i), d, out + 2 * i);
    } else {
      hn::Vec<decltype(d)> first, second;
      hn::LoadInterleaved2(d, in + 2 * i, first, second);
      hn::StoreU(first, d, out + i);
      hn::StoreU(second, d, out + each + i);
    }
  }
  return i;
}

// Channels of a pixel.
template <typename T>
void Deal(const ChannelDeal& deal, const T* from, T* to, bool add) {
  const int64_t each = deal.count / deal.groups;
  if (deal.groups == 1 || each == 1) return Move(deal.count, from, to, add);
  // Numbers of cards and of groups up to which vectors have dealt.
  int64_t cards = 0, groups = 0;
  if (!add && deal.groups == 2) cards = DealTwo(/*into_pairs=*/true, each, from, to);
  if (!add && each == 2) groups = DealTwo(/*into_pairs=*/false, deal.groups, from, to);
  for (int64_t group = groups; group < deal.groups; ++group) {
    for (int64_t card = cards; card < each; ++card) {
      const T value = from[group * each + card];
      T& place = to[card * deal.groups + group];
      place = add ? T(Wide<T>(place) + Wide<T>(value)) : value;
    }
  }
}

// Pixels.
template <typename T>
void PickInPixels(const ChannelPickCall& call, int64_t begin, int64_t end) {
  const ChannelDeal& deal = call.deal;
  const int64_t after = deal.to + deal.count;
  for (int64_t row = begin; row < end; ++row) {
    T* const to = call.to.At<T>(row, 0);
    if (!call.accumulate) {
      std::fill_n(to, deal.to, T(0));
      std::fill_n(to + after, call.channels - after, T(0));
    }
    Deal(deal, call.from.At<const T>(row, deal.from), to + deal.to, call.accumulate);
  }
}

// Planes, numbered image by image.
template <typename T>
void PickInPlanes(const ChannelPickCall& call, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t image = i / call.channels, channel = i % call.channels;
    const int64_t source = call.deal.SourceOf(channel);
    T* const to = call.to.At<T>(image, channel * call.plane);
    if (source >= 0) {
      Move(call.plane, call.from.At<const T>(image, source * call.plane), to, call.accumulate);
    } else if (!call.accumulate) {
      std::fill_n(to, call.plane, T(0));
    }
  }
}

void PickInPixelsOf(const ChannelPickCall& call, int64_t begin, int64_t end) {
  DispatchCpuFloating(call.dtype,
                      [&](auto zero) HWY_ATTR { PickInPixels<decltype(zero)>(call, begin, end); });
}
void PickInPlanesOf(const ChannelPickCall& call, int64_t begin, int64_t end) {
  DispatchCpuFloating(call.dtype,
                      [&](auto zero) HWY_ATTR { PickInPlanes<decltype(zero)>(call, begin, end); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(PickInPixelsOf);
HWY_EXPORT(PickInPlanesOf);

constexpr int64_t kMostChannels = int64_t{1} << 24;

class ChannelPickCpu : public ChannelPick {
 public:
  explicit ChannelPickCpu(const ChannelPickSpec& spec) : spec_(spec) {}

  absl::Status Forward(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckPickedImages(spec_, Device::Cpu(), "x", x, "y", y));
    Run(ChannelDeal::Forward(spec_), x, y, /*accumulate=*/false);
    return absl::OkStatus();
  }
  absl::Status Backward(const Tensor& dy, const Tensor& dx, bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckPickedImages(spec_, Device::Cpu(), "dx", dx, "dy", dy));
    Run(ChannelDeal::Backward(spec_), dy, dx, accumulate);
    return absl::OkStatus();
  }

 private:
  bool planes() const { return spec_.format == TensorFormat::kNCHW; }

  void Run(const ChannelDeal& deal, const Tensor& from, const Tensor& to, bool accumulate) const {
    const ImageExtents image = ExtentsOf(to.shape().DropFirst(), spec_.format);
    const int64_t images = to.shape()[0], plane = image.height * image.width;
    if (to.num_elements() == 0) return;
    const int64_t rows = planes() ? images : images * plane;
    const auto operand = [&](const Tensor& tensor) {
      return OperandIn({rows, tensor.num_elements() / rows}, tensor, spec_.format);
    };
    const ChannelPickCall call = {.deal = deal,
                                  .dtype = spec_.dtype,
                                  .channels = image.channels,
                                  .plane = plane,
                                  .from = operand(from),
                                  .to = operand(to),
                                  .accumulate = accumulate};
    const int64_t parts = planes() ? images * image.channels : rows;
    const int64_t grain = std::max<int64_t>(1, kCopyGrain * parts / to.num_elements());
    ParallelFor(0, parts, grain, [&](int64_t begin, int64_t end) {
      planes() ? HWY_DYNAMIC_DISPATCH(PickInPlanesOf)(call, begin, end)
               : HWY_DYNAMIC_DISPATCH(PickInPixelsOf)(call, begin, end);
    });
  }

  const ChannelPickSpec spec_;
};

}  // namespace

absl::Status ChannelPickSpec::Validate() const {
  if (channels < 1 || channels > kMostChannels) {
    return InvalidArgument("channel pick: channels is ", channels, ", expected 1 to ",
                           kMostChannels);
  }
  if (begin < 0 || begin >= channels || count < 1 || count > channels - begin) {
    return InvalidArgument("channel pick: ", count, " channels from channel ", begin,
                           " on are not in an image of ", channels);
  }
  if (groups < 1 || count % groups != 0) {
    return InvalidArgument("channel pick: groups is ", groups, ", expected a divisor of ", count,
                           " channels");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ChannelPick>> CreateChannelPick(DeviceContext& context,
                                                               const ChannelPickSpec& spec) {
  DTNN_RETURN_IF_ERROR(spec.Validate());
  DTNN_RETURN_IF_ERROR(CheckFloating("channel pick", context.device(), spec.dtype));
  if (context.device().is_cpu()) return std::make_unique<ChannelPickCpu>(spec);
  return CreateChannelPickGpu(context, spec);
}

}  // namespace dtnn
#endif  // HWY_ONCE
