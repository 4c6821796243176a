#include "kernels/conv/depthwise/data.h"

#include <algorithm>

#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::depthwise {
namespace {

constexpr int64_t kChunkBytes = 32 << 10;  // of the results that a thread takes at least
// Images of more than this, both sides, come from memory row by row, and the processor does not
// foresee in which order.
constexpr int64_t kNearBytes = 1 << 20;

}  // namespace

template <typename T>
DepthwiseData<T>::DepthwiseData(const Conv2dSpec& spec, Direction direction)
    : kernels_(CpuKernels<T>()),
      rows_(VerticalPhases(spec, direction)),
      columns_(HorizontalPhases(spec, direction)),
      channels_(spec.channels),
      padded_channels_(RoundUp(channels_, kBlock<T>)),
      taps_(spec.kernel.vertical * spec.kernel.horizontal),
      kernel_width_(spec.kernel.horizontal),
      far_rows_((spec.height * spec.width + spec.out_height() * spec.out_width()) * channels_ *
                    int64_t(sizeof(T)) >
                kNearBytes) {
  for (const Phase& vertical : rows_.phases()) {
    for (const Phase& horizontal : columns_.phases()) {
      phases_.push_back({&vertical, &horizontal, {}, Stretches(horizontal)});
      for (const Stretch& rows : Stretches(vertical)) {
        phases_.back().row_taps.resize(size_t(rows.steps.end), rows.taps);
      }
    }
  }
}

template <typename T>
void DepthwiseData<T>::DeriveFilter(const Filter<const T>& filter, T* derived) const {
  for (int64_t t = 0; t < taps_; ++t, derived += padded_channels_) {
    const T* const from = filter.data + t * filter.tap;
    for (int64_t c = 0; c < channels_; ++c) derived[c] = from[c * filter.filter];
    std::fill(derived + channels_, derived + padded_channels_, T(0));
  }
}

template <typename T>
void DepthwiseData<T>::Run(const Call& call) const {
  const int64_t steps = rows_.steps();
  const int64_t bytes = columns_.results() * rows_.out_step() * channels_ * int64_t(sizeof(T));
  ParallelFor(0, call.images * steps, 1 + kChunkBytes / bytes, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      for (const PhasePair& phases : phases_) RunRow(call, phases, index / steps, index % steps);
    }
  });
}

template <typename T>
void DepthwiseData<T>::RunRow(const Call& call, const PhasePair& phases, int64_t image,
                              int64_t i) const {
  const Phase &vertical = *phases.vertical, &horizontal = *phases.horizontal;
  if (i >= vertical.count) return;
  const WriteBack<T>& write_back = call.write_back;
  const Images<const T>&in = call.in, &addend = write_back.addend;
  const Range rows = phases.row_taps[size_t(i)];
  const Phase::Tap row_step = TapStep(vertical), column_step = TapStep(horizontal);
  Sums<T> sums;
  sums.channels = channels_;
  sums.in_step = horizontal.in_step * in.pixel;
  sums.in_taps = {row_step.offset * in.row, column_step.offset * in.pixel};
  sums.filter_taps = {row_step.tap * kernel_width_ * padded_channels_,
                      column_step.tap * padded_channels_};
  sums.scale = write_back.scale;
  sums.bias = write_back.bias;
  sums.relu = write_back.relu;
  sums.out_step = horizontal.step * call.out.pixel;
  sums.addend_step = horizontal.step * addend.pixel;
  if (far_rows_) {
    sums.in_below = (vertical.high - vertical.low + 1) * in.row;
    sums.out_below = vertical.step * call.out.row;
  }
  const int64_t h = vertical.first + i * vertical.step;
  for (const Stretch& columns : phases.columns) {
    const int64_t j = columns.steps.begin, w = horizontal.first + j * horizontal.step;
    sums.count = columns.steps.size();
    sums.tap_rows = columns.taps.size() > 0 ? rows.size() : 0;
    sums.tap_columns = columns.taps.size();
    if (sums.tap_rows > 0) {
      const Phase::Tap& a = vertical.taps[size_t(rows.begin)];
      const Phase::Tap& b = horizontal.taps[size_t(columns.taps.begin)];
      sums.in = in.At(image, i * vertical.in_step + a.offset) +
                (j * horizontal.in_step + b.offset) * in.pixel;
      sums.filter = call.filter + (a.tap * kernel_width_ + b.tap) * padded_channels_;
    }
    sums.out = call.out.At(image, h) + w * call.out.pixel;
    if (addend.data != nullptr) sums.addend = addend.At(image, h) + w * addend.pixel;
    kernels_.sum(sums);
  }
}

template class DepthwiseData<float>;
template class DepthwiseData<double>;

}  // namespace dtnn::conv::depthwise
