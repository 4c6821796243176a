#include "kernels/dropout/dropout.h"

#include <algorithm>
#include <cmath>

#include "kernels/dropout/check.h"
#include "kernels/dropout/dropout_gpu.h"
#include "kernels/elementwise/operands.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dropout/dropout.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"

#ifndef DTNN_KERNELS_DROPOUT_DROPOUT_CC_
#define DTNN_KERNELS_DROPOUT_DROPOUT_CC_
namespace dtnn {

// Random numbers that are made at once, on the stack.
inline constexpr int64_t kNumbers = 1024;
inline constexpr int64_t kVectorPadding = 16;  // a whole vector may be read at the end
// Channels and elements of a block of planes whose numbers are transposed, on the stack too.
inline constexpr int64_t kBlockChannels = 128;
inline constexpr int64_t kBlock = 4096;

struct DropoutPass {
  DType dtype;
  RowGrid grid;
  DropoutPlanes planes;
  Operand x, y;
  bool accumulate;
  const Philox* stream;
  uint64_t offset;
  // An element is kept where the upper 24 bits of its number reach the threshold.
  double threshold, scale;
};

}  // namespace dtnn
#endif  // DTNN_KERNELS_DROPOUT_DROPOUT_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR
void FillNumbers(const Philox& stream, uint64_t block, int64_t blocks, uint32_t* numbers) {
  for (int64_t b = 0; b < blocks; ++b) {
    const auto four = stream.Block(block + uint64_t(b));
    std::copy(four.begin(), four.end(), numbers + 4 * b);
  }
}
#else
// Philox4x32-10 (see tensor/philox.h) on one block per 64-bit lane: the words of the state are the
// lower halves of the lanes; what is in the upper halves is never looked at.
class VectorPhilox {
 public:
  using D = hn::ScalableTag<uint64_t>;
  using V = hn::Vec<D>;

  explicit VectorPhilox(const Philox& stream) : stream_(stream) {}

  // The 4 * Lanes numbers of the blocks from `block` on.
  HWY_INLINE void Store(uint64_t block, uint32_t* numbers) const {
    const V counters = hn::Add(hn::Set(d_, block), hn::Iota(d_, 0));
    V w0 = counters, w1 = hn::ShiftRight<32>(counters);
    V w2 = hn::Set(d_, stream_.stream()), w3 = hn::Set(d_, stream_.stream() >> 32);
    uint32_t key0 = uint32_t(stream_.seed()), key1 = uint32_t(stream_.seed() >> 32);
    for (int round = 0; round < 10; ++round) {
      const V product0 = Product(w0, 0xD2511F53u), product1 = Product(w2, 0xCD9E8D57u);
      const V next0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product1), w1), hn::Set(d_, key0));
      const V next2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product0), w3), hn::Set(d_, key1));
      w0 = next0;
      w1 = product1;
      w2 = next2;
      w3 = product0;
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    hn::StoreInterleaved2(Pack(w0, w1), Pack(w2, w3), d_, reinterpret_cast<uint64_t*>(numbers));
  }
  int64_t lanes() const { return int64_t(hn::Lanes(d_)); }

 private:
  HWY_INLINE V Product(V words, uint32_t factor) const {
    const hn::Repartition<uint32_t, D> words_tag;
    return hn::MulEven(hn::BitCast(words_tag, words), hn::Set(words_tag, factor));
  }
  HWY_INLINE V Pack(V low, V high) const {
    return hn::Or(hn::And(low, hn::Set(d_, 0xFFFFFFFFu)), hn::ShiftLeft<32>(high));
  }

  const D d_;
  const Philox& stream_;
};

// `blocks` is rounded up to whole vectors, for which there is room.
void FillNumbers(const Philox& stream, uint64_t block, int64_t blocks, uint32_t* numbers) {
  const VectorPhilox philox(stream);
  for (int64_t b = 0; b < blocks; b += philox.lanes()) {
    philox.Store(block + uint64_t(b), numbers + 4 * b);
  }
}
#endif

template <typename T>
void Apply(const DropoutPass& pass, const uint32_t* numbers, int64_t count, const T* x, T* y) {
  ForEachVector<T>(count, [&](const auto& access, int64_t i) HWY_ATTR {
    const auto d = access.d;
    const hn::Rebind<int32_t, decltype(d)> integers;
    const hn::Rebind<uint32_t, decltype(d)> unsigned_integers;
    const auto bits = hn::ShiftRight<8>(hn::LoadU(unsigned_integers, numbers + i));
    const auto keep =
        hn::Ge(FromIntegers(d, hn::BitCast(integers, bits)), hn::Set(d, Wide<T>(pass.threshold)));
    const auto in = access.Load(x + i);
    auto value = hn::IfThenElseZero(hn::Or(keep, hn::IsNaN(in)),
                                    hn::Mul(in, hn::Set(d, Wide<T>(pass.scale))));
    if (pass.accumulate) value = hn::Add(access.Load(y + i), value);
    access.Store(value, y + i);
  });
}

// Elements [begin, end); begin is a multiple of four.
template <typename T>
void DropoutTyped(const DropoutPass& pass, int64_t begin, int64_t end) {
  HWY_ALIGN uint32_t numbers[kNumbers + kVectorPadding];
  const int64_t columns = pass.grid.columns;
  for (int64_t first = begin; first < end; first += kNumbers) {
    const int64_t last = std::min(end, first + kNumbers);
    FillNumbers(*pass.stream, (pass.offset + uint64_t(first)) / 4, (last - first + 3) / 4, numbers);
    for (int64_t i = first; i < last;) {
      const int64_t row = i / columns, column = i % columns;
      const int64_t count = std::min(columns - column, last - i);
      Apply<T>(pass, numbers + (i - first), count, pass.x.At<const T>(row, column),
               pass.y.At<T>(row, column));
      i += count;
    }
  }
}

