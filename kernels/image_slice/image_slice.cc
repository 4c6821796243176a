#include "kernels/image_slice/image_slice.h"

#include <algorithm>

#include "kernels/elementwise/operands.h"
#include "kernels/elementwise/rows_of_images.h"
#include "kernels/image_slice/image_slice_gpu.h"
#include "kernels/image_slice/places.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

class SliceCpu : public ImageSlice {
 public:
  explicit SliceCpu(const ImageSliceSpec& spec) : spec_(spec) {}

  absl::Status Forward(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckSliceCall(spec_, Device::Cpu(), x, y));
    DispatchCpuFloating(spec_.dtype, [&]<typename T>(T) {
      const auto from = RowsOfImages<const T>::Of(x, spec_.image.channels, spec_.format);
      const auto to = RowsOfImages<T>::Of(y, spec_.image.channels, spec_.format);
      ForEachRow(y.shape()[0] * to.planes, spec_.output(), [&](int64_t plane, int64_t row) {
        const T* const source = from.Row(plane, rows_.From(row));
        T* const result = to.Row(plane, row);
        const bool dense = from.view.pixel == from.run && to.view.pixel == to.run;
        if (dense && columns_.step == 1) {
          std::copy_n(source + columns_.begin * from.run, columns_.count * from.run, result);
          return;
        }
        for (int64_t column = 0; column < columns_.count; ++column) {
          std::copy_n(source + columns_.From(column) * from.view.pixel, from.run,
                      result + column * to.view.pixel);
        }
      });
    });
    return absl::OkStatus();
  }

  absl::Status Backward(const Tensor& dy, const Tensor& dx, bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckSliceCall(spec_, Device::Cpu(), dx, dy));
    DispatchCpuFloating(spec_.dtype, [&]<typename T>(T) {
      const auto from = RowsOfImages<const T>::Of(dy, spec_.image.channels, spec_.format);
      const auto to = RowsOfImages<T>::Of(dx, spec_.image.channels, spec_.format);
      ForEachRow(dx.shape()[0] * to.planes, spec_.image, [&](int64_t plane, int64_t row) {
        T* const result = to.Row(plane, row);
        if (!accumulate) {
          for (int64_t column = 0; column < spec_.image.width; ++column) {
            std::fill_n(result + column * to.view.pixel, to.run, T(0));
          }
        }
        const int64_t source = rows_.To(row);
        if (source < 0) return;
        for (int64_t column = 0; column < columns_.count; ++column) {
          AddPixel(from.Row(plane, source) + column * from.view.pixel, to.run, accumulate,
                   result + columns_.From(column) * to.view.pixel);
        }
      });
    });
    return absl::OkStatus();
  }

 private:
  template <class Body>
  void ForEachRow(int64_t planes, const ImageExtents& image, const Body& body) const {
    const int64_t rows = image.height, elements = image.width * image.channels;
    ParallelFor(0, planes * rows, 1 + kCopyGrain / elements, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(i / rows, i % rows);
    });
  }

  template <typename T>
  static void AddPixel(const T* from, int64_t run, bool accumulate, T* to) {
    using W = Wide<T>;
    if (!accumulate) {
      std::copy_n(from, run, to);
      return;
    }
    for (int64_t c = 0; c < run; ++c) to[c] = T(W(to[c]) + W(from[c]));
  }

  const ImageSliceSpec spec_;
  const SliceAxis rows_ = RowsOf(spec_), columns_ = ColumnsOf(spec_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<ImageSlice>> CreateImageSlice(DeviceContext& context,
                                                             const ImageSliceSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("slice", context.device(), spec.dtype));
  DTNN_RETURN_IF_ERROR(CheckImageSlice(spec));
  if (context.device().is_cpu()) return std::make_unique<SliceCpu>(spec);
  return CreateImageSliceGpu(context, spec);
}

}  // namespace dtnn
