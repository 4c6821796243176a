#include "kernels/conv/depthwise/data.h"

#include <algorithm>

#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::depthwise {
namespace {

constexpr int64_t kChunkBytes = 32 << 10;  // of the results that a thread takes at least
// Images of more than this, both sides, come from memory row by row, and the processor does not
// predict in which order.
constexpr int64_t kNearBytes = 1 << 20;

}  // namespace

template <typename T>
DepthwiseData<T>::DepthwiseData(const Conv2dSpec& spec, Direction direction)
    : kernels_(CpuKernels<T>()),
      rows_(VerticalPhases(spec, direction), VerticalResults(spec, direction)),
      columns_(HorizontalPhases(spec, direction), HorizontalResults(spec, direction)),
      sliding_(SlidingOf(columns_)),
      channels_(spec.channels),
      padded_channels_(RoundUp(channels_, kBlock<T>)),
      taps_(spec.kernel.vertical * spec.kernel.horizontal),
      kernel_width_(spec.kernel.horizontal),
      untapped_(spec, direction),
      far_rows_((spec.height * spec.width + spec.out_height() * spec.out_width()) * channels_ *
                    int64_t(sizeof(T)) >
                kNearBytes) {
  if (sliding_ && kernels_.sum_row[sliding_->window] == nullptr) sliding_.reset();
  for (const Phase& vertical : rows_.phases()) {
    for (const Phase& horizontal : columns_.phases()) {
      phases_.push_back({&vertical, &horizontal, {}, Stretches(horizontal)});
      for (const Stretch& rows : Stretches(vertical)) {
        phases_.back().taps.resize(size_t(rows.steps.end), rows.taps);
      }
      if (sliding_.has_value()) break;
    }
  }
}

template <typename T>
void DepthwiseData<T>::DeriveFilter(const Filter<const T>& filter, T* derived, std::byte*) const {
  auto* to = reinterpret_cast<Wide<T>*>(derived);
  for (int64_t t = 0; t < taps_; ++t, to += padded_channels_) {
    const T* const from = filter.data + t * filter.tap;
    for (int64_t c = 0; c < channels_; ++c) to[c] = Wide<T>(from[c * filter.filter]);
    std::fill(to + channels_, to + padded_channels_, Wide<T>(0));
  }
}

template <typename T>
void DepthwiseData<T>::Run(const Call& call) const {
  const int64_t steps = rows_.steps();
  const int64_t bytes = columns_.results() * rows_.out_step() * channels_ * int64_t(sizeof(T));
  ParallelFor(0, call.images * steps, 1 + kChunkBytes / bytes, [&](int64_t begin, int64_t end) {
    if (rows_.results() * columns_.results() == 1) return RunImages(call, begin, end);
    for (int64_t index = begin; index < end; ++index) {
      for (const Rows& rows : phases_) RunRow(call, rows, index / steps, index % steps);
    }
  });
  untapped_.Write<T>(call, channels_);
}

template <typename T>
Sums<T> DepthwiseData<T>::SumsOfRow(const Call& call, const Rows& rows, int64_t i) const {
  const Phase& vertical = *rows.vertical;
  const Phase::Tap row_step = TapStep(vertical);
  Sums<T> sums;
  sums.channels = channels_;
  sums.tap_rows = rows.taps[size_t(i)].size();
  sums.in_taps.row = row_step.offset * call.in.row;
  sums.filter_taps.row = row_step.tap * kernel_width_ * padded_channels_;
  sums.scale = call.write_back.scale;
  sums.bias = call.write_back.bias;
  sums.relu = call.write_back.relu;
  if (far_rows_) {
    sums.in_below = (vertical.high - vertical.low + 1) * call.in.row;
    sums.out_below = vertical.step * call.out.row;
  }
  return sums;
}

