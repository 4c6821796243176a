#include "kernels/bias/bias.h"

#include <algorithm>
#include <cstring>

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

struct Sum {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x, V bias) const {
    return hn::Add(x, bias);
  }
};

template <typename T>
struct SumWith {
  T bias;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Add(x, hn::Set(d, bias));
  }
};

template <typename T>
void AddToRows(const BiasRows& pass, const T* bias, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    Transform(Sum(), pass.channels, pass.y.At<T>(row, 0), pass.x.At<const T>(row, 0), bias);
  }
}

template <typename T>
void AddToPlanes(const BiasPlanes& pass, const T* bias, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t image = i / pass.channels, channel = i % pass.channels;
    Transform(SumWith<T>{bias[channel]}, pass.plane, pass.y.At<T>(image, channel * pass.plane),
              pass.x.At<const T>(image, channel * pass.plane));
  }
}

// sums[0 .. 4*lanes) = the sums of four vectors of columns over all rows.
template <typename T>
HWY_INLINE void SumFourVectors(const T* x, int64_t rows, int64_t pitch, T* sums) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (int64_t row = 0; row < rows; ++row, x += pitch) {
    s0 = hn::Add(s0, hn::LoadU(d, x));
    s1 = hn::Add(s1, hn::LoadU(d, x + lanes));
    s2 = hn::Add(s2, hn::LoadU(d, x + 2 * lanes));
    s3 = hn::Add(s3, hn::LoadU(d, x + 3 * lanes));
  }
  hn::StoreU(s0, d, sums);
  hn::StoreU(s1, d, sums + lanes);
  hn::StoreU(s2, d, sums + 2 * lanes);
  hn::StoreU(s3, d, sums + 3 * lanes);
}

// The same for the first `count` <= lanes columns, four rows at a time.
template <typename T>
HWY_INLINE void SumOneVector(const T* x, int64_t rows, int64_t pitch, size_t count, T* sums) {
  const hn::ScalableTag<T> d;
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
void SumColumns(const T* x, int64_t rows, int64_t columns, int64_t pitch, T* sums) {
  const int64_t lanes = int64_t(hn::Lanes(hn::ScalableTag<T>()));
  int64_t j = 0;
  for (; j + 4 * lanes <= columns; j += 4 * lanes) SumFourVectors(x + j, rows, pitch, sums + j);
  for (; j < columns; j += lanes) {
    SumOneVector(x + j, rows, pitch, size_t(std::min(lanes, columns - j)), sums + j);
  }
}

// The sum of `count` elements.
template <typename T>
HWY_INLINE T SumElements(const T* x, int64_t count) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  HWY_ALIGN T sums[4 * HWY_MAX_BYTES / sizeof(T)];
  SumFourVectors(x, count / (4 * lanes), 4 * lanes, sums);
  auto s = hn::Add(hn::Add(hn::Load(d, sums), hn::Load(d, sums + lanes)),
                   hn::Add(hn::Load(d, sums + 2 * lanes), hn::Load(d, sums + 3 * lanes)));
  for (int64_t i = count / (4 * lanes) * (4 * lanes); i < count; i += lanes) {
    s = hn::Add(s, LoadFirst(d, x + i, size_t(std::min(lanes, count - i))));
  }
  return hn::GetLane(hn::SumOfLanes(d, s));
}

template <typename T>
void SumPlanes(const BiasPlanes& pass, T* dbias, bool accumulate, int64_t begin, int64_t end) {
  for (int64_t channel = begin; channel < end; ++channel) {
    T sum = accumulate ? dbias[channel] : T(0);
    for (int64_t image = 0; image < pass.images; ++image) {
      sum += SumElements(pass.x.At<const T>(image, channel * pass.plane), pass.plane);
    }
    dbias[channel] = sum;
  }
}

