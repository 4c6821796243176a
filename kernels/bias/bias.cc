#include "kernels/bias/bias.h"

#include <algorithm>

#include "kernels/bias/bias_gpu.h"
#include "kernels/bias/check.h"
#include "kernels/elementwise/operands.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bias/bias.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"

#ifndef DTNN_KERNELS_BIAS_BIAS_CC_
#define DTNN_KERNELS_BIAS_BIAS_CC_
namespace dtnn {

// Elements of a row of channels, repeated, that the forward pass adds at once, and the most columns
// whose partial sums the backward pass keeps on the stack.
inline constexpr int64_t kPattern = 512;
// Terms that the backward pass adds before it adds their sum to the rest: a chain over all pixels
// of a batch would round too much.
inline constexpr int64_t kBiasChain = 256;
// Partial sums of the backward pass: a number of their own, so that the order of summation is the
// same for any number of threads.
inline constexpr int64_t kBlocks = 16;

// Rows of channels (NHWC, matrices).
struct BiasRows {
  int64_t rows, channels;
  Operand x, y;
};

// Planes of one channel each (NCHW), numbered image by image.
struct BiasPlanes {
  int64_t images, channels, plane;
  Operand x, y;
};

}  // namespace dtnn
#endif  // DTNN_KERNELS_BIAS_BIAS_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

template <typename T>
struct SumWith {
  T bias;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Add(x, hn::Set(d, bias));
  }
};

template <typename T>
void AddToRows(const BiasRows& pass, const Wide<T>* bias, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    Transform(Sum(), pass.channels, pass.y.At<T>(row, 0), pass.x.At<const T>(row, 0), bias);
  }
}

template <typename T>
void AddToPlanes(const BiasPlanes& pass, const Wide<T>* bias, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t image = i / pass.channels, channel = i % pass.channels;
    Transform(SumWith<Wide<T>>{bias[channel]}, pass.plane,
              pass.y.At<T>(image, channel * pass.plane),
              pass.x.At<const T>(image, channel * pass.plane));
  }
}

// sums[0 .. 4*lanes) = the sums of four vectors of columns over all rows.
template <typename T>
HWY_INLINE void SumFourVectors(const T* x, int64_t rows, int64_t pitch, Wide<T>* sums) {
  const hn::ScalableTag<Wide<T>> d;
  const size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (int64_t row = 0; row < rows; ++row, x += pitch) {
    s0 = hn::Add(s0, LoadAll(d, x));
    s1 = hn::Add(s1, LoadAll(d, x + lanes));
    s2 = hn::Add(s2, LoadAll(d, x + 2 * lanes));
    s3 = hn::Add(s3, LoadAll(d, x + 3 * lanes));
  }
  hn::StoreU(s0, d, sums);
  hn::StoreU(s1, d, sums + lanes);
  hn::StoreU(s2, d, sums + 2 * lanes);
  hn::StoreU(s3, d, sums + 3 * lanes);
}

// The same for the first `count` <= lanes columns, four rows at a time.
template <typename T>
HWY_INLINE void SumOneVector(const T* x, int64_t rows, int64_t pitch, size_t count, Wide<T>* sums) {
  const hn::ScalableTag<Wide<T>> d;
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  int64_t row = 0;
  for (; row + 4 <= rows; row += 4, x += 4 * pitch) {
    s0 = hn::Add(s0, LoadFirst(d, x, count));
    s1 = hn::Add(s1, LoadFirst(d, x + pitch, count));
    s2 = hn::Add(s2, LoadFirst(d, x + 2 * pitch, count));
    s3 = hn::Add(s3, LoadFirst(d, x + 3 * pitch, count));
  }
  for (; row < rows; ++row, x += pitch) s0 = hn::Add(s0, LoadFirst(d, x, count));
  StoreFirst(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), d, sums, count);
}