// Pixels [begin, end) of all samples, whose numbers are in the order (sample, pixel, channel), but
// whose memory is in that of (sample, channel, pixel).
template <typename T>
void PlanesTyped(const DropoutPass& pass, int64_t begin, int64_t end) {
  // Numbers begin in the middle of a block of four, and end in the middle of a vector of blocks.
  HWY_ALIGN uint32_t numbers[kBlock + 4 + 4 * hn::MaxLanes(hn::ScalableTag<uint64_t>())];
  HWY_ALIGN uint32_t turned[kBlock + kVectorPadding];
  const int64_t channels = pass.planes.channels, pixels = pass.planes.pixels;
  const int64_t most_rows = std::min(channels, kBlockChannels);
  for (int64_t first = begin, count; first < end; first += count) {
    const int64_t sample = first / pixels, pixel = first % pixels;
    count = std::min({kBlock / most_rows, end - first, pixels - pixel});
    const int64_t place = sample * channels * pixels;
    const int64_t grid_row = place / pass.grid.columns, column = place % pass.grid.columns + pixel;
    for (int64_t c = 0; c < channels; c += most_rows) {
      const int64_t rows = std::min(most_rows, channels - c);
      // Those of all channels of several pixels follow each other.
      const int64_t at_once = rows == channels ? count : 1;
      for (int64_t p = 0; p < count; p += at_once) {
        const uint64_t number = pass.offset + uint64_t((first + p) * channels + c);
        const auto lead = int64_t(number % 4);
        FillNumbers(*pass.stream, number / 4, (lead + at_once * rows + 3) / 4, numbers);
        const uint32_t* from = numbers + lead;
        for (uint32_t* to = turned + p; to < turned + p + at_once; ++to) {
          for (int64_t row = 0; row < rows; ++row) to[row * count] = *from++;
        }
      }
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t at = column + (c + row) * pixels;
        Apply<T>(pass, turned + row * count, count, pass.x.At<const T>(grid_row, at),
                 pass.y.At<T>(grid_row, at));
      }
    }
  }
}

void DropoutRange(const DropoutPass& pass, int64_t begin, int64_t end) {
  DispatchCpuFloating(pass.dtype,
                      [&](auto zero) HWY_ATTR { DropoutTyped<decltype(zero)>(pass, begin, end); });
}

void PlanesRange(const DropoutPass& pass, int64_t begin, int64_t end) {
  DispatchCpuFloating(pass.dtype,
                      [&](auto zero) HWY_ATTR { PlanesTyped<decltype(zero)>(pass, begin, end); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(DropoutRange);
HWY_EXPORT(PlanesRange);

class DropoutCpu : public Dropout {
 public:
  explicit DropoutCpu(const DropoutSpec& spec) : spec_(spec) {}

  absl::Status Run(const Tensor& x, const Philox& stream, const RandomOffset& offset,
                   const Tensor& y, bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckOperands("dropout", Device::Cpu(), spec_.dtype, {&x, &y}));
    DTNN_RETURN_IF_ERROR(CheckOffset(Device::Cpu(), offset));
    const uint64_t step = offset.step.empty() ? 0 : uint64_t(*offset.step.data<int64_t>());
    DTNN_ASSIGN_OR_RETURN(const DropoutPlanes planes, PlanesOf(spec_, x.shape()));
    const RowGrid grid = GridOf(spec_.format, {&x, &y});
    const DropoutPass pass = {
        .dtype = spec_.dtype,
        .grid = grid,
        .planes = planes,
        .x = OperandIn(grid, x, spec_.format),
        .y = OperandIn(grid, y, spec_.format),
        .accumulate = accumulate,
        .stream = &stream,
        .offset = offset.first + offset.per_step * step,
        .threshold = std::ceil(spec_.rate * 0x1p24),
        .scale = spec_.rate < 1 ? 1 / (1 - spec_.rate) : 0,
    };
    if (planes.in_order()) {
      ParallelFor(0, grid.size(), kMathGrain, [&](int64_t begin, int64_t end) {
        HWY_DYNAMIC_DISPATCH(DropoutRange)(pass, begin, end);
      });
      return absl::OkStatus();
    }
    ParallelFor(0, grid.size() / planes.channels,
                std::max<int64_t>(1, kMathGrain / planes.channels),
                [&](int64_t begin, int64_t end) {
                  HWY_DYNAMIC_DISPATCH(PlanesRange)
                  (pass, begin, end);
                });
    return absl::OkStatus();
  }

 private:
  DropoutSpec spec_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dropout>> CreateDropout(DeviceContext& context,
                                                       const DropoutSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("dropout", context.device(), spec.dtype));
  if (!(spec.rate >= 0 && spec.rate <= 1)) {  // also a NaN
    return InvalidArgument("dropout: rate is ", spec.rate, ", expected 0 to 1");
  }
  if (context.device().is_cpu()) return std::make_unique<DropoutCpu>(spec);
  return CreateDropoutGpu(context, spec);
}

}  // namespace dtnn
#endif  // HWY_ONCE