void AddToRowsF32(const BiasRows& pass, const float* bias, int64_t begin, int64_t end) {
  AddToRows(pass, bias, begin, end);
}
void AddToRowsF64(const BiasRows& pass, const double* bias, int64_t begin, int64_t end) {
  AddToRows(pass, bias, begin, end);
}
void AddToPlanesF32(const BiasPlanes& pass, const float* bias, int64_t begin, int64_t end) {
  AddToPlanes(pass, bias, begin, end);
}
void AddToPlanesF64(const BiasPlanes& pass, const double* bias, int64_t begin, int64_t end) {
  AddToPlanes(pass, bias, begin, end);
}
void SumColumnsF32(const float* x, int64_t rows, int64_t columns, int64_t pitch, float* sums) {
  SumColumns(x, rows, columns, pitch, sums);
}
void SumColumnsF64(const double* x, int64_t rows, int64_t columns, int64_t pitch, double* sums) {
  SumColumns(x, rows, columns, pitch, sums);
}
void SumPlanesF32(const BiasPlanes& pass, float* dbias, bool accumulate, int64_t begin,
                  int64_t end) {
  SumPlanes(pass, dbias, accumulate, begin, end);
}
void SumPlanesF64(const BiasPlanes& pass, double* dbias, bool accumulate, int64_t begin,
                  int64_t end) {
  SumPlanes(pass, dbias, accumulate, begin, end);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(AddToRowsF32);
HWY_EXPORT(AddToRowsF64);
HWY_EXPORT(AddToPlanesF32);
HWY_EXPORT(AddToPlanesF64);
HWY_EXPORT(SumColumnsF32);
HWY_EXPORT(SumColumnsF64);
HWY_EXPORT(SumPlanesF32);
HWY_EXPORT(SumPlanesF64);

void AddToRows(const BiasRows& pass, const float* bias, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(AddToRowsF32)(pass, bias, begin, end);
}
void AddToRows(const BiasRows& pass, const double* bias, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(AddToRowsF64)(pass, bias, begin, end);
}
void AddToPlanes(const BiasPlanes& pass, const float* bias, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(AddToPlanesF32)(pass, bias, begin, end);
}
void AddToPlanes(const BiasPlanes& pass, const double* bias, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(AddToPlanesF64)(pass, bias, begin, end);
}
void SumColumns(const float* x, int64_t rows, int64_t columns, int64_t pitch, float* sums) {
  HWY_DYNAMIC_DISPATCH(SumColumnsF32)(x, rows, columns, pitch, sums);
}
void SumColumns(const double* x, int64_t rows, int64_t columns, int64_t pitch, double* sums) {
  HWY_DYNAMIC_DISPATCH(SumColumnsF64)(x, rows, columns, pitch, sums);
}
void SumPlanes(const BiasPlanes& pass, float* dbias, bool accumulate, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(SumPlanesF32)(pass, dbias, accumulate, begin, end);
}
void SumPlanes(const BiasPlanes& pass, double* dbias, bool accumulate, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(SumPlanesF64)(pass, dbias, accumulate, begin, end);
}

int64_t GrainOf(int64_t elements) { return std::max<int64_t>(1, kCopyGrain / elements); }

// Few channels waste most of a vector: where the rows follow each other without gaps, several of
// them become one wide row. Returns how many.
int64_t RowsPerWideRow(const BiasRows& pass, int64_t width) {
  const bool dense = pass.x.pitch == pass.channels && pass.y.pitch == pass.channels;
  return dense ? std::max<int64_t>(1, std::min(width / pass.channels, pass.rows)) : 1;
}

template <typename T>
void Widen(BiasRows& pass, int64_t together) {
  pass.rows /= together;
  pass.channels *= together;
  pass.x.pitch *= together;
  pass.y.pitch *= together;
}

template <typename T>
void ForwardRows(const BiasRows& pass, const T* bias) {
  const int64_t together = RowsPerWideRow(pass, kPattern);
  T pattern[kPattern];
  const T* added = bias;
  BiasRows wide = pass;
  if (together > 1) {
    Widen<T>(wide, together);
    for (int64_t i = 0; i < wide.channels; ++i) pattern[i] = bias[i % pass.channels];
    added = pattern;
  }
  ParallelFor(0, wide.rows, GrainOf(wide.channels),
              [&](int64_t begin, int64_t end) { AddToRows(wide, added, begin, end); });
  AddToRows(pass, bias, wide.rows * together, pass.rows);
}

template <typename T>
void AddTo(T* dbias, const T* sums, int64_t columns, int64_t channels) {
  for (int64_t j = 0; j < columns; ++j) dbias[j % channels] += sums[j];
}

// sums[j] += the sum of column j over all rows, a few hundred of them at a time: a chain over all
// pixels of a batch would round too much.
template <typename T>
void AddColumns(const BiasRows& pass, int64_t first, int64_t rows, int64_t column, int64_t columns,
                T* sums) {
  constexpr int64_t kTogether = 256;
  T part[kPattern];
  for (int64_t end = first + rows; first < end; first += kTogether) {
    SumColumns(pass.x.At<const T>(first, column), std::min(kTogether, end - first), columns,
               pass.x.pitch, part);
    AddTo(sums, part, columns, columns);
  }
}

// Each of kBlocks blocks of rows is summed by one thread; then the blocks are added in order.
template <typename T>
void BackwardNarrow(const BiasRows& pass, T* dbias) {
  const int64_t together = RowsPerWideRow(pass, 4 * 64 / int64_t(sizeof(T)));
  BiasRows wide = pass;
  Widen<T>(wide, together);
  const int64_t rest = pass.rows - wide.rows * together;
  T sums[kBlocks][kPattern] = {};
  const int64_t per_block = CeilDiv(wide.rows, kBlocks);
  ParallelFor(0, kBlocks, GrainOf(per_block * wide.channels), [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = std::min(wide.rows, block * per_block);
      const int64_t count = std::min(per_block, wide.rows - first);
      AddColumns(wide, first, count, 0, wide.channels, sums[block]);
    }
  });
  for (const T* block : sums) AddTo(dbias, block, wide.channels, pass.channels);
  SumColumns(pass.x.At<const T>(pass.rows - rest, 0), rest, pass.channels, pass.x.pitch, sums[0]);
  AddTo(dbias, sums[0], pass.channels, pass.channels);
}

