// The three directions of a convolution as bodies of a GPU's kernels: the loops of the definition,
// a thread per result. For plain.cu only.

#ifndef DTNN_KERNELS_CONV_GPU_PLAIN_BODIES_H_
#define DTNN_KERNELS_CONV_GPU_PLAIN_BODIES_H_

#include <cstdint>

#include "kernels/conv/conv2d_spec.h"
#include "kernels/conv/gpu/filter_view.h"
#include "kernels/gpu/factor.h"
#include "kernels/gpu/images.h"
#include "kernels/gpu/runner.h"

namespace dtnn::conv {

// One axis of the kernel: which input element a tap of an output reads, and the reverse.
struct KernelAxis {
  int64_t taps, stride, padding, dilation;

  DTNN_HOST_DEVICE int64_t InputOf(int64_t output, int64_t tap) const {
    return output * stride - padding + tap * dilation;
  }
  // -1 where no output reads the input with this tap.
  DTNN_HOST_DEVICE int64_t OutputOf(int64_t input, int64_t tap, int64_t outputs) const {
    const int64_t distance = input + padding - tap * dilation, output = distance / stride;
    return distance < 0 || output * stride != distance || output >= outputs ? -1 : output;
  }
};

struct PlainGeometry {
  KernelAxis rows, columns;
  int64_t in_group, out_group;  // channels and filters of a group
  ImageGrid in, out;

  static PlainGeometry Of(const Conv2dSpec& spec, int64_t images) {
    const auto grid = [&](const Shape& shape) {
      ImageGrid all = ImageGrid::Of(shape, spec.format);
      all.images = images;
      return all;
    };
    return {
        {spec.kernel.vertical, spec.stride.vertical, spec.padding.vertical, spec.dilation.vertical},
        {spec.kernel.horizontal, spec.stride.horizontal, spec.padding.horizontal,
         spec.dilation.horizontal},
        spec.channels / spec.groups,
        spec.filters / spec.groups,
        grid(spec.InputShape()),
        grid(spec.OutputShape())};
  }
};

template <typename T>
struct PlainForwardBody {
  using W = Wide<T>;
  PlainGeometry geometry;
  bool tf32;
  ImageView<const T> x;
  FilterView<const T> weights;
  ImageView<T> y;
  // The epilogue; null where not asked for.
  const W *scale, *bias;
  const T* rounded_bias;  // in place of the other
  ImageView<const T> addend;
  bool relu;

  void Declare(int64_t, gpu::Accesses& accesses) {
    x.Declare(geometry.in, accesses);
    weights.Declare(accesses);
    y.Declare(geometry.out, accesses);
    accesses.Reads(scale, weights.filters);
    accesses.Reads(bias, weights.filters);
    accesses.Reads(rounded_bias, weights.filters);
    addend.Declare(geometry.out, accesses);
  }
  DTNN_HOST_DEVICE W Sum(const ImageCell& to) const {
    const int64_t first = to.channel / geometry.out_group * geometry.in_group;
    W sum = 0;
    for (int64_t a = 0; a < geometry.rows.taps; ++a) {
      const int64_t h = geometry.rows.InputOf(to.row, a);
      if (h < 0 || h >= geometry.in.height) continue;
      for (int64_t b = 0; b < geometry.columns.taps; ++b) {
        const int64_t w = geometry.columns.InputOf(to.column, b);
        if (w < 0 || w >= geometry.in.width) continue;
        const T* from = &x.At(to.image, h, w, first);
        const T* weight = weights.At(a, b, 0, to.channel);
        for (int64_t c = 0; c < geometry.in_group; ++c) {
          sum += FactorOf(from[c * x.channel], tf32) * FactorOf(weight[c * weights.channel], tf32);
        }
      }
    }
    return sum;
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const ImageCell cell = geometry.out(i);
    W value = Sum(cell);
    if (scale != nullptr) value *= scale[cell.channel];
    if (bias != nullptr) value += bias[cell.channel];
    if (rounded_bias != nullptr) value += W(rounded_bias[cell.channel]);
    if (addend.data != nullptr) value += W(addend[cell]);
    y[cell] = T(relu && value < 0 ? W(0) : value);  // a NaN stays one
  }
};

template <typename T>
struct PlainDataBody {
  using W = Wide<T>;
  PlainGeometry geometry;
  bool tf32, accumulate;
  ImageView<const T> dy;
  FilterView<const T> weights;
  ImageView<T> dx;

