#include "kernels/resize/taps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/operands/operand.h"
#include "tensor/errors.h"

namespace dtnn::resize {
namespace {

constexpr int64_t kMostTaps = 8;  // of an output in a table

void Append(Axis& axis, int64_t first, std::initializer_list<double> factors) {
  axis.taps.push_back({first, int64_t(factors.size()), int64_t(axis.factors.size())});
  axis.factors.insert(axis.factors.end(), factors);
}

void Finish(Axis& axis) { axis.short_factors.assign(axis.factors.begin(), axis.factors.end()); }

}  // namespace

Axis AxisOf(int64_t in, int64_t out, ResizeMode mode, bool align_corners) {
  Axis axis = {.from = in};
  axis.taps.reserve(size_t(out));
  for (int64_t i = 0; i < out; ++i) {
    if (mode == ResizeMode::kNearest) {
      Append(axis, i * in / out, {1});
      continue;
    }
    const double position = !align_corners
                                ? std::max(0.0, (double(i) + 0.5) * double(in) / double(out) - 0.5)
                            : out > 1 ? double(i) * double(in - 1) / double(out - 1)
                                      : 0;
    const auto first = std::min(int64_t(position), in - 1);
    const double fraction = position - double(first);
    if (fraction > 0 && first + 1 < in) {
      Append(axis, first, {1 - fraction, fraction});
    } else {
      Append(axis, first, {1});
    }
  }
  Finish(axis);
  return axis;
}

// The outputs that an element is in follow each other, for positions only grow.
Axis Turned(const Axis& axis) {
  Axis turned = {.from = axis.to()};
  int64_t begin = 0;
  for (int64_t element = 0; element < axis.from; ++element) {
    const auto factor_of = [&](int64_t output) {
      const Taps& taps = axis.taps[size_t(output)];
      const int64_t tap = element - taps.first;
      return tap >= 0 && tap < taps.count ? axis.factors[size_t(taps.factor + tap)] : 0;
    };
    while (begin < axis.to() &&
           axis.taps[size_t(begin)].first + axis.taps[size_t(begin)].count <= element) {
      ++begin;
    }
    Taps taps = {.first = begin, .factor = int64_t(turned.factors.size())};
    for (int64_t output = begin; output < axis.to() && axis.taps[size_t(output)].first <= element;
         ++output) {
      turned.factors.push_back(factor_of(output));
      ++taps.count;
    }
    turned.taps.push_back(taps);
  }
  Finish(turned);
  return turned;
}

// Places grow from output to output, as the first and the last tap of an output do.
ColumnTable ColumnTable::Of(const Axis& axis) {
  ColumnTable table = {.from = axis.from, .to = axis.to()};
  for (const Taps& taps : axis.taps) table.most = std::max(table.most, taps.count);
  if (table.most > kMostTaps) return {};
  for (int64_t tap = 0; tap < table.most; ++tap) {
    int64_t place = 0;
    for (const Taps& taps : axis.taps) {
      if (taps.count > 0) place = taps.first + std::min(tap, taps.count - 1);
      table.places.push_back(int32_t(place));
      table.factors.push_back(tap < taps.count ? axis.factors[size_t(taps.factor + tap)] : 0);
    }
  }
  for (const Taps& taps : axis.taps) table.counts.push_back(double(taps.count));
  table.short_factors.assign(table.factors.begin(), table.factors.end());
  table.short_counts.assign(table.counts.begin(), table.counts.end());
  return table;
}

Pass Pass::Of(Axis rows, Axis columns, TensorFormat format) {
  Pass pass = {std::move(rows), std::move(columns)};
  if (format == TensorFormat::kNCHW) pass.table = ColumnTable::Of(pass.columns);
  return pass;
}

Pass Pass::Forward(const ResizeSpec& spec) {
  return Of(AxisOf(spec.height, spec.out_height, spec.mode, spec.align_corners),
            AxisOf(spec.width, spec.out_width, spec.mode, spec.align_corners), spec.format);
}

Pass Pass::Backward(const ResizeSpec& spec) {
  const Pass forward = Forward(spec);
  return Of(Turned(forward.rows), Turned(forward.columns), spec.format);
}

absl::Status CheckImages(const ResizeSpec& spec, Device device, std::string_view in_name,
                         const Tensor& in, std::string_view out_name, const Tensor& out) {
  constexpr std::string_view kName = "resize";
  const int64_t images = in.shape().rank() == 4 ? in.shape()[0] : spec.batch;
  if (images > spec.batch) {
    return InvalidArgument(kName, ": ", in_name, " has ", images, " images, expected at most ",
                           spec.batch);
  }
  DTNN_RETURN_IF_ERROR(CheckOperand(kName, in_name, in, device, spec.dtype,
                                    spec.InputShape().DropFirst().Prepend(images),
                                    Pitch::kAllowed));
  return CheckOperand(kName, out_name, out, device, spec.dtype,
                      spec.OutputShape().DropFirst().Prepend(images), Pitch::kAllowed);
}

}  // namespace dtnn::resize