// Many channels: each thread sums a range of them over all rows.
template <typename T>
void BackwardWide(const BiasRows& pass, T* dbias) {
  constexpr int64_t kStripe = 64;
  const int64_t stripes = CeilDiv(pass.channels, kStripe);
  ParallelFor(0, stripes, GrainOf(kStripe * pass.rows), [&](int64_t begin, int64_t end) {
    for (int64_t stripe = begin; stripe < end; ++stripe) {
      const int64_t first = stripe * kStripe, count = std::min(kStripe, pass.channels - first);
      AddColumns(pass, 0, pass.rows, first, count, dbias + first);
    }
  });
}

class BiasCpu : public Bias {
 public:
  explicit BiasCpu(const BiasSpec& spec) : spec_(spec) {}

  absl::Status Forward(const Tensor& x, const Tensor& bias, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckBias(spec_, Device::Cpu(), x, bias, y));
    if (x.num_elements() == 0) return absl::OkStatus();
    DispatchFloating(spec_.dtype, [&](auto zero) {
      using T = decltype(zero);
      if (Planes(x)) {
        const BiasPlanes pass = PlanesOf(x, y);
        ParallelFor(
            0, pass.images * pass.channels, GrainOf(pass.plane),
            [&](int64_t begin, int64_t end) { AddToPlanes(pass, bias.data<T>(), begin, end); });
      } else {
        ForwardRows(RowsIn(x, y), static_cast<const T*>(bias.data<T>()));
      }
    });
    return absl::OkStatus();
  }

  absl::Status Backward(const Tensor& dy, const Tensor& dbias, bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckBias(spec_, Device::Cpu(), dy, dbias, dy));
    DispatchFloating(spec_.dtype, [&](auto zero) {
      using T = decltype(zero);
      T* sums = dbias.data<T>();
      if (!accumulate) std::memset(sums, 0, size_t(spec_.channels) * sizeof(T));
      if (dy.num_elements() == 0) return;
      if (Planes(dy)) {
        const BiasPlanes pass = PlanesOf(dy, dy);
        ParallelFor(0, pass.channels, GrainOf(pass.images * pass.plane),
                    [&](int64_t begin, int64_t end) { SumPlanes(pass, sums, true, begin, end); });
      } else if (spec_.channels <= kPattern) {
        BackwardNarrow(RowsIn(dy, dy), sums);
      } else {
        BackwardWide(RowsIn(dy, dy), sums);
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