// sums[j] = the sum of column j over all rows.
template <typename T>
void SumColumns(const T* x, int64_t rows, int64_t columns, int64_t pitch, Wide<T>* sums) {
  const int64_t lanes = int64_t(hn::Lanes(hn::ScalableTag<Wide<T>>()));
  int64_t j = 0;
  for (; j + 4 * lanes <= columns; j += 4 * lanes) SumFourVectors(x + j, rows, pitch, sums + j);
  for (; j < columns; j += lanes) {
    SumOneVector(x + j, rows, pitch, size_t(std::min(lanes, columns - j)), sums + j);
  }
}

// The sum of `count` elements, in four chains for each lane.
template <typename T>
HWY_INLINE Wide<T> SumElements(const T* x, int64_t count) {
  const hn::ScalableTag<Wide<T>> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  HWY_ALIGN Wide<T> sums[4 * HWY_MAX_BYTES / sizeof(Wide<T>)];
  SumFourVectors(x, count / (4 * lanes), 4 * lanes, sums);
  auto s = hn::Add(hn::Add(hn::Load(d, sums), hn::Load(d, sums + lanes)),
                   hn::Add(hn::Load(d, sums + 2 * lanes), hn::Load(d, sums + 3 * lanes)));
  for (int64_t i = count / (4 * lanes) * (4 * lanes); i < count; i += lanes) {
    s = hn::Add(s, LoadFirst(d, x + i, size_t(std::min(lanes, count - i))));
  }
  return hn::GetLane(hn::SumOfLanes(d, s));
}

template <typename T>
void SumPlanes(const BiasPlanes& pass, Wide<T>* dbias, int64_t begin, int64_t end) {
  const int64_t piece = kBiasChain * 4 * int64_t(hn::Lanes(hn::ScalableTag<Wide<T>>()));
  for (int64_t channel = begin; channel < end; ++channel) {
    auto sum = double(dbias[channel]);
    for (int64_t image = 0; image < pass.images; ++image) {
      const T* const x = pass.x.At<const T>(image, channel * pass.plane);
      for (int64_t first = 0; first < pass.plane; first += piece) {
        sum += double(SumElements(x + first, std::min(piece, pass.plane - first)));
      }
    }
    dbias[channel] = Wide<T>(sum);
  }
}