  void Declare(int64_t, gpu::Accesses& accesses) {
    dy.Declare(geometry.out, accesses);
    weights.Declare(accesses);
    dx.Declare(geometry.in, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const ImageCell cell = geometry.in(i);
    const int64_t group = cell.channel / geometry.in_group;
    const int64_t channel = cell.channel % geometry.in_group, first = group * geometry.out_group;
    W sum = 0;
    for (int64_t a = 0; a < geometry.rows.taps; ++a) {
      const int64_t h = geometry.rows.OutputOf(cell.row, a, geometry.out.height);
      if (h < 0) continue;
      for (int64_t b = 0; b < geometry.columns.taps; ++b) {
        const int64_t w = geometry.columns.OutputOf(cell.column, b, geometry.out.width);
        if (w < 0) continue;
        const T* from = &dy.At(cell.image, h, w, first);
        const T* weight = weights.At(a, b, channel, first);
        for (int64_t f = 0; f < geometry.out_group; ++f) {
          sum += FactorOf(from[f * dy.channel], tf32) * FactorOf(weight[f * weights.filter], tf32);
        }
      }
    }
    T& to = dx[cell];
    to = T(accumulate ? W(to) + sum : sum);
  }
};

// The sums of a filter's gradient in parts, (part, element): a thread each, and neighbours have
// neighbouring elements. The parts are added in order.
struct FilterParts {
  static constexpr int64_t kMost = 128;

  int64_t elements, parts;

  DTNN_HOST_DEVICE int64_t threads() const { return elements * parts; }
};

// to = (accumulate ? to : 0) + the sum of its parts, for each element.
template <typename T>
struct AddPartsBody {
  FilterParts parts;
  bool accumulate;
  const T* sums;
  T* to;

  void Declare(int64_t elements, gpu::Accesses& accesses) {
    accesses.Reads(sums, parts.threads());
    accesses.Writes(to, elements);
  }
  DTNN_HOST_DEVICE void operator()(int64_t element) const {
    T sum = accumulate ? to[element] : T(0);
    for (int64_t part = 0; part < parts.parts; ++part) sum += sums[part * parts.elements + element];
    to[element] = sum;
  }
};

// Thread (element of the filter, part) takes the rows of outputs part, part + parts, ... of all
// images; the parts are added later, in order.
template <typename T>
struct PlainFilterBody {
  using W = Wide<T>;
  PlainGeometry geometry;
  bool tf32;
  FilterParts parts;
  ImageView<const T> x, dy;
  FilterView<const W> shape;  // without data
  W* sums;

  void Declare(int64_t n, gpu::Accesses& accesses) {
    x.Declare(geometry.in, accesses);
    dy.Declare(geometry.out, accesses);
    accesses.Writes(sums, n);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t element = i % parts.elements, part = i / parts.elements;
    const FilterCell cell = shape.Cell(element);
    const int64_t channel = cell.filter / geometry.out_group * geometry.in_group + cell.channel;
    W sum = 0;
    for (int64_t line = part; line < geometry.out.images * geometry.out.height;
         line += parts.parts) {
      const int64_t image = line / geometry.out.height, row = line % geometry.out.height;
      const int64_t h = geometry.rows.InputOf(row, cell.row);
      if (h < 0 || h >= geometry.in.height) continue;
      for (int64_t column = 0; column < geometry.out.width; ++column) {
        const int64_t w = geometry.columns.InputOf(column, cell.column);
        if (w < 0 || w >= geometry.in.width) continue;
        sum += FactorOf(x.At(image, h, w, channel), tf32) *
               FactorOf(dy.At(image, row, column, cell.filter), tf32);
      }
    }
    sums[i] = sum;
  }
};

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_GPU_PLAIN_BODIES_H_