template <typename T>
void DepthwiseData<T>::RunRow(const Call& call, const Rows& rows, int64_t image, int64_t i) const {
  const Phase &vertical = *rows.vertical, &horizontal = *rows.horizontal;
  if (i >= vertical.count) return;
  const Images<const T>&in = call.in, &addend = call.write_back.addend;
  const Range taps = rows.taps[size_t(i)];
  const int64_t h = vertical.first + i * vertical.step;
  // The row, and the filter's, of the first tap that exists.
  const Phase::Tap tap = taps.size() > 0 ? vertical.taps[size_t(taps.begin)] : Phase::Tap();
  const T* const in_row = in.At(image, i * vertical.in_step + tap.offset);
  const Wide<T>* const filter_row = DerivedOf(call) + tap.tap * kernel_width_ * padded_channels_;
  Sums<T> sums = SumsOfRow(call, rows, i);
  if (sliding_.has_value()) {
    sums.count = columns_.results();
    sums.in = in_row;
    sums.in_step = in.pixel;
    sums.filter = filter_row + sliding_->tap * padded_channels_;
    sums.filter_taps.column = sliding_->tap_step * padded_channels_;
    sums.out = call.out.At(image, h);
    sums.out_step = call.out.pixel;
    sums.addend = addend.At(image, h);
    sums.addend_step = addend.pixel;
    return kernels_.sum_row[sliding_->window]({sums, sliding_->first, columns_.inputs()});
  }
  const Phase::Tap column_step = TapStep(horizontal);
  sums.in_step = horizontal.in_step * in.pixel;
  sums.in_taps.column = column_step.offset * in.pixel;
  sums.filter_taps.column = column_step.tap * padded_channels_;
  sums.out_step = horizontal.step * call.out.pixel;
  sums.addend_step = horizontal.step * addend.pixel;
  for (const Stretch& columns : rows.columns) {
    const int64_t j = columns.steps.begin, w = horizontal.first + j * horizontal.step;
    sums.count = columns.steps.size();
    sums.tap_rows = columns.taps.size() > 0 ? taps.size() : 0;
    sums.tap_columns = columns.taps.size();
    if (sums.tap_rows > 0) {
      const Phase::Tap& b = horizontal.taps[size_t(columns.taps.begin)];
      sums.in = in_row + (j * horizontal.in_step + b.offset) * in.pixel;
      sums.filter = filter_row + b.tap * padded_channels_;
    }
    sums.out = call.out.At(image, h) + w * call.out.pixel;
    if (addend.data != nullptr) sums.addend = addend.At(image, h) + w * addend.pixel;
    kernels_.sum(sums);
  }
}

template <typename T>
void DepthwiseData<T>::RunImages(const Call& call, int64_t begin, int64_t end) const {
  const Rows& rows = phases_.front();
  const Phase &vertical = *rows.vertical, &horizontal = *rows.horizontal;
  const Images<const T>& in = call.in;
  const Range down = rows.taps.front(), right = rows.columns.front().taps;
  const Phase::Tap column_step = TapStep(horizontal);
  Sums<T> sums = SumsOfRow(call, rows, 0);
  sums.count = end - begin;
  sums.tap_rows = right.size() > 0 ? down.size() : 0;
  sums.tap_columns = right.size();
  sums.in_step = in.image;
  sums.in_taps.column = column_step.offset * in.pixel;
  sums.filter_taps.column = column_step.tap * padded_channels_;
  if (sums.tap_rows > 0) {
    const Phase::Tap& a = vertical.taps[size_t(down.begin)];
    const Phase::Tap& b = horizontal.taps[size_t(right.begin)];
    sums.in = in.At(begin, a.offset) + b.offset * in.pixel;
    sums.filter = DerivedOf(call) + (a.tap * kernel_width_ + b.tap) * padded_channels_;
  }
  sums.out = call.out.At(begin, 0);
  sums.out_step = call.out.image;
  sums.addend = call.write_back.addend.At(begin, 0);
  sums.addend_step = call.write_back.addend.image;
  kernels_.sum(sums);
}

template class DepthwiseData<float>;
template class DepthwiseData<double>;
template class DepthwiseData<Bfloat16>;

}  // namespace dtnn::conv::depthwise