// The vectors are WideOf the dtype.
void AddToRowsOf(DType dtype, const BiasRows& pass, const void* bias, int64_t begin, int64_t end) {
  DispatchCpuFloating(dtype, [&](auto zero) HWY_ATTR {
    using T = decltype(zero);
    AddToRows<T>(pass, static_cast<const Wide<T>*>(bias), begin, end);
  });
}
void AddToPlanesOf(DType dtype, const BiasPlanes& pass, const void* bias, int64_t begin,
                   int64_t end) {
  DispatchCpuFloating(dtype, [&](auto zero) HWY_ATTR {
    using T = decltype(zero);
    AddToPlanes<T>(pass, static_cast<const Wide<T>*>(bias), begin, end);
  });
}
void SumColumnsOf(DType dtype, const void* x, int64_t rows, int64_t columns, int64_t pitch,
                  void* sums) {
  DispatchCpuFloating(dtype, [&](auto zero) HWY_ATTR {
    using T = decltype(zero);
    SumColumns(static_cast<const T*>(x), rows, columns, pitch, static_cast<Wide<T>*>(sums));
  });
}
void SumPlanesOf(DType dtype, const BiasPlanes& pass, void* dbias, int64_t begin, int64_t end) {
  DispatchCpuFloating(dtype, [&](auto zero) HWY_ATTR {
    using T = decltype(zero);
    SumPlanes<T>(pass, static_cast<Wide<T>*>(dbias), begin, end);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(AddToRowsOf);
HWY_EXPORT(AddToPlanesOf);
HWY_EXPORT(SumColumnsOf);
HWY_EXPORT(SumPlanesOf);

template <typename T>
void AddToRows(const BiasRows& pass, const Wide<T>* bias, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(AddToRowsOf)(DTypeOf<T>(), pass, bias, begin, end);
}
template <typename T>
void AddToPlanes(const BiasPlanes& pass, const Wide<T>* bias, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(AddToPlanesOf)(DTypeOf<T>(), pass, bias, begin, end);
}
template <typename T>
void SumColumns(const T* x, int64_t rows, int64_t columns, int64_t pitch, Wide<T>* sums) {
  HWY_DYNAMIC_DISPATCH(SumColumnsOf)(DTypeOf<T>(), x, rows, columns, pitch, sums);
}
// Adds to dbias.
template <typename T>
void SumPlanes(const BiasPlanes& pass, Wide<T>* dbias, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(SumPlanesOf)(DTypeOf<T>(), pass, dbias, begin, end);
}

int64_t GrainOf(int64_t elements) { return std::max<int64_t>(1, kCopyGrain / elements); }

// Few channels waste most of a vector: where the rows follow each other without gaps, several of
// them become one wide row. Returns how many.
int64_t RowsPerWideRow(const BiasRows& pass, int64_t width) {
  const bool dense = pass.x.pitch == pass.channels && pass.y.pitch == pass.channels;
  return dense ? std::max<int64_t>(1, std::min(width / pass.channels, pass.rows)) : 1;
}

// Rows `together` times as wide.
void Join(BiasRows& pass, int64_t together) {
  pass.rows /= together;
  pass.channels *= together;
  pass.x.pitch *= together;
  pass.y.pitch *= together;
}

template <typename T>
void ForwardRows(const BiasRows& pass, const Wide<T>* bias) {
  const int64_t together = RowsPerWideRow(pass, kPattern);
  Wide<T> pattern[kPattern];
  const Wide<T>* added = bias;
  BiasRows wide = pass;
  if (together > 1) {
    Join(wide, together);
    for (int64_t i = 0; i < wide.channels; ++i) pattern[i] = bias[i % pass.channels];
    added = pattern;
  }
  ParallelFor(0, wide.rows, GrainOf(wide.channels),
              [&](int64_t begin, int64_t end) { AddToRows<T>(wide, added, begin, end); });
  AddToRows<T>(pass, bias, wide.rows * together, pass.rows);
}

template <typename T>
void AddTo(T* dbias, const T* sums, int64_t columns, int64_t channels) {
  for (int64_t j = 0; j < columns; ++j) dbias[j % channels] += sums[j];
}

// sums[j] += the sum of column j over all rows.
template <typename T>
void AddColumns(const BiasRows& pass, int64_t first, int64_t rows, int64_t column, int64_t columns,
                Wide<T>* sums) {
  Wide<T> part[kPattern];
  for (int64_t end = first + rows; first < end; first += kBiasChain) {
    SumColumns(pass.x.At<const T>(first, column), std::min(kBiasChain, end - first), columns,
               pass.x.pitch, part);
    AddTo(sums, part, columns, columns);
  }
}

// Each of kBlocks blocks of rows is summed by one thread; then the blocks are added in order.
template <typename T>
void BackwardNarrow(const BiasRows& pass, Wide<T>* dbias) {
  const int64_t together = RowsPerWideRow(pass, 4 * 64 / int64_t(sizeof(Wide<T>)));
  BiasRows wide = pass;
  Join(wide, together);
  const int64_t rest = pass.rows - wide.rows * together;
  Wide<T> sums[kBlocks][kPattern] = {};
  const int64_t per_block = CeilDiv(wide.rows, kBlocks);
  ParallelFor(0, kBlocks, GrainOf(per_block * wide.channels), [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = std::min(wide.rows, block * per_block);
      const int64_t count = std::min(per_block, wide.rows - first);
      AddColumns<T>(wide, first, count, 0, wide.channels, sums[block]);
    }
  });
  for (const Wide<T>* block : sums) AddTo(dbias, block, wide.channels, pass.channels);
  SumColumns(pass.x.At<const T>(pass.rows - rest, 0), rest, pass.channels, pass.x.pitch, sums[0]);
  AddTo(dbias, sums[0], pass.channels, pass.channels);
}

// Many channels: each thread sums a range of them over all rows.
template <typename T>
void BackwardWide(const BiasRows& pass, Wide<T>* dbias) {
  constexpr int64_t kStripe = 64;
  const int64_t stripes = CeilDiv(pass.channels, kStripe);
  ParallelFor(0, stripes, GrainOf(kStripe * pass.rows), [&](int64_t begin, int64_t end) {
    for (int64_t stripe = begin; stripe < end; ++stripe) {
      const int64_t first = stripe * kStripe, count = std::min(kStripe, pass.channels - first);
      AddColumns<T>(pass, 0, pass.rows, first, count, dbias + first);
    }
  });
}

class BiasCpu : public Bias {
 public:
  explicit BiasCpu(const BiasSpec& spec) : spec_(spec) {}

  absl::Status Forward(const Tensor& x, const Tensor& bias, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckBias(spec_, Device::Cpu(), x, bias, y));
    if (x.num_elements() == 0) return absl::OkStatus();
    DispatchCpuFloating(spec_.dtype, [&](auto zero) {
      using T = decltype(zero);
      if (Planes(x)) {
        const BiasPlanes pass = PlanesOf(x, y);
        ParallelFor(0, pass.images * pass.channels, GrainOf(pass.plane),
                    [&](int64_t begin, int64_t end) {
                      AddToPlanes<T>(pass, bias.data<Wide<T>>(), begin, end);
                    });
      } else {
        ForwardRows<T>(RowsIn(x, y), bias.data<Wide<T>>());
      }
    });
    return absl::OkStatus();
  }

  absl::Status Backward(const Tensor& dy, const Tensor& dbias, bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckBias(spec_, Device::Cpu(), dy, dbias, dy));
    DispatchCpuFloating(spec_.dtype, [&](auto zero) {
      using T = decltype(zero);
      auto* const sums = dbias.data<Wide<T>>();
      if (!accumulate) std::fill_n(sums, spec_.channels, Wide<T>(0));
      if (dy.num_elements() == 0) return;
      if (Planes(dy)) {
        const BiasPlanes pass = PlanesOf(dy, dy);
        ParallelFor(0, pass.channels, GrainOf(pass.images * pass.plane),
                    [&](int64_t begin, int64_t end) { SumPlanes<T>(pass, sums, begin, end); });
      } else if (spec_.channels <= kPattern) {
        BackwardNarrow<T>(RowsIn(dy, dy), sums);
      } else {
        BackwardWide<T>(RowsIn(dy, dy), sums);
      }
    });
    return absl::OkStatus();
  }

 private:
  bool ChannelsFirst(const Shape& shape) const {
    return shape.rank() == 4 && spec_.format == TensorFormat::kNCHW;
  }
  // Planes of one element are rows of channels.
  bool Planes(const Tensor& x) const {
    return ChannelsFirst(x.shape()) && x.shape()[2] * x.shape()[3] > 1;
  }

  BiasRows RowsIn(const Tensor& x, const Tensor& y) const {
    const RowGrid grid = {x.num_elements() / spec_.channels, spec_.channels};
    return {grid.rows, grid.columns, OperandIn(grid, x, spec_.format),
            OperandIn(grid, y, spec_.format)};
  }

  BiasPlanes PlanesOf(const Tensor& x, const Tensor& y) const {
    const Shape& shape = x.shape();
    const RowGrid grid = {shape[0], shape.DropFirst().NumElements()};
    return {shape[0], shape[1], shape[2] * shape[3], OperandIn(grid, x, spec_.format),
            OperandIn(grid, y, spec_.format)};
  }

  BiasSpec spec_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Bias>> CreateBias(DeviceContext& context, const BiasSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("bias", context.device(), spec.dtype));
  if (spec.channels < 1) {
    return InvalidArgument("bias: ", spec.channels, " channels, expected at least 1");
  }
  if (context.device().is_cpu()) return std::make_unique<BiasCpu>(spec);
  return CreateBiasGpu(context, spec);
}

}  // namespace dtnn
#endif  // HWY_ONCE
